//! The environment in which agents and hooks run: that of the caller, without our own variables and without those that
//! the setting `agent_environment` leaves out.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use offshoot_api::CallerContext;
use offshoot_session::agent::Environment;

use crate::settings::Settings;

/// Our own variables steer this program; an agent that runs it should not inherit how its parent was called.
const OWN: &str = "OFFSHOOT_";

pub(crate) fn environment_for(context: &CallerContext, settings: &Settings) -> Environment {
    let is_left_out = |name: &str| {
        name.starts_with(OWN) || settings.agent_environment.iter().any(|pattern| matches(pattern, name))
    };
    let texts = context.environment.iter().map(|(name, value)| (name.into(), value.into()));
    let bytes = context.environment_bytes.iter();
    // What is not base64 is no variable.
    let bytes = bytes.filter_map(|(name, value)| Some((decoded(name)?, decoded(value)?)));
    let all = texts.chain(bytes);
    all.filter(|(name, _): &(OsString, OsString)| !is_left_out(&name.to_string_lossy())).collect()
}

/// Variables that decide which provider an agent asks, as whom and by which way.
const OF_PROVIDERS: [&str; 7] = [
    "ANTHROPIC_*",
    "OPENAI_*",
    "CLAUDE_CODE_USE_*",
    "CLAUDE_CONFIG_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];

/// The names of those that differ between two environments. Their values may be keys, and are compared only here.
pub(crate) fn provider_differences(one: &Environment, other: &Environment) -> Vec<String> {
    let names: BTreeSet<String> =
        one.iter().chain(other.iter()).map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    let is_of_provider = |name: &String| OF_PROVIDERS.iter().any(|pattern| matches(pattern, name));
    let differs = |name: &String| one.get(name) != other.get(name);
    names.into_iter().filter(|name| is_of_provider(name) && differs(name)).collect()
}

fn decoded(text: &str) -> Option<OsString> {
    STANDARD.decode(text).ok().map(OsString::from_vec)
}

/// `*` stands for any number of characters; everything else for itself.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    let mut is_open = false;
    while let Some(part) = parts.next() {
        is_open = true;
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part).and_then(|at| rest.get(at + part.len()..)) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    is_open || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn names(agent_environment: &[&str]) -> Vec<String> {
        let names = ["AWS_SECRET", "HOME", "HTTPS_PROXY", "OFFSHOOT_HOME", "PATH"];
        let environment = names.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect();
        let context = CallerContext { environment, ..CallerContext::default() };
        let agent_environment = agent_environment.iter().map(|name| (*name).to_owned()).collect();
        let settings = Settings { agent_environment, ..Settings::default() };
        environment_for(&context, &settings)
            .iter()
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn what_is_not_utf_8_is_decoded_and_left_out_by_the_same_rules() {
        let environment_bytes = [
            ("TkFNRQ==", "/w=="),
            ("R/w=", "eA=="),
            ("QVdTX0tFWQ==", "/w=="),
            ("T0ZGU0hPT1RfWA==", "/w=="),
            ("?", "?"),
        ];
        let environment_bytes =
            environment_bytes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let context = CallerContext { environment_bytes, ..CallerContext::default() };
        let settings = Settings { agent_environment: vec!["AWS_*".to_owned()], ..Settings::default() };
        let environment = environment_for(&context, &settings);
        let variables: Vec<(&[u8], &[u8])> =
            environment.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        assert_eq!(variables, [(b"G\xfc".as_slice(), b"x".as_slice()), (b"NAME", b"\xff")]);
    }

    #[test]
    fn our_own_variables_never_reach_an_agent() {
        assert_eq!(names(&[]), ["AWS_SECRET", "HOME", "HTTPS_PROXY", "PATH"]);
    }

    #[test]
    fn patterns_leave_variables_out() {
        assert_eq!(names(&["AWS_*", "*_PROXY"]), ["HOME", "PATH"]);
        assert_eq!(names(&["H*E"]), ["AWS_SECRET", "HTTPS_PROXY", "PATH"]);
        assert_eq!(names(&["*T*P*"]), ["AWS_SECRET", "HOME", "PATH"]);
        assert_eq!(names(&["PATH", "AWS", ""]), ["AWS_SECRET", "HOME", "HTTPS_PROXY"]);
        assert!(names(&["*"]).is_empty());
    }
}
