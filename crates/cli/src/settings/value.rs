//! What a setting can be: read from a file or from a text, and written again.

use std::path::Path;
use std::time::Duration;

use offshoot_engine::installed::{can_answer, known};
use offshoot_session::agent::canonical_name;
use toml_edit::{Array, Item, Value as Toml};

use super::hook::{HookSetting, read_hooks};
use super::provider::{Providers, read_providers};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    OnOff,
    Text,
    /// The name of an agent that can be asked.
    Agent,
    /// `PROVIDER/NAME`.
    Model,
    /// The path of an executable file.
    Program,
    OneOf(&'static [&'static str]),
    Number,
    Time,
    List,
    Hooks,
    Providers,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    OnOff(bool),
    Text(String),
    Number(u32),
    Time(Duration),
    List(Vec<String>),
    Hooks(Vec<HookSetting>),
    Providers(Providers),
}

/// A value that is none: what it should have been, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) what: String,
    /// In bytes, where it is told more exactly than by the setting itself.
    pub(crate) at: Option<usize>,
}

impl Wrong {
    fn not(kind: Kind, found: &str) -> Self {
        Self { what: format!("is {}, not `{found}`", kind.told()), at: None }
    }
}

impl Kind {
    pub(crate) fn told(self) -> String {
        match self {
            Self::OnOff => "`true` or `false`".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Agent => "the name of an agent that Offshoot can run".to_owned(),
            Self::Model => "a text such as `PROVIDER/NAME`".to_owned(),
            Self::Program => "the absolute path of a program".to_owned(),
            Self::OneOf(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                match words.split_last() {
                    Some((last, [])) => last.clone(),
                    Some((last, others)) => format!("{} or {last}", others.join(", ")),
                    None => String::new(),
                }
            }
            Self::Number => "a whole number".to_owned(),
            Self::Time => "a time such as `250ms`, `30s`, `10m` or `2h`".to_owned(),
            Self::List => "a list of texts".to_owned(),
            Self::Hooks => "a list of hooks".to_owned(),
            Self::Providers => "a table of providers".to_owned(),
        }
    }
}

pub(crate) fn read_item(kind: Kind, item: &Item) -> Result<Value, Wrong> {
    if kind == Kind::Hooks {
        return read_hooks(item).map(Value::Hooks);
    }
    if kind == Kind::Providers {
        return read_providers(item).map(Value::Providers);
    }
    let found = match item {
        Item::Value(value) => value,
        Item::None | Item::Table(_) | Item::ArrayOfTables(_) => return Err(Wrong::not(kind, "[table]")),
    };
    let not_it = || Wrong::not(kind, found.to_string().trim());
    match (kind, found) {
        (Kind::OnOff, Toml::Boolean(value)) => Ok(Value::OnOff(*value.value())),
        (Kind::Number, Toml::Integer(value)) => {
            u32::try_from(*value.value()).map(Value::Number).map_err(|_| not_it())
        }
        (Kind::List, Toml::Array(list)) => {
            let texts: Option<Vec<String>> =
                list.iter().map(|item| item.as_str().map(str::to_owned)).collect();
            texts.map(Value::List).ok_or_else(not_it)
        }
        (
            Kind::Text | Kind::Agent | Kind::Model | Kind::Program | Kind::OneOf(_) | Kind::Time,
            Toml::String(text),
        ) => read_text(kind, text.value()),
        (
            Kind::OnOff
            | Kind::Text
            | Kind::Agent
            | Kind::Model
            | Kind::Program
            | Kind::OneOf(_)
            | Kind::Number
            | Kind::Time
            | Kind::List
            | Kind::Hooks
            | Kind::Providers,
            _,
        ) => Err(not_it()),
    }
}

/// As variables, flags and `config set` give it: lists with commas, hooks as a file would have them behind the `=`.
pub(crate) fn read_text(kind: Kind, text: &str) -> Result<Value, Wrong> {
    let text = text.trim();
    let not_it = || Wrong::not(kind, text);
    let read = match kind {
        Kind::OnOff => match text {
            "true" | "on" => Some(Value::OnOff(true)),
            "false" | "off" => Some(Value::OnOff(false)),
            _ => None,
        },
        Kind::Text => (!text.is_empty()).then(|| Value::Text(text.to_owned())),
        Kind::Agent => {
            let name = canonical_name(text);
            can_answer(name).then(|| Value::Text(name.to_owned()))
        }
        Kind::Program => {
            let path = Path::new(text);
            (path.is_absolute() && known::is_executable(path)).then(|| Value::Text(text.to_owned()))
        }
        Kind::Model => {
            let name = text.rsplit('/').next().unwrap_or_default();
            (!name.trim().is_empty()).then(|| Value::Text(text.to_owned()))
        }
        Kind::OneOf(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
        Kind::Number => text.parse().ok().map(Value::Number),
        Kind::Time => time(text).map(Value::Time),
        Kind::List => {
            let texts = text.split(',').map(str::trim).filter(|text| !text.is_empty());
            Some(Value::List(texts.map(str::to_owned).collect()))
        }
        Kind::Hooks => {
            return read_hooks(&Item::Value(text.parse().map_err(|_| not_it())?)).map(Value::Hooks);
        }
        Kind::Providers => {
            let table = Item::Value(text.parse().map_err(|_| not_it())?);
            return read_providers(&table).map(Value::Providers);
        }
    };
    read.ok_or_else(not_it)
}

/// A whole number with its unit. Nobody waits for more than a year.
fn time(text: &str) -> Option<Duration> {
    const YEAR: Duration = Duration::from_secs(366 * 24 * 60 * 60);
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit_at);
    let milliseconds: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        "d" => 24 * 60 * 60 * 1000,
        _ => return None,
    };
    let time = Duration::from_millis(number.parse::<u64>().ok()?.checked_mul(milliseconds)?);
    (time <= YEAR).then_some(time)
}

