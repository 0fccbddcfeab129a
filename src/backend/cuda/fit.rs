//! A fit of few parameters on a device: its state and the sums of its passes, and the launches of its
//! kernels. The points are the owner's.

use super::driver::{Address, Driver, DriverError, Geometry, Module};
use super::resident::ResidentFit;
use super::source::THREADS;
use super::state::{Layout, sums};
use crate::backend::{BadPoint, Evaluator, Fault};
use crate::normal::{RFactor, Spectrum};
use std::ops::Range;

/// What a fit is made of.
pub(crate) struct Parts<'a> {
    pub(crate) driver: &'a dyn Driver,
    /// The translation unit of the fit, loaded.
    pub(crate) module: Module,
    /// The bytes of its `Data`.
    pub(crate) data: Vec<u8>,
    /// Free parameters, at least 1, and all parameters.
    pub(crate) free: usize,
    pub(crate) params: usize,
    /// Blocks of a pass, at least 1.
    pub(crate) blocks: u32,
    /// The same points on the host, for what the device cannot say of a start.
    pub(crate) host: &'a mut dyn Evaluator,
}

/// A fit with its room on the device.
pub(crate) struct DeviceFit<'a> {
    parts: Parts<'a>,
    layout: Layout,
    room: Room,
    /// Passes that were launched beside those of the solver.
    pub(crate) other_passes: usize,
}

/// Where everything lies.
struct Room {
    base: Address,
    factor: Address,
    spectrum: Address,
    ticket: Address,
    partial: Address,
}

impl Room {
    /// Words of all, and their places in one allocation.
    fn plan(layout: &Layout, blocks: u32) -> (usize, [usize; 4]) {
        let n = layout.n;
        let k = n + 1;
        let factor = layout.words + layout.scratch_words();
        let spectrum = factor + k * k;
        let ticket = spectrum + spectrum_words(n);
        let partial = ticket + 1;
        (partial + blocks as usize * sums(n).max(k * k), [factor, spectrum, ticket, partial])
    }
}

fn spectrum_words(n: usize) -> usize {
    2 * n + n * n + 1
}

/// Bytes that a fit takes on the device beside its points.
pub(crate) fn bytes(free: usize, params: usize, blocks: u32) -> usize {
    8 * Room::plan(&Layout::new(free, params), blocks).0
}

