//! Processes that run the endpoint of `samplewire`, unchanged, on virtual time: what ships. The
//! checker sees what each sends and takes, what its programs are handed, and its machines from
//! outside.

mod client;
mod device;
mod endpoint;
mod link;
mod sending;
mod taking;

pub(crate) use client::Client;
pub(crate) use device::Device;
pub(crate) use endpoint::Endpoint;
