//! Servers of models: what they are called, where they are, and with which key they are asked.

use std::collections::BTreeMap;
use std::fmt;
use std::process::Stdio;
use std::time::Duration;

use offshoot_session::Model;
use offshoot_session::agent::{Environment, Provider, ProviderKind};
use thiserror::Error;
use tokio::process::Command;
use tokio::time::timeout;

use super::secrets::Secrets;
use super::wire::Wire;
use crate::http::{Url, is_loopback};

/// How long a server may be silent. A local one may have to load the model first.
const TIME_LIMIT: Duration = Duration::from_secs(300);

const ATTEMPTS: u32 = 6;

/// A key command asks a key ring, and that may ask the person.
const KEY_COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// One that the program knows.
struct Known {
    name: &'static str,
    kind: ProviderKind,
    base_url: &'static str,
    /// The variable that gives another address.
    url_env: Option<&'static str>,
    key_env: Option<&'static str>,
}

const KNOWN: [Known; 3] = [
    Known {
        name: "anthropic",
        kind: ProviderKind::Anthropic,
        base_url: "https://api.anthropic.com",
        url_env: Some("ANTHROPIC_BASE_URL"),
        key_env: Some("ANTHROPIC_API_KEY"),
    },
    Known {
        name: "ollama",
        kind: ProviderKind::OpenAi,
        base_url: "http://127.0.0.1:11434/v1",
        url_env: None,
        key_env: None,
    },
    Known {
        name: "openai",
        kind: ProviderKind::OpenAi,
        base_url: "https://api.openai.com/v1",
        url_env: Some("OPENAI_BASE_URL"),
        key_env: Some("OPENAI_API_KEY"),
    },
];

/// A server that can be asked.
#[derive(Clone)]
pub(crate) struct Server {
    /// As models and messages call it.
    pub(crate) name: String,
    pub(crate) wire: Wire,
    base_url: Url,
    key: Key,
    pub(crate) models: Vec<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) time_limit: Duration,
    pub(crate) attempts: u32,
}

/// Where the key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Key {
    /// A server of this machine needs none, and a header may be one.
    None,
    Variable(String),
    Command(Vec<String>),
}

/// A key. It is printed nowhere.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum NoServer {
    #[error(
        "no model is chosen: choose one with `--model PROVIDER/NAME`; `offshoot agents` lists those of {0}"
    )]
    NoModel(String),
    #[error("there is no provider `{name}`; there are {known}")]
    Unknown { name: String, known: String },
    #[error("the provider `{0}` has no `kind`: set `providers.{0}.kind` to `anthropic` or `openai`")]
    NoKind(String),
    #[error("the provider `{0}` has no address: set `providers.{0}.base_url`")]
    NoAddress(String),
    #[error("`{url}` is not the address of the provider `{name}`: it should be like `https://host/v1`")]
    BadAddress { name: String, url: String },
    #[error(
        "the provider `{name}` at `{host}` is reached without encryption, which is only done on this machine: use `https`"
    )]
    NotEncrypted { name: String, host: String },
    #[error("there is no key for `{name}`: set the variable `{variable}`")]
    NoKey { name: String, variable: String },
    #[error("the key command of `{name}` {what}")]
    KeyCommand { name: String, what: String },
}

/// All providers by name: those that the program knows, and those of the settings.
pub(crate) fn names(set: &BTreeMap<String, Provider>) -> Vec<String> {
    let mut names: Vec<String> = KNOWN.iter().map(|known| known.name.to_owned()).collect();
    names.extend(set.keys().cloned());
    names.sort();
    names.dedup();
    names
}

/// The server of a model.
pub(crate) fn server_of(
    model: Option<&Model>,
    set: &BTreeMap<String, Provider>,
    environment: &Environment,
) -> Result<Server, NoServer> {
    let known = || names(set).join(", ");
    match model {
        None => Err(NoServer::NoModel(known())),
        Some(model) if model.provider.is_empty() => {
            Err(NoServer::Unknown { name: model.name.clone(), known: known() })
        }
        Some(model) => server(&model.provider, set, environment),
    }
}