impl<'a> DeviceFit<'a> {
    /// # Errors
    /// There is no memory for it, or the device is lost.
    pub(crate) fn new(parts: Parts<'a>) -> Result<DeviceFit<'a>, DriverError> {
        let layout = Layout::new(parts.free, parts.params);
        let (words, places) = Room::plan(&layout, parts.blocks);
        let base = parts.driver.allocate(8 * words)?;
        let [factor, spectrum, ticket, partial] = places.map(|at| word(base, at));
        let room = Room { base, factor, spectrum, ticket, partial };
        let fit = DeviceFit { parts, layout, room, other_passes: 0 };
        fit.parts.driver.clear(ticket, 8)?;
        Ok(fit)
    }

    fn launch(
        &self,
        kernel: &str,
        geometry: Geometry,
        arguments: &[&[u8]],
    ) -> Result<(), DriverError> {
        self.parts.driver.launch(self.parts.module, kernel, geometry, arguments)
    }

    fn pass(&self) -> Geometry {
        Geometry { blocks: self.parts.blocks, threads: THREADS as u32 }
    }

    fn launch_iterate(&self, blocks: u32, factor: Option<Address>) -> Result<(), DriverError> {
        let Room { base, partial, ticket, .. } = &self.room;
        let arguments = [base, partial, ticket].map(|a| a.0.to_ne_bytes());
        let factor = factor.map_or(0, |a| a.0).to_ne_bytes();
        let [state, partial, ticket] = arguments.each_ref().map(|a| a.as_slice());
        let geometry = Geometry { blocks, ..self.pass() };
        self.launch("iterate", geometry, &[&self.parts.data, state, partial, ticket, &factor])
    }

    /// Queues the factor at the present parameters, with the full robust correction.
    fn launch_factor(&self) -> Result<(), DriverError> {
        let at = |range: &Range<usize>| word(self.room.base, range.start).0.to_ne_bytes();
        let params = at(&self.layout.present_params);
        let columns = at(&self.layout.columns);
        let Room { factor, partial, ticket, .. } = &self.room;
        let [out, partial, ticket] = [factor, partial, ticket].map(|a| a.0.to_ne_bytes());
        let floor = 0.0_f64.to_ne_bytes();
        let arguments: [&[u8]; 7] =
            [&self.parts.data, &params, &columns, &floor, &partial, &ticket, &out];
        self.launch("factor", self.pass(), &arguments)
    }

    fn upload(&self, to: Address, words: impl Iterator<Item = u64>) -> Result<(), DriverError> {
        self.parts.driver.upload(to, &words.flat_map(u64::to_ne_bytes).collect::<Vec<u8>>())
    }

    fn download(&self, from: Address, words: &mut [u64]) -> Result<(), DriverError> {
        let mut bytes = vec![0; 8 * words.len()];
        self.parts.driver.download(from, &mut bytes)?;
        let (chunks, _) = bytes.as_chunks::<8>();
        words.iter_mut().zip(chunks).for_each(|(word, chunk)| *word = u64::from_ne_bytes(*chunk));
        Ok(())
    }

    /// The spectrum of the columns `kept` of the Jacobian at `params`: all parameters, columns in
    /// `columns`' units. One pass over the points.
    pub(crate) fn spectrum_at(
        &mut self,
        params: &[f64],
        columns: &[f64],
        kept: &[usize],
    ) -> Result<Spectrum, DriverError> {
        let place = |range: &Range<usize>| word(self.room.base, range.start);
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
        self.upload(place(&self.layout.present_params), bits(params).into_iter())?;
        self.upload(place(&self.layout.columns), bits(columns).into_iter())?;
        self.launch_factor()?;
        self.other_passes += 1;
        self.spectrum_of_room(kept)
    }

    /// The spectrum of the columns `kept` of a factor that the host has.
    pub(crate) fn spectrum_of(
        &mut self,
        factor: &RFactor,
        kept: &[usize],
    ) -> Result<Spectrum, DriverError> {
        self.upload(self.room.factor, factor.r.iter().map(|v| v.to_bits()))?;
        self.spectrum_of_room(kept)
    }

    fn spectrum_of_room(&self, kept: &[usize]) -> Result<Spectrum, DriverError> {
        let mask: u64 = kept.iter().map(|&j| 1 << j).sum();
        let [factor, spectrum] = [self.room.factor, self.room.spectrum].map(|a| a.0.to_ne_bytes());
        let geometry = Geometry { blocks: 1, threads: 32 };
        self.launch("covariance", geometry, &[&factor, &mask.to_ne_bytes(), &spectrum])?;
        let (n, m) = (self.layout.n, kept.len());
        let mut words = vec![0; spectrum_words(n)];
        self.download(self.room.spectrum, &mut words)?;
        let values: Vec<f64> = words.into_iter().map(f64::from_bits).collect();
        Ok(Spectrum {
            lengths: values[..m].to_vec(),
            sigma: values[n..n + m].to_vec(),
            v: values[2 * n..2 * n + m * m].to_vec(),
            found: values[2 * n + n * n] == 1.0,
        })
    }
}

impl Drop for DeviceFit<'_> {
    fn drop(&mut self) {
        self.parts.driver.release(self.room.base);
    }
}

fn word(base: Address, at: usize) -> Address {
    Address(base.0 + 8 * at as u64)
}

impl ResidentFit for DeviceFit<'_> {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn write(&mut self, at: usize, words: &[u64]) -> Result<(), DriverError> {
        self.upload(word(self.room.base, at), words.iter().copied())
    }

    fn read(&mut self, at: Range<usize>, words: &mut [u64]) -> Result<(), DriverError> {
        self.download(word(self.room.base, at.start), words)
    }

    fn iterate(&mut self, launches: usize) -> Result<(), DriverError> {
        (0..launches).try_for_each(|_| self.launch_iterate(self.parts.blocks, None))
    }

    fn factor(&mut self) -> Result<(), DriverError> {
        self.launch_factor()?;
        self.launch_iterate(1, Some(self.room.factor))
    }

    fn stop(&mut self) -> Result<(), DriverError> {
        self.launch_iterate(1, None)
    }

    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint> {
        self.parts.host.first_bad_point(params)
    }

    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault> {
        self.parts.host.magnitudes(params, out)
    }
}
