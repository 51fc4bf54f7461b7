//! Kernels allocate in their constructors alone.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use num_complex::{Complex, Complex32};
use samplewire_blocks::kernels::{
    Fir, InterpolatingFir, Levels, Noise, Oscillator, Ramp, Spectrum, SyncSearch, SyncWord, Window,
    convert, convert_in_place, saxpy, seal,
};

/// The system's allocator, which counts the calls of each thread.
struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller's promises hold for the system's allocator alike.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: as above.
        unsafe { System.dealloc(start, layout) }
    }
}

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn no_kernel_allocates_once_it_was_made() {
    let mut words = vec![Complex::new(1_i16, 2); 4096];
    let mut samples = vec![Complex32::ZERO; 4096];
    let mut output = vec![Complex32::ZERO; 4096];
    let mut fir = Fir::new(&[0.1; 64], 8).unwrap();
    let mut complex = Fir::with_complex_taps(&[Complex32::I; 64], 8).unwrap();
    let mut raise = InterpolatingFir::new(&[0.1; 64], 8).unwrap();
    let mut in_place = Fir::new(&[0.1; 64], 1).unwrap();
    let mut oscillator = Oscillator::new(0.1).unwrap();
    let noise = Noise::new(1, 0.1);
    let ramp = Ramp::new(100).unwrap();
    let mut spectra = [1024, 4096, 4095].map(|bins| Spectrum::new(bins, Window::Hann, 2).unwrap());
    let mut levels = Levels::default();
    let mut search = SyncSearch::new(SyncWord::new(&[1, 2, 3]).unwrap(), 2).unwrap();

    let before = CALLS.get();
    for index in [0, 1_000_000] {
        noise.fill(index, &mut samples);
        oscillator.retune(0.2, index).unwrap();
        oscillator.rotate(index, &mut samples);
        black_box(fir.process(&samples, &mut output));
        black_box(complex.process(&samples, &mut output));
        black_box(raise.process(&samples, &mut output));
        in_place.process_in_place(&mut samples);
        for spectrum in &mut spectra {
            while black_box(spectrum.next(&mut &samples[..])).is_none() {}
        }
        levels.add(&samples);
        convert(&samples, &mut words);
        convert_in_place::<Complex<i16>, Complex<i8>>(bytemuck::cast_slice_mut(&mut words), 4096);
        search.push(bytemuck::cast_slice(&words), |end_bit, _| _ = black_box(end_bit));
        seal(bytemuck::cast_slice_mut(&mut words));
        ramp.fill(index, bytemuck::cast_slice_mut(&mut samples));
        saxpy(bytemuck::cast_slice_mut(&mut samples), 0.5, 0.5);
    }
    assert_eq!(CALLS.get(), before);
}
