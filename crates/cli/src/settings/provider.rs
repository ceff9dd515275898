//! A provider as a file has it:
//!
//! ```toml
//! [providers.gateway]
//! kind = "openai"                          # or: "anthropic"
//! base_url = "https://models.example.com/v1"
//! key_env = "GATEWAY_KEY"                  # or: key_command = ["pass", "show", "gateway"]
//! models = ["large", "small"]
//! headers = { "X-Team" = "docs" }
//! time_limit = "10m"
//! attempts = 3
//! ```

use std::collections::BTreeMap;

use offshoot_session::agent::{Provider, ProviderKind};
use serde_json::json;
use toml_edit::{Array, InlineTable, Item, TableLike, Value as Toml};

use super::value::{Kind, Value, Wrong, read_item, told_time};

/// By name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Providers(pub(crate) BTreeMap<String, Provider>);

/// With more attempts a person would wait for minutes.
const MOST_ATTEMPTS: u32 = 20;

const FIELDS: [&str; 8] =
    ["kind", "base_url", "key_env", "key_command", "models", "headers", "time_limit", "attempts"];

/// A table of tables, written in any way that TOML has for it.
pub(super) fn read_providers(item: &Item) -> Result<Providers, Wrong> {
    let not_it = || Wrong { what: "is a table of `[providers.NAME]` tables".to_owned(), at: None };
    let table = item.as_table_like().ok_or_else(not_it)?;
    let mut providers = BTreeMap::new();
    for (name, item) in table.iter() {
        let at = item.span().map(|span| span.start);
        // Models are written `PROVIDER/NAME`.
        let is_name = !name.is_empty() && !name.contains('/') && name.trim() == name;
        let table = item.as_table_like().filter(|_| is_name);
        let table = table.ok_or_else(|| Wrong { what: format!("has `{name}`, which is no provider"), at })?;
        providers.insert(name.to_owned(), read_provider(name, table, at)?);
    }
    Ok(Providers(providers))
}

fn read_provider(provider: &str, table: &dyn TableLike, start: Option<usize>) -> Result<Provider, Wrong> {
    let wrong = |what: String| Wrong { what, at: start };
    if let Some((odd, _)) = table.iter().find(|(name, _)| !FIELDS.contains(name)) {
        let fields = FIELDS.map(|field| format!("`{field}`")).join(", ");
        return Err(wrong(format!("has `{provider}` with `{odd}`; a provider has {fields}")));
    }
    let field = |name: &str, kind: Kind| match table.get(name) {
        None => Ok(None),
        Some(item) => read_item(kind, item).map(Some).map_err(|it| Wrong {
            what: format!("has `{provider}`, whose `{name}` {}", it.what),
            at: item.span().map(|span| span.start).or(start),
        }),
    };
    let text = |name, kind| match field(name, kind)? {
        Some(Value::Text(text)) => Ok(Some(text)),
        _ => Ok(None),
    };
    let list = |name| match field(name, Kind::List)? {
        Some(Value::List(texts)) => Ok(texts),
        _ => Ok(Vec::new()),
    };
    const KINDS: &[&str] = &["anthropic", "openai"];
    let kind = text("kind", Kind::OneOf(KINDS))?;
    let key_env = text("key_env", Kind::Text)?;
    let key_command = list("key_command")?;
    if key_env.is_some() && !key_command.is_empty() {
        return Err(wrong(format!("has `{provider}` with both `key_env` and `key_command`")));
    }
    let time_limit = match field("time_limit", Kind::Time)? {
        Some(Value::Time(limit)) => Some(limit),
        _ => None,
    };
    let attempts = match field("attempts", Kind::Number)? {
        Some(Value::Number(number)) if (1..=MOST_ATTEMPTS).contains(&number) => Some(number),
        Some(_) => {
            let what = format!("has `{provider}`, whose `attempts` are from 1 to {MOST_ATTEMPTS}");
            return Err(wrong(what));
        }
        None => None,
    };
    Ok(Provider {
        kind: kind.and_then(|word| ProviderKind::ALL.into_iter().find(|kind| kind.word() == word)),
        base_url: text("base_url", Kind::Text)?,
        key_env,
        key_command,
        models: list("models")?,
        headers: headers(provider, table, start)?,
        time_limit,
        attempts,
    })
}

fn headers(
    provider: &str,
    table: &dyn TableLike,
    start: Option<usize>,
) -> Result<Vec<(String, String)>, Wrong> {
    let Some(item) = table.get("headers") else { return Ok(Vec::new()) };
    let what = format!("has `{provider}`, whose `headers` are no table of texts");
    let wrong = || Wrong { what: what.clone(), at: item.span().map(|span| span.start).or(start) };
    let header = |(name, value): (&str, &Item)| {
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        let value = value.as_str().filter(|value| is_name && !value.contains(['\r', '\n', '\0']));
        value.map(|value| (name.to_owned(), value.to_owned())).ok_or_else(wrong)
    };
    item.as_table_like().ok_or_else(wrong)?.iter().map(header).collect()
}

