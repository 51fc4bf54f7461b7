//! Options that are not on the command line: a TOML file with a table for each verb, and device
//! strings as in SDR programs (`addr=10.0.0.2,window=4096`).
//!
//! Both become options of the command line before it is parsed. So every option works there, and a
//! value out of range gives the usual error. Precedence: command line, device string, file.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command};
use toml::{Table, Value};

/// Why options from a file or a device string are invalid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// There are two files.
    #[error("--config {} and --config {}: one file is read", first.display(), second.display())]
    Twice { first: PathBuf, second: PathBuf },
    /// The file is not valid TOML.
    #[error("{}: {source}", path.display())]
    Toml { path: PathBuf, source: Box<toml::de::Error> },
    /// A table of an unknown verb.
    #[error("{place}: `{name}` is no verb; there are {}{}", known.join(", "), hint(name, known))]
    Verb { place: String, name: String, known: Vec<String> },
    /// An option that the verb does not have.
    #[error(
        "{place}: {verb} has no option `{name}`; it has {}{}",
        known.join(", "),
        hint(name, known)
    )]
    Option { place: String, verb: String, name: String, known: Vec<String> },
    /// A device string without an address.
    #[error("`{text}`: a device string needs addr=HOST{hint}")]
    NoAddress { text: String, hint: String },
    /// A value of the wrong type.
    #[error("{place}: `{name}` is {found}, and {wanted} is needed")]
    Value { place: String, name: String, found: String, wanted: &'static str },
}

/// Adds the options of `--config FILE` and of a device string to the command line.
pub(crate) fn expand(
    arguments: impl IntoIterator<Item = OsString>,
    command: &Command,
) -> Result<Vec<OsString>, SettingsError> {
    let mut words: Vec<OsString> = arguments.into_iter().collect();
    let config = take_config(&mut words);
    let (verbs, mut at) = verbs_of(&words, command);
    let path: Vec<&str> = verbs.iter().map(|verb| verb.get_name()).collect();
    let mut options = Vec::new();
    if let Some(file) = config {
        if let Some(second) = take_config(&mut words) {
            return Err(SettingsError::Twice { first: file, second });
        }
        options = options_of_file(&file, command, &path)?;
    }
    if let Some(verb) = verbs.last()
        && let Some(place) = device_string(&words, at, verb)
    {
        let (address, more) = options_of_string(&words[place].to_string_lossy(), verb)?;
        words[place] = address.into();
        options.retain(|option| !more.iter().any(|other| other.name == option.name));
        options.extend(more);
    }
    let said: Vec<String> = words[at..]
        .iter()
        .map(|word| word.to_string_lossy())
        .take_while(|word| word != "--")
        .map(|word| word.split('=').next().unwrap_or_default().to_owned())
        .collect();
    for option in options {
        if !option.spellings.iter().any(|spelling| said.contains(spelling)) {
            words.insert(at, option.word.into());
            at += 1;
        }
    }
    Ok(words)
}

/// An option from a file or a device string.
struct Setting {
    name: String,
    /// Its spellings on the command line.
    spellings: Vec<String>,
    word: String,
}

/// Removes `--config FILE` from the words.
fn take_config(words: &mut Vec<OsString>) -> Option<PathBuf> {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    for at in 1..end {
        let word = words[at].to_string_lossy();
        if let Some(file) = word.strip_prefix("--config=") {
            let file = PathBuf::from(file);
            words.remove(at);
            return Some(file);
        }
        if word == "--config" && at + 1 < end {
            words.remove(at);
            return Some(words.remove(at).into());
        }
    }
    None
}

/// The verb and its nested verbs, and where the arguments begin.
fn verbs_of<'a>(words: &[OsString], command: &'a Command) -> (Vec<&'a Command>, usize) {
    let mut verbs: Vec<&Command> = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let parent = verbs.last().copied().unwrap_or(command);
        match word.to_str().and_then(|word| parent.find_subcommand(word)) {
            Some(verb) => verbs.push(verb),
            None => return (verbs, at),
        }
    }
    (verbs, words.len())
}

fn options_of_file(
    path: &Path,
    command: &Command,
    verbs: &[&str],
) -> Result<Vec<Setting>, SettingsError> {
    let text = fs::read_to_string(path)
        .map_err(|source| SettingsError::Read { path: path.to_owned(), source })?;
    let table: Table = text.parse().map_err(|source| SettingsError::Toml {
        path: path.to_owned(),
        source: Box::new(source),
    })?;
    let mut wanted = Vec::new();
    let place = path.display().to_string();
    read_table(&table, command, &place, Some(verbs), &mut wanted)?;
    Ok(wanted)
}

