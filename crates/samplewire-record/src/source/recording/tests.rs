use std::fs;

use super::*;
use samplewire_proto::wire::Format;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::source::Repeat;

/// Creates a folder with a recording of three samples of cu8.
fn recording(global: Value) -> TempDir {
    let folder = TempDir::new().unwrap();
    let mut metadata = json!({
        "global": { "core:datatype": "cu8", "core:sample_rate": 2e6, "core:author": "N. N." },
        "captures": [{ "core:sample_start": 0, "core:frequency": 1.09e9 }],
        "annotations": []
    });
    for (field, value) in global.as_object().unwrap() {
        metadata["global"][field] = value.clone();
    }
    fs::write(folder.path().join("a.sigmf-meta"), metadata.to_string()).unwrap();
    fs::write(folder.path().join("a.sigmf-data"), [1, 2, 3, 4, 5, 6]).unwrap();
    folder
}

fn open_in(
    folder: &TempDir,
    name: &str,
    options: &SourceOptions,
) -> Result<RecordingSource, SourceError> {
    open_recording(&folder.path().join(name), options)
}

fn error_in(folder: &TempDir, name: &str, options: &SourceOptions) -> String {
    let error = open_in(folder, name, options).expect_err("it is refused").to_string();
    error.replace(&format!("{}/", folder.path().display()), "")
}

fn read_all(source: &mut dyn ReadSamples, piece_bytes: usize) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), vec![0; piece_bytes]);
    loop {
        match source.read(&mut piece).unwrap() {
            0 => return all,
            len_bytes => all.extend(&piece[..len_bytes]),
        }
    }
}

