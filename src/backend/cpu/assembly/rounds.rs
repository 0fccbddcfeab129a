//! Loops in rounds: a first loop computes the rows of some points and keeps them in memory, and a second loop sums their
//! products.
//!
//! One loop for both has few registers left for intermediate numbers, because the sums occupy the others: with AVX2,
//! 11 of 16 for three parameters and a loss. Without the sums, several vectors can be interleaved
//! ([`super::interleave`]), and the second loop can sum more products than there are registers, some at a time. The rows of a
//! round stay in the first-level cache. For Cauchy's and the arctan loss, a third loop computes a product over the points of
//! the round, from which their costs follow.

use super::interleave::interleaved;
use super::loops::{Body, END, STOP, TURN};
use super::operation::{Id, Operation};
use super::writer::{Done, ROW, Spread, Writer};
use crate::backend::cpu::code::BLOCK;
use crate::backend::cpu::costs::POINTS_PER_PRODUCT;
use crate::backend::cpu::kernels::Vectors;
use iced_x86::{Code, Instruction, Register};

/// Iterations of a round. The costs of a round are computed from one product.
pub(super) const TURNS: usize = POINTS_PER_PRODUCT;
const _: () = assert!(BLOCK.is_multiple_of(TURNS * TURN as usize));

/// Offset of the address of the rows in the frame, see [`Frame`](super::routine::Frame).
const ROWS: i64 = 40;

/// End of the rows of a round.
const ROWS_END: Register = Register::RAX;

/// Maximum number of operations on interleaved vectors, so that their instructions fit into the processor's cache of
/// decoded instructions. Two vectors are always interleaved.
const MOST_TOGETHER: usize = 1200;

/// Loops over the points of a round.
pub(super) struct Rounds {
    /// Computes the rows of eight points, if `several` are for more.
    single: Option<Body>,
    /// Computes the rows of several iterations.
    several: Body,
    /// Number of iterations of `several`: a power of two.
    turns: i64,
    /// Sums of products that fit into the registers together, with the numbers of the sums.
    tiles: Vec<(Vec<u16>, Body)>,
    product: Option<ProductBodies>,
}

/// Operations on the product of a round ([`Product`](crate::backend::cpu::costs::Product)).
pub(super) struct OfProduct {
    /// Count of the numbers of the product. They occupy the registers of the first sums.
    pub(super) numbers: usize,
    /// Number of the sum of the costs.
    pub(super) costs: usize,
    /// Sets the product of no points.
    pub(super) start: Vec<Operation>,
    /// Multiplies the product by the factor of a point.
    pub(super) multiply: Vec<Operation>,
    /// Adds the costs of the round to the sum after the numbers of the product.
    pub(super) add_sums: Vec<Operation>,
}

/// The bodies of [`OfProduct`].
struct ProductBodies {
    costs: usize,
    costs_register: usize,
    start: Body,
    multiply: Body,
    add_sums: Body,
}

impl Rounds {
    pub(super) fn bodies(&self) -> impl Iterator<Item = &Body> {
        let tiles = self.tiles.iter().map(|(_, body)| body);
        let of_product = self.product.iter().flat_map(|p| [&p.start, &p.multiply, &p.add_sums]);
        self.single.iter().chain([&self.several]).chain(tiles).chain(of_product)
    }
}

/// Returns the number of registers for the factors of the products.
fn factors(vectors: Vectors) -> usize {
    match vectors {
        Vectors::Avx2 => 4,
        Vectors::Avx512 => 6,
    }
}

/// Row of an iteration: for each operation, the number of its result in the row, if a product needs it.
struct Row {
    numbers: Vec<Option<u16>>,
    count: u16,
}

