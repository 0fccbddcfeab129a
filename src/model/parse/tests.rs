use super::*;

fn read(text: &str) -> Result<Expression, Error> {
    Expression::parse(text, &["x"])
}

/// Returns column and message of the error that `text` must give.
fn error(text: &str) -> (usize, String) {
    match read(text) {
        Err(Error::Parse { message, column, text: quoted }) => {
            assert_eq!(quoted, text);
            (column, message)
        }
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn errors_say_what_was_found_and_expected_and_where() {
    let has_equals_sign =
        "`=` is not part of a formula; write what follows y = only, or == to compare";
    let has_operator_with_point = "`.` is not part of a formula; write ^, * and / without a point, they apply to each point of the data";
    let not_a_chain = "comparisons do not chain; write a < b && b < c";
    let has_no_value = "expected a value but found a condition; write if(condition, a, b)";
    let is_a_value = "expected a condition such as x < 1 but found a value";
    for (text, column, message) in [
        ("", 1, "the expression is empty; expected a formula such as a*x + b"),
        (" \t\n", 1, "the expression is empty; expected a formula such as a*x + b"),
        ("a *", 4, "expected a value after `*` but the expression ends"),
        ("a * ", 4, "expected a value after `*` but the expression ends"),
        ("α + * x", 5, "expected a value after `+` but found `*`"),
        ("* x", 1, "expected a value but found `*`"),
        ("()", 2, "expected a value after `(` but found `)`"),
        ("sin(x, )", 8, "expected a value after `,` but found `)`"),
        ("x and", 6, "expected a value after `and` but the expression ends"),
        ("2x", 2, "no operator between `2` and `x`; to multiply, write 2*x"),
        ("2 (x)", 3, "no operator between `2` and `(`; to multiply, write 2*(…)"),
        ("(x) (a)", 5, "no operator between `)` and `(`; to multiply, write (…)*(…)"),
        ("exp(2a)", 6, "no operator between `2` and `a`; to multiply, write 2*a"),
        ("x a", 3, "no operator between `x` and `a`; to multiply, write x*a"),
        ("x!", 2, "no operator between `x` and `!`"),
        ("x(a)", 1, "`x` is not a function; to multiply, write x*(…)"),
        ("pi (a)", 1, "`pi` is not a function; to multiply, write pi*(…)"),
        ("sin(x", 6, "missing `)` for the `(` at column 4; the expression ends"),
        ("1 + ((x)", 9, "missing `)` for the `(` at column 5; the expression ends"),
        ("(1, 2)", 3, "missing `)` for the `(` at column 1; found `,`"),
        ("x)", 2, "found `)` but no `(` is open"),
        ("1,5*x", 2, "found `,` outside a function's arguments (decimals have a point)"),
        ("sin(x, 1)", 1, "`sin` takes 1 argument, not 2"),
        ("1 + sin()", 5, "`sin` takes 1 argument, not 0"),
        ("pow(x)", 1, "`pow` takes 2 arguments, not 1"),
        ("atan2(x, 1, 2)", 1, "`atan2` takes 2 arguments, not 3"),
        ("min(x)", 1, "`min` takes two or more arguments, not 1"),
        ("clamp(x)", 1, "`clamp` takes 3 arguments (value, lowest, highest), not 1"),
        ("x < 1", 1, has_no_value),
        ("2 + (x < 1)", 5, has_no_value),
        ("sin(x > 1)", 5, has_no_value),
        ("-(x == 1)", 2, has_no_value),
        ("x ^ !(x < 1)", 5, has_no_value),
        ("if(x, 1, 2)", 4, is_a_value),
        ("if(x < 1 && a, 1, 2)", 13, is_a_value),
        ("if(!x, 1, 2)", 5, is_a_value),
        ("if(0 < x < 1, 1, 2)", 10, not_a_chain),
        ("if(x = 1, 1, 2)", 6, has_equals_sign),
        ("y = a*x", 3, has_equals_sign),
        ("y ~ a*x", 3, "`~` is not part of a formula; write what follows y ~ only"),
        (
            "a*np.exp(x)",
            5,
            "`.` is not part of a formula; write functions without a module: exp(x)",
        ),
        ("a*x.^2", 4, has_operator_with_point),
        ("a.*x", 2, has_operator_with_point),
        ("a ./ x", 3, has_operator_with_point),
        ("a.", 2, "`.` is not part of a formula; a number has digits before or after its point"),
        ("a*x + inf", 7, "`inf` is not a number that a model can be fitted with"),
        ("NaN", 1, "`NaN` is not a number that a model can be fitted with"),
        ("1e400", 1, "the number `1e400` is too large"),
        ("α·x", 2, "`·` is not part of a formula; write *"),
    ] {
        assert_eq!(error(text), (column, message.to_owned()), "{text:?}");
    }
    let (column, message) = error("1 + foo(x)");
    assert_eq!(column, 5);
    assert!(message.starts_with("unknown function `foo`; known functions are exp, exp2, expm1, "));
    assert!(message.ends_with("; to multiply, write foo*(…)"));
    let takes = "`if` takes 3 arguments (condition, value where it holds, value elsewhere), not 2";
    assert_eq!(error("if(x < 1, 2)").1, takes);
}

#[test]
fn variables_must_be_different_names() {
    let message = |variables: &[&str]| match Expression::parse("a", variables) {
        Err(Error::Parse { message, column: 1, .. }) => message,
        other => panic!("{other:?}"),
    };
    for name in ["", "2x", "x y", "and", "not", "a-b", "x²"] {
        let expected = format!("the variable `{name}` has no valid name");
        assert!(message(&[name]).starts_with(&expected), "{name}");
    }
    assert_eq!(message(&["x", "y", "x"]), "the variable `x` is declared twice");
    assert!(Expression::parse("a", &["x", "unused"]).is_ok());
}

#[test]
fn nesting_is_limited_and_length_is_not() {
    for (open, close) in [("(", ")"), ("-", ""), ("exp(", ")"), ("2^", ""), ("a + (", ")")] {
        let nested = |n: usize| format!("{}x{}", open.repeat(n), close.repeat(n));
        let deepest = read(&nested(MAX_DEPTH)).unwrap();
        assert!(!deepest.evaluate(&[0.5], &[1.0]).is_nan());
        let (column, message) = error(&nested(MAX_DEPTH + 1));
        assert_eq!(message, "more than 200 levels of nesting");
        assert_eq!(column, open.len() * (MAX_DEPTH + 1) + 1);
        error(&nested(100_000));
    }
    let long = format!("a{}", " + a".repeat(99_999));
    assert_eq!(read(&long).unwrap().evaluate(&[0.0], &[1.0]), 100_000.0);
    let long = format!("max(x{})", ", a*x".repeat(100_000));
    assert_eq!(read(&long).unwrap().evaluate(&[2.0], &[3.0]), 6.0);
    let long = format!("x{}", " ".repeat(MAX_LENGTH));
    let Err(Error::Parse { message, column: 1, text }) = read(&long) else { panic!() };
    assert_eq!(message, "the text has 1000001 characters; at most 1000000 are read");
    assert!(text.len() < 100);
}

/// Tests that the text with the largest stack use per level needs less than half of a thread's stack.
#[test]
fn the_deepest_text_fits_a_small_stack() {
    let level = "if(a < 1 or a < 1 and a < a + a * ";
    let read_it = move || read(&level.repeat(1000)).is_err();
    let thread = std::thread::Builder::new().stack_size(1024 * 1024).spawn(read_it).unwrap();
    assert!(thread.join().unwrap());
}

/// Pseudorandom numbers, equal in each run (Steele, Lea, Flood 2014: SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// Parses `text` and prints the error or computes the value. Returns true if it was a formula.
fn survives(text: &str) -> bool {
    match read(text) {
        Ok(formula) => {
            let p = vec![0.7; formula.parameters().len()];
            let _: f64 = formula.evaluate(&[1.5], &p);
            true
        }
        Err(error) => {
            let Error::Parse { column, .. } = &error else { panic!("{error}") };
            assert!((1..=text.chars().count() + 1).contains(column), "{text}: {error}");
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

#[test]
fn no_text_makes_the_parser_panic() {
    let pieces = [
        "x",
        "a",
        "β",
        "pi",
        "e",
        "1",
        "2",
        ".5",
        "1e3",
        "2.",
        "1e",
        "+",
        "-",
        "*",
        "/",
        "^",
        "**",
        "(",
        "(",
        ")",
        ")",
        ",",
        "<",
        "<=",
        "==",
        "!=",
        "&&",
        "||",
        "!",
        "and",
        "or",
        "not",
        "if(",
        "min(",
        "pow(",
        "sin(",
        "clamp(",
        "exp",
        " ",
        "\u{301}",
        "é",
        "²",
        "=",
        ".",
        "foo(",
        "nan",
        "x^2",
        "x<1",
        "where(x<1,",
        "\u{202e}",
        "🦀",
        "\0",
        "'",
        "−",
    ];
    let mut random = Random(1);
    let mut text = String::new();
    let mut formulas = 0;
    for _ in 0..200_000 {
        text.clear();
        // Every other text consists only of pieces that occur in valid formulas.
        let kinds = if random.below(2) == 0 { 38 } else { pieces.len() };
        for _ in 0..random.below(12) {
            text.push_str(pieces[random.below(kinds)]);
        }
        formulas += usize::from(survives(&text));
    }
    assert!(formulas > 2_000, "{formulas}");
}

#[test]
fn a_formula_with_one_place_changed_never_panics() {
    let formula = "if(x >= 0 && !(a == 1) or b < 2, a*exp(-x/τ)^2, clamp(x, -1.5e-3, pow(b, 2)))";
    let characters: Vec<char> = formula.chars().collect();
    let others = ['(', ')', ',', '*', '-', '!', '<', 'e', '.', '0', ' ', 'ß', '\u{0}', '∞'];
    for place in 0..characters.len() {
        let (before, after) = (&characters[..place], &characters[place + 1..]);
        survives(&before.iter().chain(after).collect::<String>());
        survives(&before.iter().collect::<String>());
        for other in others {
            survives(&before.iter().chain([&other]).chain(after).collect::<String>());
            survives(
                &before.iter().chain([&other]).chain(&characters[place..]).collect::<String>(),
            );
        }
    }
}
