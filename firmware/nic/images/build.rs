//! Links the images by the runtime's script.

fn main() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../runtime/link.ld");
    println!("cargo:rerun-if-changed={script}");
    println!("cargo:rustc-link-arg-bins=-T{script}");
}