impl Row {
    fn of(operations: &[Operation]) -> Row {
        let mut row = Row { numbers: vec![None; operations.len()], count: 0 };
        let mut keep = |id: Id| {
            let number = &mut row.numbers[id as usize];
            if number.is_none() {
                *number = Some(row.count);
                row.count += 1;
            }
        };
        let factor_of_round = operations.iter().find_map(|operation| match operation {
            Operation::Factor(id) => Some(*id),
            _ => None,
        });
        factor_of_round.into_iter().for_each(&mut keep);
        for operation in operations {
            let Operation::Sum(_, factors) = operation else { continue };
            let in_memory = |id: Id| operations[id as usize].lies_in_memory();
            factors.iter().copied().filter(|id| !in_memory(*id)).for_each(&mut keep);
        }
        row
    }

    /// Returns the operations that compute the row and keep it.
    fn kept(&self, operations: &[Operation]) -> Vec<Operation> {
        let (mut ids, mut kept) = (vec![0; operations.len()], Vec::new());
        for (i, operation) in operations.iter().enumerate() {
            if matches!(operation, Operation::Sum(..) | Operation::Factor(_)) {
                continue;
            }
            let value = kept.len() as Id;
            ids[i] = value;
            kept.push(operation.map(|id| ids[id as usize]));
            let number = self.numbers[i];
            kept.extend(number.map(|number| Operation::Keep { number, ahead: 0, value }));
        }
        kept
    }

    /// Returns the operations that add the products of a row to these sums.
    fn products(&self, operations: &[Operation], sums: &[Operation]) -> Vec<Operation> {
        let (mut ids, mut products) = (vec![None; operations.len()], Vec::new());
        for (number, sum) in (0..).zip(sums) {
            let sum = sum.map(|factor| {
                let i = factor as usize;
                *ids[i].get_or_insert_with(|| {
                    products.push(self.numbers[i].map_or(operations[i], Operation::Kept));
                    products.len() as Id - 1
                })
            });
            products.push(sum.with_sum(number));
        }
        products
    }
}

impl Writer {
    /// Divides the operations of an iteration into rows and products. `all`: number of registers.
    pub(super) fn rounds(
        &mut self,
        operations: &[Operation],
        of_product: Option<OfProduct>,
        all: usize,
        bytes: &mut Vec<u8>,
    ) -> Rounds {
        let row = Row::of(operations);
        self.row_numbers = usize::from(row.count);
        let rows = row.kept(operations);
        let sums = operations.iter().filter(|operation| operation.sum().is_some());
        let sums: Vec<Operation> = sums.copied().collect();
        let each = all - factors(self.vectors());
        let tiles = sums.chunks(each).map(|tile| {
            let products = row.products(operations, tile);
            let numbers = tile.iter().filter_map(|sum| sum.sum()).collect();
            (numbers, self.body(products, all - tile.len(), bytes))
        });
        let tiles = tiles.collect();
        let halves = self.vectors().halves() as u8;
        let fits = if self.layout.spread == Spread::Once { 1 } else { halves };
        let is_short = |turns: &u8| usize::from(halves * turns) * rows.len() <= MOST_TOGETHER;
        let turns = [4, 2].into_iter().find(is_short).unwrap_or(2 / halves);
        let mut body = |vectors| self.body(interleaved(&rows, vectors, fits), all, bytes);
        let single = (turns > 1).then(|| body(halves));
        let several = body(halves * turns);
        let product = of_product.map(|of_product| {
            let OfProduct { numbers: costs_register, costs, start, multiply, add_sums } =
                of_product;
            let registers = all - (costs_register + 1);
            let mut body = |operations| self.body(operations, registers, bytes);
            let (start, multiply, add_sums) = (body(start), body(multiply), body(add_sums));
            ProductBodies { costs, costs_register, start, multiply, add_sums }
        });
        Rounds { single, several, turns: i64::from(turns), tiles, product }
    }

