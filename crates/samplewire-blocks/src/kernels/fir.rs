//! Filters of finite impulse response, with or without decimation.

mod sums;

use std::marker::PhantomData;

use bytemuck::{cast_slice, cast_slice_mut};
use num_complex::Complex32;

use super::Floats;
pub(super) use sums::filter;

/// A filter of real taps on real or complex samples, or of complex taps on complex samples, that
/// gives one output for every `decimation` inputs, by direct sums.
///
/// The output that stands for input `n` is the sum of `taps[k] * input[n - k]`: symmetric taps
/// delay a signal by `(taps - 1) / 2` inputs ([`group_delay_samples`](Self::group_delay_samples)).
/// Complex taps cost twice what real ones do.
/// Samples before the first are zeros. However the input is split over calls, the outputs have
/// the same bits. From one machine to the next their last bits may differ, by whether it fuses a
/// product and a sum.
///
/// ```
/// use samplewire_blocks::kernels::Fir;
///
/// let mut mean_of_two = Fir::new(&[0.5, 0.5], 2)?;
/// let mut output = [0.0; 4];
/// assert_eq!(mean_of_two.process(&[1.0, 3.0, 5.0, 7.0, 9.0], &mut output), (5, 3));
/// assert_eq!(output, [0.5, 4.0, 8.0, 0.0]);
/// # Ok::<(), samplewire_blocks::kernels::FirError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fir<S> {
    /// The last tap first, each as often as a sample has parts: the order of the samples.
    taps: Box<[f32]>,
    decimation: usize,
    /// How many inputs come before that of the next output.
    skip: usize,
    /// The parts of the last `taps - 1` inputs, and room for [`PIECE`] more samples, or as many as
    /// those before them.
    seam: Box<[f32]>,
    symmetric: bool,
    /// The sums of complex taps' imaginary parts; the taps above are the real ones then.
    imaginary: Option<Box<Imaginary<S>>>,
    samples: PhantomData<S>,
}

/// A filter whose outputs count as imaginary.
#[derive(Clone, Debug)]
struct Imaginary<S> {
    fir: Fir<S>,
    /// Its outputs, [`PIECE`] at a time.
    room: Box<[S]>,
}

impl<S: Floats> Fir<S> {
    /// A filter of 1 to 2^20 taps, that of the newest input first, and a decimation of 1 to 2^20.
    /// The first output stands for the first input.
    ///
    /// # Errors
    /// [`FirError`] when one is out of range.
    pub fn new(taps: &[f32], decimation: usize) -> Result<Self, FirError> {
        if !(1..=MAX).contains(&taps.len()) {
            return Err(FirError::Taps { taps: taps.len() });
        }
        if !(1..=MAX).contains(&decimation) {
            return Err(FirError::Decimation { decimation });
        }
        let history = taps.len() - 1;
        Ok(Self {
            taps: taps.iter().rev().flat_map(|tap| vec![*tap; S::PARTS]).collect(),
            decimation,
            skip: 0,
            seam: vec![0.0; (history + history.max(PIECE)) * S::PARTS].into_boxed_slice(),
            symmetric: taps.iter().eq(taps.iter().rev()),
            imaginary: None,
            samples: PhantomData,
        })
    }

    /// Filters from the front of `input` to the front of `output` until either ends: how many
    /// inputs were consumed, and how many outputs produced.
    pub fn process(&mut self, input: &[S], output: &mut [S]) -> (usize, usize) {
        let Some(mut imaginary) = self.imaginary.take() else {
            return self.process_real(input, output);
        };
        let (mut consumed, mut produced) = (0, 0);
        loop {
            let (input, output) = (&input[consumed..], &mut output[produced..]);
            let len = output.len().min(PIECE);
            let (output, room) = (&mut output[..len], &mut imaginary.room[..len]);
            let done = self.process_real(input, output);
            imaginary.fir.process_real(input, room);
            add_imaginary(&mut output[..done.1], &room[..done.1]);
            if done == (0, 0) {
                break;
            }
            consumed += done.0;
            produced += done.1;
        }
        self.imaginary = Some(imaginary);
        (consumed, produced)
    }

    fn process_real(&mut self, input: &[S], output: &mut [S]) -> (usize, usize) {
        let outputs = self.outputs_of(input.len());
        let (consumed, produced) = if outputs <= output.len() {
            (input.len(), outputs)
        } else {
            (self.inputs_of(output.len()), output.len())
        };
        let inputs: &[f32] = cast_slice(&input[..consumed]);
        let outputs: &mut [f32] = cast_slice_mut(&mut output[..produced]);
        let step = self.decimation * S::PARTS;
        let history = self.history();

        // The first windows begin in the history, the others in the input.
        let head = inputs.len().min(history);
        let of_head = self.outputs_of(head / S::PARTS).min(produced);
        self.seam[history..history + head].copy_from_slice(&inputs[..head]);
        let (outputs_of_head, rest) = outputs.split_at_mut(of_head * S::PARTS);
        let first = self.skip * S::PARTS;
        filter::<S>(&self.seam[..history + head], first, step, &self.taps, outputs_of_head);
        let first = first + of_head * step;
        if !rest.is_empty() {
            filter::<S>(inputs, first - history, step, &self.taps, rest);
        }

        if inputs.len() >= history {
            self.seam[..history].copy_from_slice(&inputs[inputs.len() - history..]);
        } else {
            self.seam.copy_within(head..head + history, 0);
        }
        self.skip = self.skip + produced * self.decimation - consumed;
        (consumed, produced)
    }

