//! A hook as a file has it:
//!
//! ```toml
//! [[hooks]]
//! events = ["turn_ended"]
//! program = "/usr/local/bin/tell"     # or: url = "http://127.0.0.1:4100/told"
//! arguments = ["--short"]
//! time_limit = "2s"
//! ```

use std::path::PathBuf;
use std::time::Duration;

use offshoot_engine::{Hook, HookEvent, Run};
use serde_json::json;
use toml_edit::{Array, InlineTable, Item, TableLike, Value as Toml};

use super::value::{Kind, Value, Wrong, read_item, told_time};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HookSetting {
    pub(crate) name: String,
    events: Vec<HookEvent>,
    runs: Runs,
    time_limit: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq)]
enum Runs {
    Program { program: String, arguments: Vec<String> },
    Http { url: String },
}

impl HookSetting {
    pub(crate) fn into_hook(self, usual_limit: Duration) -> Hook {
        let run = match self.runs {
            Runs::Program { program, arguments } => {
                Run::Program { program: PathBuf::from(program), arguments }
            }
            Runs::Http { url } => Run::Http { url },
        };
        Hook { name: self.name, events: self.events, run, limit: self.time_limit.unwrap_or(usual_limit) }
    }

    pub(crate) fn hears_of(&self, event: HookEvent) -> bool {
        self.events.contains(&event)
    }

    fn event_words(&self) -> impl Iterator<Item = &'static str> {
        self.events.iter().map(|event| event.word())
    }

    pub(super) fn to_toml(&self) -> Toml {
        let mut table = InlineTable::new();
        table.insert("name", self.name.as_str().into());
        table.insert("events", Toml::Array(self.event_words().collect::<Array>()));
        match &self.runs {
            Runs::Program { program, arguments } => {
                table.insert("program", program.as_str().into());
                if !arguments.is_empty() {
                    let arguments = arguments.iter().map(String::as_str);
                    table.insert("arguments", Toml::Array(arguments.collect::<Array>()));
                }
            }
            Runs::Http { url } => drop(table.insert("url", url.as_str().into())),
        }
        if let Some(limit) = self.time_limit {
            table.insert("time_limit", told_time(limit).into());
        }
        table.into()
    }

    pub(super) fn to_json(&self) -> serde_json::Value {
        let (program, arguments, url) = match &self.runs {
            Runs::Program { program, arguments } => (Some(program), Some(arguments), None),
            Runs::Http { url } => (None, None, Some(url)),
        };
        json!({
            "name": self.name,
            "events": self.event_words().collect::<Vec<_>>(),
            "program": program,
            "arguments": arguments,
            "url": url,
            "time_limit": self.time_limit.map(told_time),
        })
    }
}

/// `[[hooks]]` tables, or a list of inline ones.
pub(super) fn read_hooks(item: &Item) -> Result<Vec<HookSetting>, Wrong> {
    match item {
        Item::ArrayOfTables(tables) => tables.iter().map(|table| read_hook(table, table.span())).collect(),
        Item::Value(Toml::Array(list)) => {
            let hook = |item: &Toml| match item.as_inline_table() {
                Some(table) => read_hook(table, item.span()),
                None => Err(Wrong { what: not_hooks(), at: item.span().map(|span| span.start) }),
            };
            list.iter().map(hook).collect()
        }
        Item::None | Item::Value(_) | Item::Table(_) => Err(Wrong { what: not_hooks(), at: None }),
    }
}

fn not_hooks() -> String {
    "is a list of `[[hooks]]` tables".to_owned()
}

