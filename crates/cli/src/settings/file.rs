//! A settings file as text: what it says, line by line, and how it is changed without disturbing what else is in it.

use std::path::Path;

use toml_edit::{Document, DocumentMut, Item, Table, TableLike};

use super::keys::{KEYS, Key};
use super::layers::{Given, Layer, Origin, Says, Unknown};
use super::nearest::nearest;
use super::value::{Value, read_item};

/// Text that is no TOML: what the parser says, and in which line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoToml {
    pub(crate) line: usize,
    pub(crate) what: String,
}

pub(crate) fn read(text: &str, layer: Layer, path: &Path) -> Result<Says, NoToml> {
    let document = Document::parse(text).map_err(|error| no_toml(text, &error))?;
    let mut says = Says::default();
    let origin = |at: usize| Origin::in_file(layer, path, line_of(text, at));
    // Tables are looked into as deep as keys have dots, and no deeper.
    let mut open: Vec<(String, &dyn TableLike)> = vec![(String::new(), document.as_table())];
    while let Some((above, table)) = open.pop() {
        for (name, item) in table.iter() {
            let name = format!("{above}{name}");
            let at = table.key(name.rsplit('.').next().unwrap_or_default()).and_then(|key| key.span());
            let at = at.or_else(|| item.span()).map_or(0, |span| span.start);
            let inside = format!("{name}.");
            match (Key::named(&name), item.as_table_like()) {
                (Some(key), _) => {
                    let value = read_item(key.kind, item);
                    let at = value.as_ref().err().and_then(|wrong| wrong.at).unwrap_or(at);
                    let value = value.map_err(|wrong| wrong.what);
                    says.given.push(Given { key, origin: origin(at), value });
                }
                (None, Some(table)) if KEYS.iter().any(|key| key.name.starts_with(&inside)) => {
                    open.push((inside, table));
                }
                (None, _) => {
                    let meant = nearest(&name, KEYS.iter().map(|key| key.name)).map(str::to_owned);
                    says.unknown.push(Unknown { name, origin: origin(at), meant });
                }
            }
        }
    }
    Ok(says)
}

/// The text with this setting in it; comments and everything else stay.
pub(crate) fn with(text: &str, key: &Key, value: &Value) -> Result<String, NoToml> {
    let mut document = parsed(text)?;
    // Comments of a file that says nothing yet stand before what it says.
    if document.is_empty() && !text.is_empty() {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{end}{}", with("", key, value)?));
    }
    let (tables, name) = place_of(key);
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for above in tables {
        let item = table.entry(above).or_insert_with(implicit_table);
        let in_the_way = || NoToml { line: 1, what: format!("`{above}` is no table") };
        table = item.as_table_like_mut().ok_or_else(in_the_way)?;
    }
    let mut new = value.to_toml();
    match table.get_mut(name) {
        // What stands around the old value stands around the new one: a comment behind it, for one.
        Some(Item::Value(old)) => {
            new.decor_mut().clone_from(old.decor());
            *old = new;
        }
        Some(other) => *other = Item::Value(new),
        None => drop(table.insert(name, Item::Value(new))),
    }
    Ok(document.to_string())
}

/// The text without it. `None`: it was not there.
pub(crate) fn without(text: &str, key: &Key) -> Result<Option<String>, NoToml> {
    let mut document = parsed(text)?;
    let (tables, name) = place_of(key);
    let mut table: Option<&mut dyn TableLike> = Some(document.as_table_mut());
    for above in tables {
        table = table.and_then(|table| table.get_mut(above)).and_then(Item::as_table_like_mut);
    }
    let removed = table.and_then(|table| table.remove(name));
    Ok(removed.map(|_| document.to_string()))
}

fn parsed(text: &str) -> Result<DocumentMut, NoToml> {
    text.parse().map_err(|error| no_toml(text, &error))
}

/// The tables around it, the outer one first, and its name in the last of them.
fn place_of(key: &Key) -> (Vec<&'static str>, &'static str) {
    let mut parts: Vec<&str> = key.name.split('.').collect();
    let name = parts.pop().unwrap_or_default();
    (parts, name)
}