    /// Filters `samples` where they stand, each replaced by the output for it.
    ///
    /// # Panics
    /// When the filter decimates.
    pub fn process_in_place(&mut self, samples: &mut [S]) {
        assert_eq!(self.decimation, 1, "the decimation of a filter that works in place");
        let history = self.history();
        for piece in samples.chunks_mut(PIECE) {
            let room = self.imaginary.as_deref_mut().map(|Imaginary { fir, room }| {
                let room = &mut room[..piece.len()];
                fir.process_real(piece, room);
                room
            });
            // Through a copy in the first cache: the sums need inputs that outputs replace.
            let parts: &mut [f32] = cast_slice_mut(piece);
            let seam = &mut self.seam[..history + parts.len()];
            seam[history..].copy_from_slice(parts);
            filter::<S>(seam, 0, S::PARTS, &self.taps, parts);
            self.seam.copy_within(parts.len()..parts.len() + history, 0);
            if let Some(room) = room {
                add_imaginary(piece, room);
            }
        }
    }

    /// How many outputs the next `inputs` give.
    pub fn outputs_of(&self, inputs: usize) -> usize {
        inputs.saturating_sub(self.skip).div_ceil(self.decimation)
    }

    /// How many inputs the next `outputs` need.
    pub fn inputs_of(&self, outputs: usize) -> usize {
        match outputs.checked_sub(1) {
            Some(before_last) => self.skip + before_last * self.decimation + 1,
            None => 0,
        }
    }

    /// Restarts, as after a gap: the samples before the next are zeros. `skip` inputs come before
    /// the input of the next output.
    pub fn restart(&mut self, skip: usize) {
        let history = self.history();
        self.seam[..history].fill(0.0);
        self.skip = skip;
        if let Some(imaginary) = &mut self.imaginary {
            imaginary.fir.restart(skip);
        }
    }

    /// One output comes for so many inputs.
    pub fn decimation(&self) -> usize {
        self.decimation
    }

    /// By how many inputs symmetric taps delay every frequency, complex ones whose mirror image is
    /// their conjugate; `None` for others.
    pub fn group_delay_samples(&self) -> Option<f64> {
        let taps = self.taps.len() / S::PARTS;
        self.symmetric.then(|| (taps - 1) as f64 / 2.0)
    }

    /// The parts of the inputs that a sum takes besides the newest.
    fn history(&self) -> usize {
        self.taps.len() - S::PARTS
    }
}

impl Fir<Complex32> {
    /// A filter of complex taps, none of them conjugated; see [`Fir::new`].
    ///
    /// ```
    /// use num_complex::Complex32;
    /// use samplewire_blocks::kernels::Fir;
    ///
    /// let mut turn = Fir::with_complex_taps(&[Complex32::I], 1)?;
    /// let mut samples = [Complex32::new(1.0, 2.0)];
    /// turn.process_in_place(&mut samples);
    /// assert_eq!(samples, [Complex32::new(-2.0, 1.0)]);
    /// # Ok::<(), samplewire_blocks::kernels::FirError>(())
    /// ```
    ///
    /// # Errors
    /// See [`Fir::new`].
    pub fn with_complex_taps(taps: &[Complex32], decimation: usize) -> Result<Self, FirError> {
        let parts = |part: fn(&Complex32) -> f32| taps.iter().map(part).collect::<Vec<_>>();
        let mut fir = Self::new(&parts(|tap| tap.re), decimation)?;
        let imaginary = Self::new(&parts(|tap| tap.im), decimation)?;
        fir.symmetric = taps.iter().zip(taps.iter().rev()).all(|(tap, other)| *tap == other.conj());
        let room = vec![Complex32::ZERO; PIECE].into_boxed_slice();
        fir.imaginary = Some(Box::new(Imaginary { fir: imaginary, room }));
        Ok(fir)
    }
}

/// Why a filter cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FirError {
    /// Too few or too many taps.
    #[error("a filter of {taps} taps: must be 1 to {MAX}")]
    Taps {
        /// How many there are.
        taps: usize,
    },
    /// The decimation is out of range.
    #[error("a decimation by {decimation}: must be 1 to {MAX}")]
    Decimation {
        /// The requested decimation.
        decimation: usize,
    },
    /// The interpolation is out of range.
    #[error("an interpolation by {interpolation}: must be 1 to {MAX}")]
    Interpolation {
        /// The requested interpolation.
        interpolation: usize,
    },
}

/// Adds to each of `outputs`, which are complex, the one of `imaginary` times the imaginary unit.
fn add_imaginary<S: Floats>(outputs: &mut [S], imaginary: &[S]) {
    let (outputs, _) = cast_slice_mut::<S, f32>(outputs).as_chunks_mut::<2>();
    let (imaginary, _) = cast_slice::<S, f32>(imaginary).as_chunks::<2>();
    for ([re, im], [other_re, other_im]) in outputs.iter_mut().zip(imaginary) {
        *re -= other_im;
        *im += other_re;
    }
}

/// Samples that are filtered in place, or by complex taps, at a time.
const PIECE: usize = 1024;
/// Of taps, and of a decimation or an interpolation.
pub(super) const MAX: usize = 1 << 20;

#[cfg(test)]
mod tests;