/// Checks a table and its subtables; the options of the verb at the end of `path` go to `wanted`.
fn read_table(
    table: &Table,
    command: &Command,
    place: &str,
    path: Option<&[&str]>,
    wanted: &mut Vec<Setting>,
) -> Result<(), SettingsError> {
    for (name, value) in table {
        if let (Some(verb), Value::Table(below)) = (command.find_subcommand(name), value) {
            let place = format!("{place}: [{name}]");
            let path = path.and_then(|path| {
                path.split_first().filter(|(first, _)| *first == name).map(|(_, rest)| rest)
            });
            read_table(below, verb, &place, path, wanted)?;
            continue;
        }
        if command.has_subcommands() {
            let known = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
            let (place, name) = (place.to_owned(), name.clone());
            return Err(SettingsError::Verb { place, name, known });
        }
        let settings = option(command, place, name, value)?;
        if path.is_some_and(<[_]>::is_empty) {
            wanted.extend(settings);
        }
    }
    Ok(())
}

/// The words of one option; none for a switch that is off.
fn option(
    command: &Command,
    place: &str,
    name: &str,
    value: &Value,
) -> Result<Vec<Setting>, SettingsError> {
    let argument = named(command, place, name)?;
    let wrong = |wanted| SettingsError::Value {
        place: place.to_owned(),
        name: name.to_owned(),
        found: value.to_string(),
        wanted,
    };
    let long = argument.get_long().unwrap_or(name);
    let setting = |word| Setting { name: long.to_owned(), spellings: spellings(argument), word };
    if matches!(argument.get_action(), ArgAction::SetTrue) {
        return match value {
            Value::Boolean(true) => Ok(vec![setting(format!("--{long}"))]),
            Value::Boolean(false) => Ok(Vec::new()),
            _ => Err(wrong("true or false")),
        };
    }
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    };
    let values = match value {
        Value::Array(values) => values.iter().map(text).collect::<Option<Vec<_>>>(),
        value => text(value).map(|text| vec![text]),
    };
    let values = values.ok_or_else(|| wrong("a string, a number or a list of these"))?;
    Ok(values.into_iter().map(|text| setting(format!("--{long}={text}"))).collect())
}

/// The option with this name or alias.
fn named<'a>(command: &'a Command, place: &str, name: &str) -> Result<&'a Arg, SettingsError> {
    let options = || command.get_arguments().filter(|it| !it.is_hide_set() && !it.is_global_set());
    let is_meant = |argument: &&Arg| names(argument).any(|known| known == name);
    options().find(is_meant).ok_or_else(|| SettingsError::Option {
        place: place.to_owned(),
        verb: command.get_name().to_owned(),
        name: name.to_owned(),
        known: options().filter_map(Arg::get_long).map(str::to_owned).collect(),
    })
}

/// The long name of an option, then its aliases.
fn names(argument: &Arg) -> impl Iterator<Item = &str> {
    let aliases = argument.get_visible_aliases().unwrap_or_default();
    argument.get_long().into_iter().chain(aliases)
}

fn spellings(argument: &Arg) -> Vec<String> {
    let short = argument.get_short().map(|letter| format!("-{letter}"));
    short.into_iter().chain(names(argument).map(|name| format!("--{name}"))).collect()
}

/// The position of a device string that replaces an address.
fn device_string(words: &[OsString], at: usize, verb: &Command) -> Option<usize> {
    let has_address = verb.get_positionals().any(|argument| {
        argument.get_value_names().is_some_and(|names| names.iter().any(|name| name == "ADDR"))
    });
    let is_device = |word: &OsString| {
        word.to_str().is_some_and(|word| word.split(',').any(|part| part.starts_with("addr=")))
    };
    let place = words.iter().skip(at).position(is_device)?;
    has_address.then_some(at + place)
}

/// The address in a device string, and its options.
fn options_of_string(text: &str, verb: &Command) -> Result<(String, Vec<Setting>), SettingsError> {
    let place = format!("`{text}`");
    let mut address = String::new();
    let mut settings = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (name, value) = match part.split_once('=') {
            Some(("addr", value)) => {
                address = value.to_owned();
                continue;
            }
            Some((name, "true")) => (name, Value::Boolean(true)),
            Some((name, "false")) => (name, Value::Boolean(false)),
            Some((name, value)) => (name, Value::String(value.to_owned())),
            None => (part, Value::Boolean(true)),
        };
        settings.extend(option(verb, &place, name, &value)?);
    }
    Ok((address, settings))
}

