use super::*;
use serde_json::json;

fn error_of(metadata: &Value) -> String {
    Metadata::parse(&metadata.to_string()).unwrap_err().to_string()
}

/// A recording whose `global` has this additional or changed field.
fn with_global(field: &str, value: Value) -> Value {
    let mut metadata = json!({
        "global": { "core:datatype": "ci16_le", "core:version": "1.2.5" },
        "captures": [], "annotations": []
    });
    metadata["global"][field] = value;
    metadata
}

fn with_captures(captures: Value) -> Value {
    let mut metadata = with_global("core:num_channels", json!(1));
    metadata["captures"] = captures;
    metadata
}

#[test]
fn text_that_is_no_sigmf_is_refused() {
    assert!(Metadata::parse("").unwrap_err().to_string().starts_with("no JSON: "));
    assert_eq!(error_of(&json!([])), "global is missing");
    assert_eq!(error_of(&json!({"global": 3})), "global is 3: must be an object");
    assert_eq!(error_of(&json!({"global": {}})), "global.core:datatype is missing");
    assert_eq!(error_of(&json!({"global": {"core:datatype": "cu8"}})), "captures is missing");
}

#[test]
fn wrong_global_values_are_named() {
    let cases = [
        ("core:datatype", json!("ci12"), "global.core:datatype: datatype `ci12` is unknown"),
        ("core:datatype", json!(8), "global.core:datatype is 8: must be a text"),
        ("core:num_channels", json!(0), "global.core:num_channels is 0: must be 1 to 65535"),
        ("core:num_channels", json!(65_536), "global.core:num_channels is 65536"),
        ("core:num_channels", json!("2"), "global.core:num_channels is \"2\""),
        ("core:sample_rate", json!(0), "global.core:sample_rate is 0: must be a number above 0"),
        ("core:sample_rate", json!(-2e6), "global.core:sample_rate is -2000000.0"),
        ("core:sample_rate", json!(null), "global.core:sample_rate is null"),
        ("core:sha512", json!("12"), "global.core:sha512 is \"12\": must be 128 digits of hex"),
        ("core:dataset", json!("../x"), "global.core:dataset is \"../x\": must be a file name"),
        ("core:offset", json!(-1), "global.core:offset is -1: must be a whole number"),
        ("core:trailing_bytes", json!(4), "global.core:trailing_bytes is 4: not supported"),
        ("core:metadata_only", json!(true), "global.core:metadata_only is true: not supported"),
        (
            "core:extensions",
            json!([{"name": "x", "version": "1", "optional": false}]),
            "global.core:extensions is {\"name\":\"x\"",
        ),
    ];
    for (field, value, text) in cases {
        let error = error_of(&with_global(field, value));
        assert!(error.starts_with(text), "{error}");
    }
}

#[test]
fn wrong_captures_are_named() {
    let cases = [
        (json!({}), "captures is {}: must be a list"),
        (json!([7]), "captures[0] is 7: must be an object"),
        (json!([{}]), "captures[0].core:sample_start is missing"),
        (json!([{"core:sample_start": 1.5}]), "captures[0].core:sample_start is 1.5: must be"),
        (
            json!([{"core:sample_start": 0, "core:header_bytes": 4}]),
            "captures[0].core:header_bytes is 4: not supported",
        ),
        (
            json!([{"core:sample_start": 9}, {"core:sample_start": 8}]),
            "captures[1].core:sample_start is 8: must be at least 9",
        ),
        (
            json!([{"core:sample_start": 0, "core:frequency": "high"}]),
            "captures[0].core:frequency is \"high\": must be a number",
        ),
    ];
    for (captures, text) in cases {
        let error = error_of(&with_captures(captures));
        assert!(error.starts_with(text), "{error}");
    }
}

#[test]
fn capture_behind_the_data_is_named() {
    let captures = json!([{"core:sample_start": 0}, {"core:sample_start": 100.0}]);
    let metadata = Metadata::parse(&with_captures(captures).to_string()).unwrap();
    assert!(metadata.check_length(100).is_ok(), "an empty capture at the end");
    assert_eq!(
        metadata.check_length(99).unwrap_err().to_string(),
        "captures[1].core:sample_start is 100: the data end at 99"
    );
}

#[test]
fn captures_count_from_the_offset() {
    let mut metadata = with_captures(json!([{"core:sample_start": 50}]));
    metadata["global"]["core:offset"] = json!(50);
    assert!(Metadata::parse(&metadata.to_string()).unwrap().check_length(1).is_ok());
    metadata["global"]["core:offset"] = json!(51);
    assert_eq!(error_of(&metadata), "captures[0].core:sample_start is 50: must be at least 51");
}

#[test]
fn long_value_is_cut_in_the_error() {
    let error = error_of(&with_global("core:num_channels", json!("é".repeat(1_000))));
    assert!(error.len() < 250, "{error}");
}
