use std::fs;

use super::*;
use crate::sigmf::Metadata;
use std::path::PathBuf;
use tempfile::TempDir;

fn info() -> StreamInfo {
    StreamInfo::new(Format::Sc16, 1, 2e6).unwrap()
}

fn files_of(path: &Path) -> Vec<PathBuf> {
    let mut sink = open(path, &info(), &SinkOptions::new()).unwrap();
    sink.write(0, &[1, 0, 2, 0]).unwrap();
    let summary = sink.finish().unwrap();
    assert_eq!((summary.samples, summary.bytes), (1, 4), "{path:?}");
    summary.files
}

#[test]
fn name_chooses_the_sink() {
    let folder = TempDir::new().unwrap();
    for name in ["a.raw", "b.sc16", "c.iq"] {
        let path = folder.path().join(name);
        assert_eq!(files_of(&path), [&*path]);
        assert_eq!(fs::read(&path).unwrap(), [1, 0, 2, 0]);
    }
    for (name, base) in [("d", "d"), ("e.sigmf", "e"), ("f.sigmf-data", "f"), ("g.2024", "g.2024")]
    {
        let file = |suffix: &str| folder.path().join(format!("{base}.{suffix}"));
        assert_eq!(files_of(&folder.path().join(name)), [file("sigmf-meta"), file("sigmf-data")]);
    }
    assert!(files_of("null".as_ref()).is_empty());
    assert_eq!(files_of("/dev/null".as_ref()), [PathBuf::from("/dev/null")]);
}

#[test]
fn converted_recording_says_what_it_holds() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a");
    let mut sink = open(&path, &info(), &SinkOptions::new().format(Format::Fc32)).unwrap();
    sink.write(9, &[0, 0x40, 0, 0xC0]).unwrap();
    let summary = sink.finish().unwrap();
    assert_eq!((summary.samples, summary.bytes), (1, 8));
    let meta = fs::read_to_string(folder.path().join("a.sigmf-meta")).unwrap();
    assert_eq!(Metadata::parse(&meta).unwrap().format, Format::Fc32);
    let data = fs::read(folder.path().join("a.sigmf-data")).unwrap();
    assert_eq!(data, [0.5_f32.to_le_bytes(), (-0.5_f32).to_le_bytes()].concat());
}

#[test]
fn name_that_states_a_format_converts_or_is_refused() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (name, bytes) in
        [("a.cs8", 2), ("b.fc32", 8), ("c.cfile", 8), ("d.ci16_le", 4), ("e.CU8", 2)]
    {
        let mut sink = open(&at(name), &info(), &SinkOptions::new()).unwrap();
        sink.write(0, &[0, 0x40, 0, 0xC0]).unwrap();
        assert_eq!(sink.finish().unwrap().bytes, bytes, "{name}");
    }
    let fc32 = SinkOptions::new().format(Format::Fc32);
    for (name, options, words) in [
        (
            "f.cs8",
            &fc32,
            "f.cs8: the name states sc8, and the samples are fc32: choose another name",
        ),
        ("g.r16", &SinkOptions::new(), "the name states r16, and the samples are sc16"),
        ("x.wav", &SinkOptions::new(), "x.wav: such files are not written: NAME alone is a SigMF"),
        ("x.WAV", &fc32, "NAME.raw raw samples"),
    ] {
        let error = open(&at(name), &info(), options).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert!(!at(name).exists());
    }
    check_name(&at("f.cs8"), &fc32).unwrap_err();
    check_name(&at("x.wav"), &SinkOptions::new()).unwrap_err();
    open(&at("h.cfile"), &info(), &fc32).unwrap();
}

#[test]
fn conversion_that_cannot_be_done_leaves_no_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.raw");
    let error = open(&path, &info(), &SinkOptions::new().format(Format::R16)).err().unwrap();
    assert_eq!(error.to_string(), "sc16 cannot become r16: one is complex, the other real");
    assert!(!path.exists());
}

#[test]
fn file_that_exists_is_kept_by_default() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.raw");
    fs::write(&path, [7]).unwrap();
    let error = open(&path, &info(), &SinkOptions::new()).err().unwrap().to_string();
    assert!(error.ends_with("a.raw exists: choose another name, or allow to overwrite it"));
    assert_eq!(fs::read(&path).unwrap(), [7]);
    open(&path, &info(), &SinkOptions::new().overwrite(true)).unwrap().finish().unwrap();
    assert!(fs::read(&path).unwrap().is_empty());
}

#[test]
fn name_that_cannot_be_had_is_known_before_there_is_a_stream() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["a.raw", "meta.sigmf-meta", "data.sigmf-data", "part-0001.sigmf-meta"] {
        fs::write(at(name), [7]).unwrap();
    }
    fs::write(at("left.sigmf-data"), []).unwrap();
    let new = SinkOptions::new;
    let cases = [
        (at("a.raw"), new(), "Exists"),
        (at("meta"), new(), "Exists"),
        (at("data"), new(), "Exists"),
        (at("part"), new().split(100), "Exists"),
        (at("part"), new().append(true), "Series"),
        (at("a.raw"), new().append(true), "NotSigmf"),
        ("-".into(), new().compress(true), "NotSigmf"),
        ("/nowhere/a".into(), new().overwrite(true), "Io"),
        ("/nowhere/a.raw".into(), new(), "Io"),
    ];
    for (path, options, expected) in cases {
        let known = check_name(&path, &options).unwrap_err();
        let found = open(&path, &info(), &options).unwrap_err();
        for error in [known, found] {
            let words = format!("{error:?}");
            assert!(words.starts_with(expected), "{words} for {}", path.display());
        }
    }
    for (path, options) in [
        (at("new"), new()),
        (at("new.raw"), new()),
        (at("left"), new()),
        (at("a.raw"), new().overwrite(true)),
        (at("meta"), new().overwrite(true)),
        (at("part"), new().split(100).append(true)),
        ("-".into(), new()),
        ("null".into(), new()),
        ("/dev/full".into(), new()),
        ("relative".into(), new()),
    ] {
        check_name(&path, &options).unwrap();
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5, "nothing was created");
}

#[test]
fn place_that_cannot_be_written_is_named() {
    for name in ["/nowhere/a.raw", "/nowhere/a"] {
        let error = open(name.as_ref(), &info(), &SinkOptions::new()).err().unwrap().to_string();
        assert!(error.starts_with("create /nowhere/a"), "{error}");
    }
    let mut full = open("/dev/full".as_ref(), &info(), &SinkOptions::new()).unwrap();
    let error = full.write(0, &[0; 4]).unwrap_err().to_string();
    assert!(error.starts_with("/dev/full: no room for more than 0 samples"), "{error}");
}