/// Checks that the text of an address is no device string whose address is missing or misspelt.
///
/// # Errors
/// [`SettingsError::NoAddress`].
pub(crate) fn check_address(text: &str) -> Result<(), SettingsError> {
    if !text.contains('=') {
        return Ok(());
    }
    let parts = text.split(',').filter_map(|part| part.split_once('='));
    let near = parts.map(|(key, value)| (distance(key, "addr"), value)).min();
    let hint = near
        .filter(|&(edits, _)| edits <= EDITS_MAX)
        .map_or_else(String::new, |(_, value)| format!(". Did you mean `addr={value}`?"));
    Err(SettingsError::NoAddress { text: text.to_owned(), hint })
}

/// A question about the known name that is nearest to an unknown one, where one is near.
fn hint(name: &str, known: &[String]) -> String {
    let near = known.iter().map(|known| (distance(name, known), known)).min();
    let near = near.filter(|&(edits, known)| edits <= EDITS_MAX && edits < known.len());
    near.map_or_else(String::new, |(_, known)| format!(". Did you mean `{known}`?"))
}

/// How many letters must be inserted, removed or replaced.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for letter in one.chars() {
        let mut before = row[0];
        row[0] += 1;
        for (at, &at_other) in other.iter().enumerate() {
            let replaced = before + usize::from(letter != at_other);
            before = row[at + 1];
            row[at + 1] = replaced.min(before + 1).min(row[at] + 1);
        }
    }
    row[other.len()]
}

