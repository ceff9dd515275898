//! Which variables commands do not get.
//!
//! A model reads what a command prints, and may be talked into printing its environment. So a command gets no variable
//! whose name says that it holds a secret (`ANTHROPIC_API_KEY`, `GITHUB_TOKEN`, `PGPASSWORD`), none with an address that has a
//! password in it (`DATABASE_URL`), none from which the agent takes the key of a provider, whatever it is called, and none
//! that has the value of one of these in it.
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
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "SECRET",
    "SECRETS",
    "SSHPASS",
    "TOKEN",
    "TOKENS",
];

/// Words may end like this (`PGPASSWORD`).
const SECRET_ENDINGS: &[&str] =
    &["APIKEY", "CREDENTIALS", "PASSPHRASE", "PASSWD", "PASSWORD", "PASSWORDS", "SECRET", "TOKEN"];

/// Names may end with these words (`REDISCLI_AUTH`, `MYSQL_PWD`), which say nothing in the middle (`SSH_AUTH_SOCK`).
const LAST_WORDS: &[&str] = &["AUTH", "PWD"];

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
    let named = environment.iter().filter(|(name, _)| is_secret(name)).map(|(_, value)| value.as_bytes());
    let in_addresses = environment.iter().flat_map(|(_, value)| passwords(value.as_bytes()));
    let secrets: Vec<&[u8]> =
        named.chain(in_addresses).filter(|value| value.len() >= SHORTEST_VALUE).collect();
    let has_secret = |value: &OsStr| {
        let value = value.as_bytes();
        passwords(value).next().is_some()
            || secrets.iter().any(|secret| memmem::find(value, secret).is_some())
    };
    let kept = environment.iter().filter(|(name, value)| !is_secret(name) && !has_secret(value));
    kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn is_secret_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let is_separator = ['_', '-', '.'];
    let has_word = name.split(is_separator).any(|word| {
        SECRET_WORDS.contains(&word) || SECRET_ENDINGS.iter().any(|ending| word.ends_with(ending))
    });
    // `PWD` alone is the folder.
    has_word || name.rsplit_once(is_separator).is_some_and(|(_, last)| LAST_WORDS.contains(&last))
}

/// The passwords of addresses in a text: what is between `:` and `@` behind `://`. A long name without a password is a token.
fn passwords(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    const LONG_NAME: usize = 20;
    memmem::find_iter(text, b"://").filter_map(|at| {
        let rest = text.get(at + 3..)?;
        let is_end =
            |byte: &u8| matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'') || byte.is_ascii_whitespace();
        let host = rest.get(..rest.iter().position(is_end).unwrap_or(rest.len()))?;
        let user = host.get(..memchr::memrchr(b'@', host)?)?;
        match memchr::memchr(b':', user) {
            Some(colon) => user.get(colon + 1..).filter(|password| !password.is_empty()),
            None => Some(user).filter(|name| name.len() >= LONG_NAME),
        }
    })
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
            "MYSQL_PWD",
            "OPENAI_API_KEY",
            "PGPASSWORD",
            "REDISCLI_AUTH",
            "SMTP_PASS",
            "SSHPASS",
            "gateway_apikey",
        ];
        let variables = secret.map(|name| (name, "1234567890"));
        assert!(names(&variables, &[]).is_empty(), "{:?}", names(&variables, &[]));
        let harmless = [
            "COMPASS",
            "HOME",
            "KEYBOARD",
            "LESSKEYIN",
            "OLDPWD",
            "PATH",
            "PWD",
            "SSH_ASKPASS",
            "SSH_AUTH_SOCK",
            "TOKENIZERS_PARALLELISM",
        ];
        assert_eq!(names(&harmless.map(|name| (name, "x")), &[]), harmless);
    }

    #[test]
    fn an_address_with_a_password_is_left_out_and_so_is_what_repeats_it() {
        let variables = [
            ("CLONE", "https://ghp_0123456789abcdef@github.com/a/b"),
            ("DATABASE_URL", "postgres://me:hunter2-hunter2@db/x?sslmode=require"),
            ("DSN", "host=db password=hunter2-hunter2"),
            ("HARMLESS", "postgres://me@db/x ssh://git@host:22/a https://a/b:c@d"),
            ("REDIS", "redis://:pass@word@cache:6379"),
        ];
        assert_eq!(names(&variables, &[]), ["HARMLESS"]);
    }

    #[test]
    fn a_key_is_left_out_whatever_its_variable_is_called_and_where_else_it_is() {
        let variables =
            [("COPY", "Bearer abcdefgh12"), ("GATEWAY", "abcdefgh12"), ("HOME", "/home"), ("SHORT_KEY", "/")];
        assert_eq!(names(&variables, &["GATEWAY"]), ["HOME"]);
        assert_eq!(names(&variables, &[]), ["COPY", "GATEWAY", "HOME"]);
    }
}
