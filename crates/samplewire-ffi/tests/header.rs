//! The header in the repository is the one that cbindgen writes.

use std::path::Path;

#[test]
fn committed_header_is_the_generated_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("it can be read");
    let mut fresh = Vec::new();
    cbindgen::Builder::new()
        .with_crate(root)
        .with_config(config)
        .generate()
        .expect("cbindgen understands the crate")
        .write(&mut fresh);
    let fresh = String::from_utf8(fresh).expect("it is text");
    let path = root.join("include/samplewire.h");
    if std::env::var_os("SAMPLEWIRE_WRITE_HEADER").is_some() {
        std::fs::write(&path, &fresh).expect("it can be written");
    }
    let committed = std::fs::read_to_string(&path).expect("it is there");
    assert!(
        committed == fresh,
        "{} is not what cbindgen writes: SAMPLEWIRE_WRITE_HEADER=1 cargo test -p samplewire-ffi \
         --test header",
        path.display()
    );
}