impl Providers {
    pub(super) fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    pub(super) fn to_toml(&self) -> Toml {
        let tables = self.0.iter().map(|(name, provider)| (name.as_str(), provider_to_toml(provider)));
        Toml::InlineTable(tables.collect())
    }

    /// Headers by their names: their values may be keys.
    pub(super) fn to_json(&self) -> serde_json::Value {
        let provider = |provider: &Provider| {
            let headers: Vec<&str> = provider.headers.iter().map(|(name, _)| name.as_str()).collect();
            json!({
                "kind": provider.kind.map(ProviderKind::word),
                "base_url": provider.base_url,
                "key_env": provider.key_env,
                "key_command": provider.key_command,
                "models": provider.models,
                "headers": headers,
                "time_limit": provider.time_limit.map(told_time),
                "attempts": provider.attempts,
            })
        };
        self.0
            .iter()
            .map(|(name, one)| (name.clone(), provider(one)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

fn provider_to_toml(provider: &Provider) -> Toml {
    let mut table = InlineTable::new();
    let texts = |texts: &[String]| Toml::Array(texts.iter().map(String::as_str).collect::<Array>());
    let mut put = |name: &str, value: Option<Toml>| {
        if let Some(value) = value {
            table.insert(name, value);
        }
    };
    put("kind", provider.kind.map(|kind| kind.word().into()));
    put("base_url", provider.base_url.as_deref().map(Into::into));
    put("key_env", provider.key_env.as_deref().map(Into::into));
    put("key_command", (!provider.key_command.is_empty()).then(|| texts(&provider.key_command)));
    put("models", (!provider.models.is_empty()).then(|| texts(&provider.models)));
    let headers = provider.headers.iter().map(|(name, value)| (name.as_str(), Toml::from(value.as_str())));
    put("headers", (!provider.headers.is_empty()).then(|| Toml::InlineTable(headers.collect())));
    put("time_limit", provider.time_limit.map(|limit| told_time(limit).into()));
    put("attempts", provider.attempts.map(|attempts| i64::from(attempts).into()));
    table.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::value::read_text;

    #[test]
    fn a_provider_is_read_however_it_is_written() {
        let inline = r#"{ gate = { kind = "openai", base_url = "https://g/v1", key_env = "K", models = ["a"], headers = { X-Team = "docs" }, time_limit = "10m", attempts = 3 } }"#;
        let read = read_text(Kind::Providers, inline).expect("providers");
        let tables = "[providers.gate]\nkind = \"openai\"\nbase_url = \"https://g/v1\"\nkey_env = \"K\"\nmodels = [\"a\"]\ntime_limit = \"10m\"\nattempts = 3\n[providers.gate.headers]\nX-Team = \"docs\"\n";
        let document: toml_edit::DocumentMut = tables.parse().expect("TOML");
        let item = document.get("providers").expect("providers");
        assert_eq!(read_item(Kind::Providers, item).as_ref(), Ok(&read));
        let again = Item::Value(read.to_toml());
        assert_eq!(read_item(Kind::Providers, &again).as_ref(), Ok(&read));
        assert_eq!(read.told(), "gate");
        let json = read.to_json().to_string();
        assert!(json.contains("X-Team") && !json.contains("docs"), "{json}");
    }

    #[test]
    fn what_is_wrong_with_a_provider_is_named() {
        for (text, what) in [
            ("[1]", "is a table of `[providers.NAME]` tables"),
            ("{ gate = 1 }", "`gate`, which is no provider"),
            ("{ \"a/b\" = {} }", "`a/b`, which is no provider"),
            ("{ gate = { url = \"x\" } }", "`url`; a provider has"),
            ("{ gate = { kind = \"gemini\" } }", "whose `kind` is `anthropic` or `openai`"),
            ("{ gate = { attempts = 0 } }", "from 1 to 20"),
            ("{ gate = { headers = { a = 1 } } }", "whose `headers`"),
            ("{ gate = { headers = { \"a b\" = \"x\" } } }", "whose `headers`"),
            ("{ gate = { key_env = \"K\", key_command = [\"pass\"] } }", "both `key_env` and `key_command`"),
        ] {
            let wrong = read_text(Kind::Providers, text).expect_err(text).what;
            assert!(wrong.contains(what), "{wrong}");
        }
    }
}