fn read_hook(table: &dyn TableLike, span: Option<std::ops::Range<usize>>) -> Result<HookSetting, Wrong> {
    const FIELDS: [&str; 6] = ["name", "events", "program", "arguments", "url", "time_limit"];
    let start = span.map(|span| span.start);
    let wrong = |what: String| Wrong { what, at: start };
    if let Some((odd, _)) = table.iter().find(|(name, _)| !FIELDS.contains(name)) {
        return Err(wrong(format!(
            "has a hook with `{odd}`; a hook has {}",
            FIELDS.map(|it| format!("`{it}`")).join(", ")
        )));
    }
    let field = |name: &str, kind: Kind| match table.get(name) {
        None => Ok(None),
        Some(item) => read_item(kind, item).map(Some).map_err(|it| Wrong {
            what: format!("has a hook whose `{name}` {}", it.what),
            at: item.span().map(|span| span.start).or(start),
        }),
    };
    let text = |name| {
        let read = field(name, Kind::Text)?;
        Ok(read.and_then(|value| if let Value::Text(text) = value { Some(text) } else { None }))
    };
    let list = |name| {
        let read = field(name, Kind::List)?;
        Ok(read.and_then(|value| if let Value::List(texts) = value { Some(texts) } else { None }))
    };
    let time_limit = match field("time_limit", Kind::Time)? {
        Some(Value::Time(limit)) => Some(limit),
        _ => None,
    };
    let runs = match (text("program")?, text("url")?, list("arguments")?) {
        (Some(program), None, arguments) if is_found_everywhere(&program) => {
            Runs::Program { program, arguments: arguments.unwrap_or_default() }
        }
        (Some(program), None, _) => {
            return Err(wrong(format!(
                "has a hook whose `program` is neither a whole path nor a name: `{program}`"
            )));
        }
        (None, Some(url), None) if url.starts_with("http://") => Runs::Http { url },
        (None, Some(url), None) => {
            return Err(wrong(format!("has a hook whose `url` does not begin with `http://`: `{url}`")));
        }
        _ => {
            return Err(wrong("has a hook without one of `program` (with `arguments`) and `url`".to_owned()));
        }
    };
    let mut events = Vec::new();
    for word in list("events")?.unwrap_or_default() {
        let event = HookEvent::named(&word);
        events.push(event.ok_or_else(|| wrong(format!("has a hook for `{word}`, which never happens")))?);
    }
    if events.is_empty() {
        return Err(wrong("has a hook without `events`".to_owned()));
    }
    let name = text("name")?.unwrap_or_else(|| match &runs {
        Runs::Program { program, .. } => program.rsplit('/').next().unwrap_or_default().to_owned(),
        Runs::Http { url } => url.clone(),
    });
    Ok(HookSetting { name, events, runs, time_limit })
}

/// The engine may run in any folder.
fn is_found_everywhere(program: &str) -> bool {
    program.starts_with('/') || !program.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::value::read_text;

    #[test]
    fn a_hook_is_read_however_it_is_written() {
        let inline =
            r#"[{ events = ["turn_ended"], program = "/bin/tell", arguments = ["-q"], time_limit = "2s" }]"#;
        let read = read_text(Kind::Hooks, inline).expect("hooks");
        let tables = "[[hooks]]\nevents = [\"turn_ended\"]\nprogram = \"/bin/tell\"\narguments = [\"-q\"]\ntime_limit = \"2s\"\n";
        let document: toml_edit::DocumentMut = tables.parse().expect("TOML");
        assert_eq!(read_item(Kind::Hooks, document.get("hooks").expect("hooks")).as_ref(), Ok(&read));
        let again = Item::Value(read.to_toml());
        assert_eq!(read_item(Kind::Hooks, &again).as_ref(), Ok(&read));
        let Value::Hooks(hooks) = read else { panic!("no hooks") };
        let hook = hooks.into_iter().next().expect("one hook").into_hook(Duration::from_secs(9));
        assert_eq!((hook.name.as_str(), hook.limit), ("tell", Duration::from_secs(2)));
        assert_eq!(hook.events, [HookEvent::TurnEnded]);
    }

    /// R-174: pi's spelling of the event is accepted, and everything that prints the setting uses ours.
    #[test]
    fn a_hook_may_name_the_compacting_event_as_pi_does() {
        let read =
            |event: &str| read_text(Kind::Hooks, &format!("[{{ events = [\"{event}\"], program = \"x\" }}]"));
        let pi = read("session.compacting").expect("hooks");
        assert_eq!(Ok(&pi), read("session_compacting").as_ref());
        assert!(pi.to_toml().to_string().contains("session_compacting"));
    }

    #[test]
    fn what_is_wrong_with_a_hook_is_named() {
        for (text, what) in [
            ("[{ program = \"x\" }]", "without `events`"),
            ("[{ events = [\"turn_ended\"] }]", "`program`"),
            ("[{ events = [\"never\"], program = \"x\" }]", "`never`"),
            ("[{ events = [\"turn_ended\"], program = \"./x\" }]", "`./x`"),
            ("[{ events = [\"turn_ended\"], url = \"https://x\" }]", "`https://x`"),
            ("[{ events = [\"turn_ended\"], url = \"http://x\", program = \"x\" }]", "one of"),
            ("[{ events = [\"turn_ended\"], program = \"x\", time_limit = 3 }]", "`time_limit` is a time"),
            ("[{ events = [\"turn_ended\"], program = \"x\", retries = 3 }]", "`retries`"),
        ] {
            let wrong = read_text(Kind::Hooks, text).expect_err(text).what;
            assert!(wrong.contains(what), "{wrong}");
        }
    }
}