/// The server of this name. What the settings say counts more than variables, and those more than what the program knows.
pub(crate) fn server(
    name: &str,
    set: &BTreeMap<String, Provider>,
    environment: &Environment,
) -> Result<Server, NoServer> {
    let known = KNOWN.iter().find(|known| known.name == name);
    let provider = match (set.get(name), known) {
        (Some(provider), _) => provider.clone(),
        (None, Some(_)) => Provider::default(),
        (None, None) => {
            return Err(NoServer::Unknown { name: name.to_owned(), known: names(set).join(", ") });
        }
    };
    let kind = provider.kind.or(known.map(|known| known.kind));
    let kind = kind.ok_or_else(|| NoServer::NoKind(name.to_owned()))?;
    let variable = |name: Option<&str>| {
        let value = environment.get(name?)?.to_str()?.trim();
        (!value.is_empty()).then(|| value.to_owned())
    };
    let url_env = known.and_then(|known| known.url_env);
    let base_url = provider.base_url.clone().or_else(|| variable(url_env));
    let base_url = base_url.or_else(|| known.map(|known| known.base_url.to_owned()));
    let base_url = base_url.ok_or_else(|| NoServer::NoAddress(name.to_owned()))?;
    let wire = match kind {
        ProviderKind::Anthropic => Wire::Anthropic,
        ProviderKind::OpenAi => Wire::OpenAi,
    };
    let base_url = address(name, &base_url, wire)?;
    let key_env = provider.key_env.clone().or_else(|| Some(known?.key_env?.to_owned()));
    let key = match key_env {
        _ if !provider.key_command.is_empty() => Key::Command(provider.key_command.clone()),
        Some(variable) => Key::Variable(variable),
        None => Key::None,
    };
    Ok(Server {
        name: name.to_owned(),
        wire,
        base_url,
        key,
        models: provider.models.clone(),
        headers: provider.headers.clone(),
        time_limit: provider.time_limit.unwrap_or(TIME_LIMIT),
        attempts: provider.attempts.unwrap_or(ATTEMPTS).max(1),
    })
}

/// Without a slash at the end. Without encryption only this machine is reached.
fn address(name: &str, url: &str, wire: Wire) -> Result<Url, NoServer> {
    // The path of this protocol has its version in it, and people write it here all the same.
    let text = url.trim().trim_end_matches('/');
    let text = if wire == Wire::Anthropic { text.trim_end_matches("/v1") } else { text };
    let bad = || NoServer::BadAddress { name: name.to_owned(), url: without_user(url) };
    let url: Url = text.parse().map_err(|_| bad())?;
    let host = url.host_str().ok_or_else(bad)?.to_owned();
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        "http" => Err(NoServer::NotEncrypted { name: name.to_owned(), host }),
        _ => Err(bad()),
    }
}

/// An address may have a name and a password in it, and a password may have an `@` in it.
fn without_user(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((_, host)) => format!("…@{host}"),
        None => url.to_owned(),
    }
}

/// All keys that are known without asking a program, whichever provider they are for.
pub(crate) fn secrets(set: &BTreeMap<String, Provider>, environment: &Environment) -> Secrets {
    let value = |name: &str| Some(environment.get(name)?.to_str()?.trim().to_owned());
    let keys = key_variables(set).into_iter().filter_map(|name| value(&name));
    let headers = set.values().flat_map(|provider| &provider.headers);
    let headers = headers.filter(|(name, _)| is_secret_header(name)).flat_map(|(_, value)| {
        // Behind `Bearer` or `Basic`.
        let last = value.split_whitespace().next_back().map(str::to_owned);
        [Some(value.clone()), last].into_iter().flatten()
    });
    let addresses = set.values().filter_map(|provider| provider.base_url.clone());
    let addresses = addresses.chain(KNOWN.iter().filter_map(|known| value(known.url_env?)));
    let passwords = addresses.filter_map(|url| Some(url.parse::<Url>().ok()?.password()?.to_owned()));
    keys.chain(headers).chain(passwords).collect()
}

fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "cookie", "key", "password", "secret", "token"].iter().any(|word| name.contains(word))
}

/// The variables that have keys of any provider: tools do not inherit them.
pub(crate) fn key_variables(set: &BTreeMap<String, Provider>) -> Vec<String> {
    let known = KNOWN.iter().filter_map(|known| known.key_env).map(str::to_owned);
    known.chain(set.values().filter_map(|provider| provider.key_env.clone())).collect()
}

impl Server {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url.as_str().trim_end_matches('/'))
    }

    /// The address as it is shown and kept: without a name and a password.
    pub(crate) fn shown_url(&self) -> String {
        let mut url = self.base_url.clone();
        // They fail for addresses that cannot have any.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.as_str().trim_end_matches('/').to_owned()
    }

    /// Host and port, for messages.
    pub(crate) fn host(&self) -> String {
        let host = self.base_url.host_str().unwrap_or_default();
        match self.base_url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// How the key is set, for messages.
    pub(crate) fn key_source(&self) -> String {
        match &self.key {
            Key::None => "no key".to_owned(),
            Key::Variable(variable) => format!("the key in `{variable}`"),
            Key::Command(_) => "the key that the key command printed".to_owned(),
        }
    }

    /// Reads the key, or runs the command that prints it. A server of this machine may be asked without one.
    pub(crate) async fn key(&self, environment: &Environment) -> Result<Option<Secret>, NoServer> {
        match &self.key {
            Key::None => Ok(None),
            Key::Variable(variable) => {
                let value = environment.get(variable).and_then(|value| value.to_str()).map(str::trim);
                match value.filter(|value| !value.is_empty()) {
                    Some(value) => Ok(Some(Secret(value.to_owned()))),
                    None if is_loopback(&self.base_url) || !self.headers.is_empty() => Ok(None),
                    None => Err(NoServer::NoKey { name: self.name.clone(), variable: variable.clone() }),
                }
            }
            Key::Command(command) => self.key_of(command, environment).await.map(Some),
        }
    }

    async fn key_of(&self, command: &[String], environment: &Environment) -> Result<Secret, NoServer> {
        let failed = |what: String| NoServer::KeyCommand { name: self.name.clone(), what };
        let (program, arguments) = command.split_first().ok_or_else(|| failed("is empty".to_owned()))?;
        let mut run = Command::new(program);
        run.args(arguments).env_clear().envs(environment.iter());
        run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let ran = timeout(KEY_COMMAND_LIMIT, run.output()).await;
        let ran = ran.map_err(|_| failed(format!("took longer than {} s", KEY_COMMAND_LIMIT.as_secs())))?;
        let ran = ran.map_err(|error| failed(format!("could not be run: {error}")))?;
        if !ran.status.success() {
            return Err(failed(format!("failed ({})", ran.status)));
        }
        let text = String::from_utf8_lossy(&ran.stdout);
        let key = text.lines().next().unwrap_or_default().trim();
        if key.is_empty() { Err(failed("printed no key".to_owned())) } else { Ok(Secret(key.to_owned())) }
    }
}

impl Secret {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("name", &self.name).field("wire", &self.wire).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    fn set(name: &str, provider: Provider) -> BTreeMap<String, Provider> {
        BTreeMap::from([(name.to_owned(), provider)])
    }

    fn at(url: &str) -> Provider {
        Provider { kind: Some(ProviderKind::OpenAi), base_url: Some(url.to_owned()), ..Provider::default() }
    }

