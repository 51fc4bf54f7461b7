//! Gives the shared library the name that programs look for.

fn main() {
    // The first number that is not zero: what may break programs.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libsamplewire.so.0");
    println!("cargo:rerun-if-changed=build.rs");
}