impl Value {
    /// As a file has it.
    pub(crate) fn to_toml(&self) -> Toml {
        match self {
            Self::OnOff(on) => (*on).into(),
            Self::Text(text) => text.as_str().into(),
            Self::Number(number) => i64::from(*number).into(),
            Self::Time(time) => told_time(*time).into(),
            Self::List(texts) => Toml::Array(texts.iter().map(String::as_str).collect()),
            Self::Hooks(hooks) => Toml::Array(hooks.iter().map(HookSetting::to_toml).collect::<Array>()),
            Self::Providers(providers) => providers.to_toml(),
        }
    }

    /// In a word or two; of hooks and providers their names.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::OnOff(on) => on.to_string(),
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Time(time) => told_time(*time),
            Self::List(texts) => texts.join(","),
            Self::Hooks(hooks) => hooks.iter().map(|hook| hook.name.as_str()).collect::<Vec<_>>().join(","),
            Self::Providers(providers) => providers.names().join(","),
        }
    }

    pub(crate) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::OnOff(on) => (*on).into(),
            Self::Number(number) => (*number).into(),
            Self::Text(_) | Self::Time(_) => self.told().into(),
            Self::List(texts) => texts.clone().into(),
            Self::Hooks(hooks) => hooks.iter().map(HookSetting::to_json).collect(),
            Self::Providers(providers) => providers.to_json(),
        }
    }
}

/// In the largest unit that says it exactly.
pub(super) fn told_time(time: Duration) -> String {
    let milliseconds = time.as_millis();
    let units = [(24 * 60 * 60 * 1000, "d"), (60 * 60 * 1000, "h"), (60 * 1000, "m"), (1000, "s")];
    let fits = |(length, _): &&(u128, &str)| milliseconds >= *length && milliseconds.is_multiple_of(*length);
    match units.iter().find(fits) {
        Some((length, unit)) => format!("{}{unit}", milliseconds / length),
        None => format!("{milliseconds}ms"),
    }
}

/// A value as the program uses it.
pub(crate) trait FromValue: Sized {
    /// `None` where the value is of another kind, which a table of keys does not allow.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! from_value {
    ($($type:ty = $variant:ident),*) => {
        $(impl FromValue for $type {
            fn from_value(value: &Value) -> Option<Self> {
                if let Value::$variant(value) = value { Some(value.clone()) } else { None }
            }
        })*
    };
}

from_value!(bool = OnOff, String = Text, u32 = Number, Duration = Time, Vec<String> = List, Vec<HookSetting> = Hooks, Providers = Providers);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_its_kind_and_told_again() {
        for (kind, text, told) in [
            (Kind::OnOff, "on", "true"),
            (Kind::Number, " 20000 ", "20000"),
            (Kind::Time, "90s", "90s"),
            (Kind::Time, "120s", "2m"),
            (Kind::Time, "0s", "0ms"),
            (Kind::Time, "1500ms", "1500ms"),
            (Kind::List, "read, write,", "read,write"),
            (Kind::OneOf(&["a", "b"]), "b", "b"),
            (Kind::Model, "anthropic/sonnet", "anthropic/sonnet"),
            (Kind::Program, "/bin/sh", "/bin/sh"),
        ] {
            let value = read_text(kind, text).expect(text);
            assert_eq!(value.told(), told);
            let item = Item::Value(value.to_toml());
            assert_eq!(read_item(kind, &item), Ok(value), "{text} as a file has it");
        }
    }

    #[test]
    fn whatever_is_none_is_told_with_what_it_should_be() {
        let wrong = |kind, text: &str| read_text(kind, text).expect_err(text).what;
        assert_eq!(wrong(Kind::OnOff, "1"), "is `true` or `false`, not `1`");
        assert_eq!(wrong(Kind::OneOf(&["a", "b", "c"]), "x"), "is `a`, `b` or `c`, not `x`");
        for (kind, text) in [
            (Kind::Number, "-1"),
            (Kind::Number, "4294967296"),
            (Kind::Time, "10"),
            (Kind::Time, "s"),
            (Kind::Time, ""),
            (Kind::Time, "99999999999999999999d"),
            (Kind::Time, "9999999d"),
            (Kind::Time, "1½h"),
            (Kind::Text, " "),
            (Kind::Model, "anthropic/"),
            (Kind::Hooks, "nonsense"),
            (Kind::Hooks, "[1]"),
            (Kind::Program, "claude"),
            (Kind::Program, "/"),
            (Kind::Program, "/nowhere/claude"),
        ] {
            wrong(kind, text);
        }
        let item: Item = "1".parse::<Toml>().expect("TOML").into();
        assert_eq!(
            read_item(Kind::Time, &item).expect_err("a number").what,
            "is a time such as `250ms`, `30s`, `10m` or `2h`, not `1`"
        );
    }
}