#[test]
fn recording_is_found_by_any_of_its_names() {
    let folder = recording(json!({}));
    for name in ["a", "a.sigmf-meta", "a.sigmf-data"] {
        let mut source = open_in(&folder, name, &SourceOptions::new()).unwrap();
        let info = source.info().clone();
        assert_eq!((info.format, info.channels, info.rate_hz()), (Format::Uc8, 1, 2e6));
        assert_eq!((info.centre_frequency_hz, info.len_samples), (Some(1.09e9), Some(3)));
        assert_eq!(
            (info.name.to_string().as_str(), source.notes().get("core:author")),
            ("a", Some("N. N."))
        );
        assert_eq!(read_all(&mut source, 5), [1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn recording_repeats_as_often_as_asked() {
    let folder = recording(json!({}));
    let options = SourceOptions::new().repeat(Repeat::Times(3));
    let mut source = open_in(&folder, "a", &options).unwrap();
    assert_eq!(source.info().len_samples, Some(9));
    assert_eq!(read_all(&mut source, 8), [1, 2, 3, 4, 5, 6].repeat(3));
    let forever = SourceOptions::new().repeat(Repeat::Forever);
    let mut source = open_in(&folder, "a", &forever).unwrap();
    assert_eq!(source.info().len_samples, None);
    assert_eq!(source.read(&mut vec![0; 1 << 20]).unwrap(), 1 << 20);
}

#[test]
fn recording_on_disk_reads_as_the_one_in_memory() {
    let folder = recording(json!({}));
    let path = folder.path().join("a.sigmf-data");
    for total_bytes in [Some(6), Some(16), None] {
        let data = Data::open(&path).unwrap();
        let mut rewound = Rewound { data, position_bytes: 0, left_bytes: total_bytes };
        let mut looped = Looped::new(vec![1, 2, 3, 4, 5, 6], total_bytes);
        for len_bytes in [2, 4, 8, 2, 10, 2] {
            let (mut disk, mut memory) = (vec![0; len_bytes], vec![0; len_bytes]);
            assert_eq!(rewound.read(&mut disk).unwrap(), looped.read(&mut memory));
            assert_eq!(disk, memory);
        }
    }
}

#[test]
fn data_that_shrink_while_they_are_read_are_named() {
    let folder = recording(json!({}));
    let path = folder.path().join("a.sigmf-data");
    let data = Data::open(&path).unwrap();
    let mut rewound = Rewound { data, position_bytes: 0, left_bytes: None };
    rewound.read(&mut [0; 2]).unwrap();
    fs::write(&path, [1, 2]).unwrap();
    let error = rewound.read(&mut [0; 4]).unwrap_err().to_string();
    assert!(error.ends_with("a.sigmf-data: ended at byte 2 of 6"), "{error}");
}

#[test]
fn data_that_end_within_a_sample_are_named() {
    let folder = recording(json!({"core:datatype": "ci16_le"}));
    assert_eq!(
        error_in(&folder, "a", &SourceOptions::new()),
        "a.sigmf-data: truncated recording: 6 bytes are no whole number of samples of 4 bytes"
    );
}

#[test]
fn metadata_that_contradict_the_data_are_named() {
    let folder = recording(json!({}));
    fs::write(folder.path().join("a.sigmf-data"), []).unwrap();
    assert_eq!(error_in(&folder, "a", &SourceOptions::new()), "a.sigmf-data: holds no samples");
    let folder = recording(json!({"core:offset": 0}));
    let meta = folder.path().join("a.sigmf-meta");
    let text = fs::read_to_string(&meta).unwrap();
    fs::write(&meta, text.replace("\"core:sample_start\":0", "\"core:sample_start\":4")).unwrap();
    assert_eq!(
        error_in(&folder, "a", &SourceOptions::new()),
        "a.sigmf-meta: captures[0].core:sample_start is 4: the data end at 3"
    );
}

#[test]
fn wrong_hash_is_found_when_asked_for() {
    let folder = recording(json!({"core:sha512": "0".repeat(128)}));
    assert!(open_in(&folder, "a", &SourceOptions::new()).is_ok());
    let error = error_in(&folder, "a", &SourceOptions::new().verify(true));
    assert!(error.starts_with("a.sigmf-meta: global.core:sha512 is 000"), "{error}");
    let found = error.split_whitespace().last().unwrap();
    let folder = recording(json!({"core:sha512": found.to_uppercase()}));
    let mut source = open_in(&folder, "a", &SourceOptions::new().verify(true)).unwrap();
    assert_eq!(read_all(&mut source, 6), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn options_that_contradict_the_recording_are_named() {
    let folder = recording(json!({}));
    let error = error_in(&folder, "a", &SourceOptions::new().format(Format::Sc16));
    assert_eq!(error, "a: format sc16 was requested, but it is uc8");
    let error = error_in(&folder, "a", &SourceOptions::new().channels(2));
    assert_eq!(error, "a: channels 2 was requested, but it is 1");
    let source = open_in(&folder, "a", &SourceOptions::new().rate_hz(1e3)).unwrap();
    assert_eq!(source.info().rate_hz(), 1e3);
}

#[test]
fn raw_file_may_state_its_format_in_its_name() {
    let folder = recording(json!({}));
    let options = SourceOptions::new().rate_hz(1e6);
    for (name, format) in [("b.cfile", Format::Fc32), ("b.cs8", Format::Sc8)] {
        fs::write(folder.path().join(name), [0; 16]).unwrap();
        assert_eq!(open_in(&folder, name, &options).unwrap().info().format, format);
        let other = open_in(&folder, name, &options.clone().format(Format::Sc16)).unwrap();
        assert_eq!(other.info().format, Format::Sc16, "what is chosen goes first");
    }
}

#[test]
fn raw_file_needs_format_and_rate() {
    let folder = recording(json!({}));
    fs::write(folder.path().join("b.raw"), [0; 12]).unwrap();
    let error = error_in(&folder, "b.raw", &SourceOptions::new());
    assert_eq!(error, "b.raw: its format is not known and must be given");
    let options = SourceOptions::new().format(Format::R16).rate_hz(1e6).channels(3);
    let source = open_in(&folder, "b.raw", &options).unwrap();
    assert_eq!((source.info().len_samples, source.info().name), (Some(2), "b".into()));
    let error = error_in(&folder, "b.raw", &options.clone().channels(4));
    assert!(error.starts_with("b.raw: truncated recording: 12 bytes"), "{error}");
    fs::write(folder.path().join("a"), [0; 12]).unwrap();
    let error = error_in(&folder, "a", &SourceOptions::new());
    assert_eq!(error, "a: its format is not known and must be given", "metadata beside it or not");
    let error = error_in(&folder, "none.raw", &options);
    assert!(error.starts_with("open none.raw: No such file"), "{error}");
    let error = error_in(&folder, "none.sigmf-meta", &options);
    assert!(error.starts_with("read none.sigmf-meta: No such file"), "{error}");
}

#[test]
fn data_file_of_another_name_is_found() {
    let folder = recording(json!({"core:dataset": "b.dat"}));
    fs::write(folder.path().join("b.dat"), [9, 9]).unwrap();
    let mut source = open_in(&folder, "a", &SourceOptions::new()).unwrap();
    assert_eq!(read_all(&mut source, 6), [9, 9]);
}

#[test]
fn real_recording_is_whole() {
    let Some(path) = crate::source::test_recording() else { return };
    let mut source = open_recording(&path, &SourceOptions::new().verify(true)).unwrap();
    assert_eq!(source.info().len_samples, Some(356_868));
    assert_eq!(source.info().centre_frequency_hz, Some(1.09e9));
    assert_eq!(source.notes().get("core:author"), Some("Salvatore Sanfilippo"));
    assert_eq!(read_all(&mut source, 1_000).len(), 713_736);
}