/// Its header is written only if it holds values of its own.
fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn no_toml(text: &str, error: &toml_edit::TomlError) -> NoToml {
    let at = error.span().map_or(0, |span| span.start);
    NoToml { line: line_of(text, at), what: error.message().replace('\n', ", ") }
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::settings::keys::{AGENT, COMPACTION_RESERVE_TOKENS, HOOKS, KEEP};
    use crate::settings::layers::Place;
    use crate::settings::value::read_text;

    fn told(text: &str) -> Vec<String> {
        let says = read(text, Layer::User, &PathBuf::from("f")).expect("TOML");
        let line = |origin: &Origin| if let Place::File { line, .. } = origin.place { line } else { 0 };
        let given = says.given.iter().map(|given| {
            let value = given.value.as_ref().map_or_else(|wrong| format!("WRONG {wrong}"), Value::told);
            (line(&given.origin), format!("{} {value}", given.key.name))
        });
        let unknown = says.unknown.iter().map(|unknown| {
            (line(&unknown.origin), format!("unknown {} {:?}", unknown.name, unknown.meant.as_deref()))
        });
        let mut told: Vec<(usize, String)> = given.chain(unknown).collect();
        told.sort();
        told.into_iter().map(|(line, text)| format!("{line}: {text}")).collect()
    }

    #[test]
    fn everything_is_read_with_its_line() {
        let text = "# mine\nagent = \"built_in\"\ncolour = \"never\"\nkeep = 1\nsummary.budget = 5\n\n[compaction]\nenabled = false\nhuh = 3\n\
                    [telemetry]\nkeep = true\n[[hooks]]\nevents = [\"turn_ended\"]\nprogram = \"a\"\n[[hooks]]\nevents = [\n  \"never\",\n]\nprogram = \"b\"\n";
        assert_eq!(
            told(text),
            [
                "2: agent built_in",
                "3: unknown colour Some(\"color\")",
                "4: keep WRONG is `true` or `false`, not `1`",
                "5: summary.budget 5",
                "8: compaction.enabled false",
                "9: unknown compaction.huh None",
                "10: unknown telemetry None",
                "15: hooks WRONG has a hook for `never`, which never happens",
            ]
        );
        assert_eq!(told("compaction = { enabled = true }"), ["1: compaction.enabled true"]);
        assert_eq!(told("compaction = 3"), ["1: unknown compaction None"]);
        assert_eq!(told("[keep]\nx = 1"), ["1: keep WRONG is `true` or `false`, not `[table]`"]);
        let broken = read("agent = \"a\"\nkeep = \n", Layer::User, Path::new("f")).expect_err("no TOML");
        assert_eq!(broken.line, 2);
    }

    #[test]
    fn one_setting_is_changed_and_the_others_stay() {
        let set = |text: &str, key: &Key, value: &str| {
            let value = read_text(key.kind, value).expect("a value");
            with(text, key, &value).expect("TOML")
        };
        assert_eq!(set("", &KEEP, "false"), "keep = false\n");
        let text = "# mine\nkeep = false # for now\nother = 1\n\n[table]\nkeep = 3\n";
        assert_eq!(set(text, &KEEP, "true"), text.replacen("false", "true", 1));
        assert_eq!(set("[table] # t\nkeep = 3\n", &KEEP, "true"), "keep = true\n[table] # t\nkeep = 3\n");
        let reserve = set("keep = true\n", &COMPACTION_RESERVE_TOKENS, "5");
        assert_eq!(reserve, "keep = true\n\n[compaction]\nreserve_tokens = 5\n");
        assert_eq!(
            without(&reserve, &COMPACTION_RESERVE_TOKENS).expect("TOML").as_deref(),
            Some("keep = true\n\n[compaction]\n")
        );
        assert_eq!(without(&reserve, &AGENT), Ok(None));
        let inline = set("compaction = { enabled = true }\n", &COMPACTION_RESERVE_TOKENS, "5");
        assert_eq!(told(&inline), ["1: compaction.enabled true", "1: compaction.reserve_tokens 5"]);
        let hooks = set("[[hooks]]\nprogram = \"x\"\n", &HOOKS, "[]");
        assert_eq!(told(&hooks), ["1: hooks "]);
        assert!(with("compaction = 1\n", &COMPACTION_RESERVE_TOKENS, &Value::Number(1)).is_err());
        assert!(with("[", &KEEP, &Value::OnOff(true)).is_err());
    }
}