/// Names that are further apart are not mistaken for each other.
const EDITS_MAX: usize = 2;

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Cli;

    fn expanded(line: &str) -> Result<String, SettingsError> {
        let words = line.split(' ').map(OsString::from);
        let words = expand(words, &Cli::command())?;
        let words: Vec<String> = words.iter().map(|it| it.to_string_lossy().into()).collect();
        Ok(words.join(" "))
    }

    fn with_file(text: &str, line: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("settings.toml");
        fs::write(&path, text).expect("it can be written");
        let line = line.replace("FILE", path.to_str().expect("UTF-8"));
        let folder = folder.path().display().to_string() + "/";
        expanded(&line).map_err(|error| error.to_string().replace(&folder, ""))
    }

    #[test]
    fn line_without_settings_is_left_as_it_is() {
        for line in [
            "samplewire",
            "samplewire --help",
            "samplewire nonsense --config",
            "samplewire record 127.0.0.1 out --json",
            "samplewire probe -- --config x",
            "samplewire sim soak --duration 1s",
        ] {
            assert_eq!(expanded(line).unwrap(), line);
        }
    }

    #[test]
    fn file_gives_what_the_line_does_not_say() {
        let text = "[record]\nnsamps = 1000\ndelivery = 'best-effort'\njson = true\n\
                    overwrite = false\n[probe]\ntimeout = '1s'\n[sim.soak]\nfirst = 7\n";
        let line = "samplewire --config FILE record 127.0.0.1 out --delivery=complete";
        assert_eq!(
            with_file(text, line).unwrap(),
            "samplewire record --json --nsamps=1000 127.0.0.1 out --delivery=complete"
        );
        assert_eq!(
            with_file(text, "samplewire probe --config=FILE host").unwrap(),
            "samplewire probe --timeout=1s host"
        );
        assert_eq!(
            with_file(text, "samplewire sim soak --config FILE").unwrap(),
            "samplewire sim soak --first=7"
        );
        assert_eq!(
            with_file(text, "samplewire sim repair --config FILE").unwrap(),
            "samplewire sim repair"
        );
        let list = "[emulate]\nfault = ['data:loss=0.01', 'control:loss=0.02']\nrate = 2.5e6\n";
        assert_eq!(
            with_file(list, "samplewire emulate --config FILE").unwrap(),
            "samplewire emulate --fault=data:loss=0.01 --fault=control:loss=0.02 --rate=2500000"
        );
        assert_eq!(
            with_file(list, "samplewire emulate --config FILE --fault data:dup=1").unwrap(),
            "samplewire emulate --rate=2500000 --fault data:dup=1"
        );
        let short = "[decode]\nverbose = true\n";
        assert_eq!(
            with_file(short, "samplewire decode --config FILE -v x").unwrap(),
            "samplewire decode -v x"
        );
    }

    #[test]
    fn alias_of_an_option_is_the_option() {
        assert_eq!(
            expanded("samplewire record addr=h,type=fc32,seconds=5 out").unwrap(),
            "samplewire record --format=fc32 --duration=5 h out"
        );
        assert_eq!(
            expanded("samplewire record addr=h,format=fc32 out --type sc8").unwrap(),
            "samplewire record h out --type sc8"
        );
        assert_eq!(
            with_file("[demo]\nseconds = 9", "samplewire --config FILE demo --duration 1s")
                .unwrap(),
            "samplewire demo --duration 1s"
        );
        assert_eq!(
            with_file(
                "[record]\ntype = 'sc8'",
                "samplewire record --config FILE addr=h,format=r8 x"
            )
            .unwrap(),
            "samplewire record --format=r8 h x"
        );
    }

    #[test]
    fn nearest_name_is_suggested() {
        for (line, words) in [
            ("samplewire record addr=h,widnow=3 x", "Did you mean `window`?"),
            ("samplewire record addr=h,duratoin=3 x", "Did you mean `duration`?"),
        ] {
            let error = expanded(line).unwrap_err().to_string();
            assert!(error.ends_with(words), "{error}");
        }
        let verb = with_file("[recrod]\njson = true", "samplewire probe --config FILE x");
        assert!(verb.unwrap_err().ends_with("Did you mean `record`?"));
        let error = check_address("adr=10.0.0.2,window=3").unwrap_err().to_string();
        assert!(error.ends_with("needs addr=HOST. Did you mean `addr=10.0.0.2`?"), "{error}");
        let error = check_address("window=3").unwrap_err().to_string();
        assert_eq!(error, "`window=3`: a device string needs addr=HOST");
        assert!(check_address("10.0.0.2:9100").is_ok());
        assert_eq!((distance("adr", "addr"), distance("", "ab"), distance("ab", "ba")), (1, 2, 2));
    }

    #[test]
    fn wrong_file_is_reported_with_its_place() {
        for (text, words) in [
            ("[recrod]\njson = true", "`recrod` is no verb; there are emulate"),
            ("json = true", "`json` is no verb"),
            ("[sim]\nseeds = '0..1'", "[sim]: `seeds` is no verb; there are swarm"),
            ("[record]\nnsmaps = 1", "[record]: record has no option `nsmaps`; it has"),
            ("[probe]\njson = 'yes'", "[probe]: `json` is \"yes\", and true or false is needed"),
            ("[probe]\ntimeout = true", "`timeout` is true, and a string, a number"),
            ("[probe]\ntimeout = [1979-05-27]", "a string, a number or a list"),
            ("[probe\n", "settings.toml: TOML parse error at line 1"),
        ] {
            let error = with_file(text, "samplewire record --config FILE x").unwrap_err();
            assert!(error.contains(words) && error.starts_with("settings.toml: "), "{error}");
        }
        let error = expanded("samplewire --config /none.toml probe x").unwrap_err().to_string();
        assert!(error.starts_with("/none.toml: No such file"), "{error}");
    }

    #[test]
    fn device_string_has_the_address_and_options() {
        assert_eq!(
            expanded("samplewire record --window 8 addr=10.0.0.2:5,window=64,json,nsamps=1e6 out")
                .unwrap(),
            "samplewire record --json --nsamps=1e6 --window 8 10.0.0.2:5 out"
        );
        assert_eq!(
            expanded("samplewire probe timeout=1s,addr=[::1],json=false").unwrap(),
            "samplewire probe --timeout=1s [::1]"
        );
        let error = expanded("samplewire probe addr=h,colour=red").unwrap_err().to_string();
        assert_eq!(
            error,
            "`addr=h,colour=red`: probe has no option `colour`; it has timeout, carriage, interface, json"
        );
        let error = expanded("samplewire probe addr=h,json=maybe").unwrap_err().to_string();
        assert!(error.contains("`json` is \"maybe\""), "{error}");
        assert_eq!(expanded("samplewire decode addr=1").unwrap(), "samplewire decode addr=1");
        assert_eq!(
            with_file("[probe]\ntimeout = 9", "samplewire probe --config FILE addr=h,timeout=1")
                .unwrap(),
            "samplewire probe --timeout=1 h"
        );
    }
}
