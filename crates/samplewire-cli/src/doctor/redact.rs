//! Removes from a record what names a machine: MAC addresses, host names, control groups.

use std::cell::RefCell;

/// Replaces names; the same name always gets the same replacement.
#[derive(Debug)]
pub(super) struct Redactor {
    host_name: String,
    control_group: String,
    /// Interfaces that have a MAC address in their name.
    interfaces: RefCell<Vec<String>>,
}

impl Redactor {
    /// Replaces a host's name and a control group's path, beside all MAC addresses.
    pub(super) fn new(host_name: &str, control_group: &str) -> Self {
        let names = [host_name.trim(), control_group.trim_end_matches('/')];
        let [host_name, control_group] = names.map(str::to_owned);
        Self { host_name, control_group, interfaces: RefCell::default() }
    }

    /// The text without those names.
    pub(super) fn text(&self, text: &str) -> String {
        let text = match &self.control_group[..] {
            "" => text.to_owned(),
            group => text.replace(group, "/group"),
        };
        let mut redacted = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let is_word = |letter: char| letter.is_ascii_alphanumeric() || "-:_".contains(letter);
            let len = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(if len == 0 { first.len_utf8() } else { len });
            redacted += &self.word(word);
            rest = after;
        }
        redacted
    }

    fn word(&self, word: &str) -> String {
        if self.host_name.len() >= HOST_CHARS_LEAST && word.contains(&self.host_name) {
            return word.replace(&self.host_name, "host");
        }
        if let Some(at) = word.find("enx").filter(|at| hex_digits(&word[at + 3..]) >= 12) {
            let name = &word[at..at + 15];
            let mut known = self.interfaces.borrow_mut();
            let number = known.iter().position(|it| it == name).unwrap_or_else(|| {
                known.push(name.to_owned());
                known.len() - 1
            });
            return word.replace(name, &format!("enx{number:012x}"));
        }
        // An IPv6 address of /proc/net whose last half is made from a MAC address.
        if word.len() == 32 && hex_digits(word) == 32 && &word[22..26] == "fffe" {
            return format!("{}{}", &word[..16], "0".repeat(16));
        }
        for mark in [':', '-'] {
            let parts: Vec<_> = word.split(mark).collect();
            let is_pair = |part: &&str| part.len() == 2 && hex_digits(part) == 2;
            if parts.iter().filter(|part| is_pair(part)).count() >= MAC_BYTES {
                let shown =
                    |part: &&str| if is_pair(part) { "00".to_owned() } else { (*part).to_owned() };
                return parts.iter().map(shown).collect::<Vec<_>>().join(&mark.to_string());
            }
        }
        word.to_owned()
    }
}

fn hex_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_hexdigit).count()
}

const MAC_BYTES: usize = 6;
/// A shorter name could be a part of any word; the files of a record have no place for one.
const HOST_CHARS_LEAST: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_machine_are_replaced_and_all_else_stays() {
        let redactor = Redactor::new("radio-7\n", "/user.slice/box");
        for (text, expected) in [
            (
                "10.0.0.2 0x1 0x2 02:fc:ab:00:00:05 * eth0",
                "10.0.0.2 0x1 0x2 00:00:00:00:00:00 * eth0",
            ),
            ("a 02-fc-ab-00-00-05\n", "a 00-00-00-00-00-00\n"),
            ("enx00e04c680001: up enx00e04c680002", "enx000000000000: up enx000000000001"),
            ("/sys/class/net/enx00e04c680002/mtu", "/sys/class/net/enx000000000001/mtu"),
            ("fe8000000000000000fcfffffe000001", "fe800000000000000000000000000000"),
            ("20010db8000000000000000000000001", "20010db8000000000000000000000001"),
            ("chain radio-7.local radio-77", "chain host.local host7"),
            ("0::/user.slice/box\n", "0::/group\n"),
            ("cpu  12 34:56 é [always] \n", "cpu  12 34:56 é [always] \n"),
            ("Udp: 00:01:02:03:04", "Udp: 00:01:02:03:04"),
        ] {
            assert_eq!(redactor.text(text), expected);
        }
    }
}