    #[test]
    fn settings_count_more_than_variables_and_those_more_than_what_is_known() {
        let none = BTreeMap::new();
        let url = |name: &str, set: &BTreeMap<String, Provider>, environment: &Environment| {
            server(name, set, environment).map(|server| server.url(server.wire.answer_path()))
        };
        let no_variables = environment(&[]);
        assert_eq!(url("anthropic", &none, &no_variables).unwrap(), "https://api.anthropic.com/v1/messages");
        assert_eq!(
            url("ollama", &none, &no_variables).unwrap(),
            "http://127.0.0.1:11434/v1/chat/completions"
        );
        let variables = environment(&[("ANTHROPIC_BASE_URL", "https://proxy.example/v1/")]);
        assert_eq!(url("anthropic", &none, &variables).unwrap(), "https://proxy.example/v1/messages");
        let own = set("anthropic", Provider { kind: None, ..at("http://localhost:9") });
        assert_eq!(url("anthropic", &own, &variables).unwrap(), "http://localhost:9/v1/messages");
        assert_eq!(
            url("gate", &set("gate", at("https://g/v1")), &variables).unwrap(),
            "https://g/v1/chat/completions"
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let told = |name: &str, provider: Provider| {
            server(name, &set(name, provider), &environment(&[])).unwrap_err().to_string()
        };
        let none = BTreeMap::new();
        let unknown = server("nowhere", &none, &environment(&[])).unwrap_err().to_string();
        assert_eq!(unknown, "there is no provider `nowhere`; there are anthropic, ollama, openai");
        assert!(told("x", Provider::default()).contains("providers.x.kind"));
        assert!(
            told("x", Provider { kind: Some(ProviderKind::OpenAi), ..Provider::default() })
                .contains("base_url")
        );
        assert!(told("x", at("http://x.example/v1")).contains("without encryption"));
        let with_password = told("x", at("ftp://me:pass@word@x.example"));
        assert!(with_password.contains("address of the provider") && !with_password.contains("word"));
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        let server = server("x", &set("x", at("https://me:word@g.example/v1")), &environment(&[])).unwrap();
        assert_eq!(server.shown_url(), "https://g.example/v1");
        assert_eq!(server.url("/a"), "https://me:word@g.example/v1/a");
    }

    #[test]
    fn the_keys_of_all_providers_are_known() {
        let headers = [("Authorization", "Bearer gateway-key"), ("x-version", "2026-01-01")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let gate = Provider { headers, key_env: Some("GATE".into()), ..at("https://me:pass-word@g/v1") };
        let variables = [
            ("ANTHROPIC_API_KEY", "anthropic-key"),
            ("OPENAI_API_KEY", " openai-key\n"),
            ("GATE", "the-gate-key"),
        ];
        let secrets = secrets(&set("gate", gate), &environment(&variables));
        for key in ["anthropic-key", "openai-key", "the-gate-key", "gateway-key", "pass-word"] {
            assert_eq!(secrets.taken_out(key), "[secret]");
        }
        assert_eq!(secrets.taken_out("2026-01-01"), "2026-01-01");
    }

    #[tokio::test]
    async fn a_key_comes_from_a_variable_or_a_command_and_is_not_printed() {
        let variables = environment(&[("ANTHROPIC_API_KEY", "sk-from-variable"), ("PATH", "/usr/bin:/bin")]);
        let key = async |set: &BTreeMap<String, Provider>| {
            server("anthropic", set, &variables).unwrap().key(&variables).await
        };
        let of_variable = key(&BTreeMap::new()).await.unwrap().unwrap();
        assert_eq!(
            (of_variable.as_str(), format!("{of_variable:?}").as_str()),
            ("sk-from-variable", "Secret")
        );
        let command = |words: &[&str]| {
            let key_command = words.iter().map(|word| (*word).to_owned()).collect();
            set("anthropic", Provider { key_command, ..Provider::default() })
        };
        let of_command = key(&command(&["echo", "sk-from-command"])).await.unwrap().unwrap();
        assert_eq!(of_command.as_str(), "sk-from-command");
        let failed = key(&command(&["false"])).await.unwrap_err().to_string();
        assert!(failed.starts_with("the key command of `anthropic` failed"), "{failed}");
        let none = server("openai", &BTreeMap::new(), &variables).unwrap().key(&variables).await.unwrap_err();
        assert_eq!(none.to_string(), "there is no key for `openai`: set the variable `OPENAI_API_KEY`");
    }
}