    /// Writes the loop over the rounds of a block. Its sums are in memory.
    pub(super) fn write_rounds(&mut self, rounds: &mut Rounds) -> Done {
        let zero = self.vector(0);
        self.zero(zero)?;
        for sum in 0..self.layout.sums {
            for half in 0..self.vectors().halves() {
                self.half = half;
                self.store(self.sum_at(Register::RSI, sum), zero)?;
            }
        }
        self.half = 0;
        let next_round = self.position;
        self.stop_after(TURNS * TURN as usize)?;
        self.load_pointer(ROW, Register::RDI, ROWS)?;
        self.write_rows(rounds)?;
        self.move_pointer(ROWS_END, ROW)?;
        for (sums, body) in &mut rounds.tiles {
            for half in 0..self.vectors().halves() {
                self.half = half;
                self.write_products(sums, body)?;
            }
        }
        if let Some(bodies) = &mut rounds.product {
            for half in 0..self.vectors().halves() {
                self.half = half;
                self.write_product(bodies)?;
            }
        }
        self.half = 0;
        let in_block = BLOCK as u32 - 1;
        self.put(Instruction::with2(Code::Test_rm32_imm32, Register::ECX, in_block).ok()?)?;
        let block_ends = self.jump(Code::Je_rel32_64)?;
        let end = self.at(Register::RDI, END);
        self.put(Instruction::with2(Code::Cmp_r64_rm64, Register::RCX, end).ok()?)?;
        self.put(Instruction::with_branch(Code::Jb_rel32_64, next_round as u64).ok()?)?;
        self.arrive(block_ends);
        Some(())
    }

    /// Writes the loops that keep the rows of a round: single iterations until several at once remain.
    fn write_rows(&mut self, Rounds { single, several, turns, .. }: &mut Rounds) -> Done {
        let steps = |turns: i64| [(ROW, turns * self.row_size()), (Register::RCX, turns * TURN)];
        let (one, many) = (steps(1), steps(*turns));
        let Some(single) = single else { return self.write_loop(several, &many, STOP) };
        let (eax, ecx) = (Register::EAX, Register::ECX);
        let next = self.position;
        self.put(Instruction::with2(Code::Mov_r32_rm32, eax, Register::R15D).ok()?)?;
        self.put(Instruction::with2(Code::Sub_r32_rm32, eax, ecx).ok()?)?;
        let rest = (*turns * TURN - 1) as u32;
        self.put(Instruction::with2(Code::Test_rm32_imm32, eax, rest).ok()?)?;
        let no_rest = self.jump(Code::Je_rel32_64)?;
        self.write_iteration(single, &one, STOP)?;
        self.put(Instruction::with_branch(Code::Jb_rel32_64, next as u64).ok()?)?;
        let no_more = self.jump(Code::Jmp_rel32_64)?;
        self.arrive(no_rest);
        self.write_loop(several, &many, STOP)?;
        self.arrive(no_more);
        Some(())
    }

    /// Writes the loop that adds the products of the rows of a round to these sums.
    fn write_products(&mut self, sums: &[u16], body: &mut Body) -> Done {
        let registers: Vec<Register> =
            (0..sums.len()).map(|sum| self.vector(body.numbers() + sum)).collect();
        let of = |writer: &Writer, sum: u16| writer.sum_at(Register::RSI, usize::from(sum));
        for (&sum, &register) in sums.iter().zip(&registers) {
            self.load(register, of(self, sum))?;
        }
        self.load_pointer(ROW, Register::RDI, ROWS)?;
        self.write_loop(body, &[(ROW, self.row_size())], ROWS_END)?;
        for (&sum, &register) in sums.iter().zip(&registers) {
            self.store(of(self, sum), register)?;
        }
        Some(())
    }

    /// Writes the computation of the product of a round, and the addition of its costs to their sum.
    fn write_product(&mut self, bodies: &mut ProductBodies) -> Done {
        self.write_operations(&mut bodies.start)?;
        self.load_pointer(ROW, Register::RDI, ROWS)?;
        self.write_loop(&mut bodies.multiply, &[(ROW, self.row_size())], ROWS_END)?;
        let register = self.vector(bodies.add_sums.numbers() + bodies.costs_register);
        let costs = self.sum_at(Register::RSI, bodies.costs);
        self.load(register, costs)?;
        self.write_operations(&mut bodies.add_sums)?;
        self.store(costs, register)
    }
}
