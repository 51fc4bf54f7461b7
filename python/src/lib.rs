//! The native half of the Python package `samplewire`: streams whose samples NumPy reads in place.
//! `docs/python.md` documents the behaviour; the package's Python half is in `samplewire/`.

mod aligned;
mod block;
mod chunk;
mod copied;
mod counters;
mod device;
mod errors;
mod listener;
mod options;
mod own;
mod receiver;
mod record;
mod source;
mod tables;
mod transmitter;
mod view;
mod wait;

use pyo3::prelude::*;

/// Streams of samples; wrapped by the package's Python half.
// Calls share state only through locks and atomics: the module needs no GIL.
#[pymodule(gil_used = false)]
mod _native {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::aligned::AlignedReceiver;
    #[pymodule_export]
    use super::block::{Block, Lease, convert, to_floats};
    #[pymodule_export]
    use super::device::Device;
    #[pymodule_export]
    use super::errors::out_of_range;
    #[pymodule_export]
    use super::listener::Listener;
    #[pymodule_export]
    use super::options::{format_name, read_number};
    #[pymodule_export]
    use super::receiver::{Receiver, find, probe, probe_rdma};
    #[pymodule_export]
    use super::record::record;
    #[pymodule_export]
    use super::transmitter::Transmitter;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::own::count_forks()?;
        module.add("WINDOW_RANGE", samplewire_proto::WINDOW_RANGE)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
