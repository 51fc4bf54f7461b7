//! The secret that a viewer must know.

use std::fmt;
use std::path::Path;
use std::{fs, io};

use subtle::ConstantTimeEq;

/// 128 random bits, as 32 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; DIGITS]);

impl Token {
    /// Draws a token.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn draw() -> io::Result<Self> {
        let mut bits = [0; DIGITS / 2];
        getrandom::fill(&mut bits).map_err(io::Error::other)?;
        let mut digits = [0; DIGITS];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(bits) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        Ok(Self(digits))
    }

    /// Reads a token from a file that no other user can read or write.
    ///
    /// # Errors
    /// The file cannot be read, is open to other users, or is not a token of 32 hexadecimal digits.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        if is_open_to_others(path)? {
            return Err(io::Error::other("other users can read it: chmod 600"));
        }
        text.trim().parse()
    }

    /// Returns whether `text` is this token. The time depends only on the length of `text`.
    pub fn matches(&self, text: &str) -> bool {
        self.0.as_slice().ct_eq(text.as_bytes()).into()
    }

    /// The digits. They are a secret.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("hexadecimal digits")
    }
}

impl std::str::FromStr for Token {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let wrong = || io::Error::other("a token has 32 hexadecimal digits: openssl rand -hex 16");
        let digits: [u8; DIGITS] = text.as_bytes().try_into().map_err(|_| wrong())?;
        let is_hex = digits.iter().all(|digit| HEX.contains(digit));
        if is_hex { Ok(Self(digits)) } else { Err(wrong()) }
    }
}

/// Without the secret, so that no log has it.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(fs::metadata(path)?.mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> io::Result<bool> {
    Ok(false)
}

const DIGITS: usize = 32;
const HEX: &[u8; 16] = b"0123456789abcdef";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_matches_itself_alone() {
        let (token, other) = (Token::draw().unwrap(), Token::draw().unwrap());
        assert!(token.matches(token.as_str()));
        assert_ne!(token, other);
        for text in ["", "0", &token.as_str()[..31], other.as_str()] {
            assert!(!token.matches(text), "{text}");
        }
        assert!(!format!("{token:?}").contains(token.as_str()));
        assert!("0123456789abcdef0123456789abcdeX".parse::<Token>().is_err());
    }
}
