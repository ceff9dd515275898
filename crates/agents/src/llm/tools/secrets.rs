//! Which variables commands do not get.
//!
//! A model reads what a command prints, and may be talked into printing its environment. So a command gets no variable
//! whose name says that it holds a secret (`ANTHROPIC_API_KEY`, `GITHUB_TOKEN`, `DB_PASSWORD`), none from which the agent takes
//! the key of a provider, whatever it is called, and none that has the value of one of these in it.
//!
//! # Limitations
//!
//! A command runs as the person, so it can read their files. Only the person who is asked for permission can refuse that.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use memchr::memmem;
use offshoot_session::agent::Environment;

/// Words of names, in capital letters, between `_`.
const SECRET_WORDS: &[&str] = &[
    "APIKEY",
    "AUTHTOKEN",
    "CREDENTIAL",
    "CREDENTIALS",
    "KEY",
    "KEYS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
];

/// A shorter value may be part of any other by chance.
const SHORTEST_VALUE: usize = 8;

/// The environment without the variables that hold secrets. `keys` are the names of those from which the keys of providers
/// are taken.
pub(crate) fn without_secrets<'k>(
    environment: &Environment,
    keys: impl IntoIterator<Item = &'k str>,
) -> Environment {
    let keys: Vec<&str> = keys.into_iter().collect();
    let is_secret = |name: &OsStr| keys.iter().any(|key| name == *key) || is_secret_name(name);
    let secrets = environment.iter().filter(|(name, value)| is_secret(name) && value.len() >= SHORTEST_VALUE);
    let secrets: Vec<&OsStr> = secrets.map(|(_, value)| value).collect();
    let has_secret = |value: &OsStr| {
        secrets.iter().any(|secret| memmem::find(value.as_bytes(), secret.as_bytes()).is_some())
    };
    let kept = environment.iter().filter(|(name, value)| !is_secret(name) && !has_secret(value));
    kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn is_secret_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    name.split(['_', '-', '.']).any(|word| SECRET_WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(variables: &[(&str, &str)], keys: &[&str]) -> Vec<String> {
        let all: Environment = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let kept = without_secrets(&all, keys.iter().copied());
        kept.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn names_say_that_they_hold_secrets() {
        let secret = [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "DB_PASSWORD",
            "GITHUB_TOKEN",
            "OPENAI_API_KEY",
            "gateway_apikey",
        ];
        let variables = secret.map(|name| (name, "1234567890"));
        assert!(names(&variables, &[]).is_empty(), "{:?}", names(&variables, &[]));
        let harmless = ["HOME", "KEYBOARD", "LESSKEYIN", "PATH", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM"];
        assert_eq!(names(&harmless.map(|name| (name, "x")), &[]), harmless);
    }

    #[test]
    fn a_key_is_left_out_whatever_its_variable_is_called_and_where_else_it_is() {
        let variables =
            [("COPY", "Bearer abcdefgh12"), ("GATEWAY", "abcdefgh12"), ("HOME", "/home"), ("SHORT_KEY", "/")];
        assert_eq!(names(&variables, &["GATEWAY"]), ["HOME"]);
        assert_eq!(names(&variables, &[]), ["COPY", "GATEWAY", "HOME"]);
    }
}
