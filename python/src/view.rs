//! The memory of NumPy's arrays: over that of a block, which each array keeps, and copies of it.

use std::ffi::c_int;

use numpy::npyffi::flags::{NPY_ARRAY_ALIGNED, NPY_ARRAY_C_CONTIGUOUS};
use numpy::npyffi::{NPY_TYPES, NpyTypes, PY_ARRAY_API, PyArrayObject, get_type_object, npy_intp};
use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use samplewire::format::Format;

use crate::block::Lease;

/// What the samples are: a format, and channels at each index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) format: Format,
    pub(crate) channels: u16,
}

impl Shape {
    pub(crate) fn frame_bytes(self) -> usize {
        self.format.sample_bytes() * usize::from(self.channels)
    }

    /// NumPy's type of an element; the bytes of a type that it does not know as complex are two.
    const fn element(self) -> (NPY_TYPES, usize, bool) {
        match self.format {
            Format::Sc8 => (NPY_TYPES::NPY_BYTE, 1, true),
            Format::Uc8 => (NPY_TYPES::NPY_UBYTE, 1, true),
            Format::Sc16 => (NPY_TYPES::NPY_SHORT, 2, true),
            Format::Fc32 => (NPY_TYPES::NPY_CFLOAT, 4, false),
            Format::R8 => (NPY_TYPES::NPY_BYTE, 1, false),
            Format::R16 => (NPY_TYPES::NPY_SHORT, 2, false),
            Format::Rf32 => (NPY_TYPES::NPY_FLOAT, 4, false),
        }
    }
}

/// An array that cannot be written, over the bytes of `lease`, which is its base.
///
/// # Errors
/// NumPy refuses.
pub(crate) fn array<'py>(lease: &Bound<'py, Lease>, shape: Shape) -> PyResult<Bound<'py, PyAny>> {
    let py = lease.py();
    let bytes = lease.get().bytes();
    let (element, align_bytes, has_two_parts) = shape.element();
    let samples = (bytes.len() / shape.frame_bytes()) as npy_intp;
    let mut dims = [samples, shape.channels as npy_intp, 2];
    let len_dims: c_int = if has_two_parts { 3 } else { 2 };
    let is_aligned = bytes.as_ptr().addr().is_multiple_of(align_bytes);
    let flags = NPY_ARRAY_C_CONTIGUOUS | if is_aligned { NPY_ARRAY_ALIGNED } else { 0 };
    // SAFETY: the API's functions get a descriptor of a built-in type, whose reference they take,
    // as many dimensions as `dims` has at least, and null where that is allowed. The data are
    // `samples` times `frame_bytes` initialised bytes, as the dimensions and the element's size
    // multiply to. They stay where they are, and as they are, while `lease` lives, whose reference
    // the array takes as its base before anybody sees it; without NPY_ARRAY_WRITEABLE it is only
    // read. A null is the error that Python has set.
    unsafe {
        let descr = PY_ARRAY_API.PyArray_DescrFromType(py, element as c_int);
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            get_type_object(py, NpyTypes::PyArray_Type),
            descr,
            len_dims,
            dims.as_mut_ptr(),
            std::ptr::null_mut(),
            bytes.as_ptr().cast_mut().cast(),
            flags,
            std::ptr::null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        let base = lease.clone().into_ptr();
        let kept =
            PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast::<PyArrayObject>(), base);
        if kept < 0 { Err(PyErr::fetch(py)) } else { Ok(array) }
    }
}

/// An array that has these bytes for its own.
///
/// # Errors
/// NumPy refuses.
pub(crate) fn owned(py: Python<'_>, bytes: Vec<u8>, shape: Shape) -> PyResult<Bound<'_, PyAny>> {
    let samples = bytes.len() / shape.frame_bytes();
    let kind = py.import("samplewire._receive")?.getattr("sample_dtype")?;
    let (dtype, tail): (Bound<'_, PyAny>, Vec<usize>) =
        kind.call1((shape.format.as_str(),))?.extract()?;
    let dims: Vec<usize> = [samples, shape.channels.into()].into_iter().chain(tail).collect();
    let array = PyArray1::from_vec(py, bytes).call_method1("view", (dtype,))?;
    array.call_method1("reshape", (dims,))
}

/// Copies bytes of a contiguous array, from number `at` on. Another thread may write the array
/// meanwhile, without the GIL: so no reference to its memory is made.
///
/// # Panics
/// The array has fewer bytes, or is not contiguous.
pub(crate) fn copy(array: &Bound<'_, PyArray1<u8>>, at: usize, out: &mut [u8]) {
    assert!(array.is_c_contiguous(), "Python's half makes it so");
    assert!(at <= array.len() && out.len() <= array.len() - at, "the copy lies in the array");
    // SAFETY: the bytes lie in the array, which is contiguous. They stay while `array` lives: NumPy
    // moves them only with the GIL, which is held. `out` is memory of this library, which Python
    // does not know, so the two do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(array.data().add(at), out.as_mut_ptr(), out.len()) }
}

// Views are of the wire's byte order.
const _: () = assert!(cfg!(target_endian = "little"));
