//! `offshoot config`: what is set and by whom, and setting it.

use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::json::{printed, printed_object};
use crate::Answer;
use crate::args::{ConfigArgs, ConfigCommand, ConfigSetArgs, ConfigShowArgs, ConfigUnsetArgs, WhoseFile};
use crate::columns::{Cell, Column, Room, Side, drawn};
use crate::failure::{Exit, Failure};
use crate::here::Here;
use crate::look::{Ink, Sign};
use crate::refusals::cannot_answer;
use crate::settings;
use crate::settings::keys::{KEYS, Key, Whose};
use crate::settings::layers::{Layer, Place, Settings};
use crate::settings::reader::project_file_to_write;
use crate::settings::value::{Kind, Value, read_text};
use crate::text::harmless_line;
use crate::words::config as words;

const COLUMNS: [Column; 3] = [
    Column { title: "KEY", side: Side::Left, room: Room::Lead },
    Column { title: "VALUE", side: Side::Left, room: Room::Text(8) },
    Column { title: "ORIGIN", side: Side::Left, room: Room::Fixed },
];

pub(crate) fn run(args: &ConfigArgs, here: &Here) -> Result<Answer, Failure> {
    match &args.command {
        ConfigCommand::Show(args) => show(args, here),
        ConfigCommand::Set(args) => set(args, here),
        ConfigCommand::Unset(args) => unset(args, here),
        ConfigCommand::Path(args) => path(*args, here),
    }
}

fn show(args: &ConfigShowArgs, here: &Here) -> Result<Answer, Failure> {
    let settings = settings::load(here);
    if let Some(name) = &args.key {
        return show_one(settings::known(name)?, &settings, args, here);
    }
    let text = match args.json.json {
        Some(shape) => {
            let list: Vec<Json> = KEYS.into_iter().map(|key| as_json(key, &settings)).collect();
            printed(json!({ "settings": list }), "settings", shape)
        }
        None => table(&settings, args.origin, here),
    };
    let wrong: Vec<String> = KEYS.into_iter().filter_map(|key| settings.wrong(key)).collect();
    let ends = (!wrong.is_empty()).then_some(Exit::Usage);
    let mut notes = wrong;
    notes.dedup();
    notes.extend(settings::odd(&settings));
    Ok(Answer { text, notes, ends, ..Answer::default() })
}

/// For scripts: the value and nothing else.
fn show_one(
    key: &'static Key,
    settings: &Settings,
    args: &ConfigShowArgs,
    here: &Here,
) -> Result<Answer, Failure> {
    if args.json.json.is_some() {
        return Ok(Answer { text: printed_object(as_json(key, settings)), ..Answer::default() });
    }
    if let Some(wrong) = settings.wrong(key) {
        return Err(Failure::usage(wrong));
    }
    let given = settings.what_counts(key);
    let value = given.and_then(|given| given.value.as_ref().ok()).map(Value::told).unwrap_or_default();
    let origin = given.filter(|_| args.origin).map(|given| format!("\t{}", words::place(&given.origin)));
    let line = harmless_line(&value, here.look.ascii) + &origin.unwrap_or_default();
    let about = (here.look.for_a_person && !here.look.quiet).then(|| about(key, here));
    let notes =
        settings.ignored().filter(|ignored| ignored.key.name == key.name).map(words::ignored).collect();
    Ok(Answer { text: line + "\n" + &about.unwrap_or_default(), notes, ..Answer::default() })
}

/// Below the value, for a person.
fn about(key: &Key, here: &Here) -> String {
    let lines = [key.meaning.to_owned(), words::can_be(key)];
    lines.map(|line| here.look.paint(Ink::Faint, &line) + "\n").concat()
}

fn table(settings: &Settings, with_origin: bool, here: &Here) -> String {
    let look = &here.look;
    let unknown = || Cell::faint(look.sign(Sign::Unknown));
    let row = |key: &&Key| {
        let given = settings.what_counts(key);
        let is_default = given.is_none_or(|given| given.origin.layer == Layer::Default);
        let value = match given.map(|given| &given.value) {
            _ if settings.wrong(key).is_some() => Cell::new(Ink::Error, look.sign(Sign::Error)),
            Some(Ok(value)) if !value.told().is_empty() => {
                let ink = if is_default { Ink::Faint } else { Ink::Plain };
                Cell::new(ink, harmless_line(&value.told(), look.ascii))
            }
            _ => unknown(),
        };
        let origin = given.map(|given| Cell::faint(harmless_line(&words::place(&given.origin), look.ascii)));
        let mut row = vec![Cell::plain(key.name), value];
        row.extend(with_origin.then(|| origin.unwrap_or_else(unknown)));
        row
    };
    let rows: Vec<Vec<Cell>> = KEYS.iter().map(row).collect();
    let columns: Vec<Column> = COLUMNS.into_iter().take(if with_origin { 3 } else { 2 }).collect();
    drawn(&columns, &rows, look)
}

fn as_json(key: &'static Key, settings: &Settings) -> Json {
    let given = settings.what_counts(key);
    let (path, line, name) = match given.map(|given| &given.origin.place) {
        Some(Place::File { path, line }) => (Some(path.to_string_lossy().into_owned()), Some(*line), None),
        Some(Place::Name(name)) => (None, None, Some(name.clone())),
        Some(Place::Nowhere) | None => (None, None, None),
    };
    let default = key.default.and_then(|default| read_text(key.kind, default).ok());
    json!({
        "key": key.name,
        "value": given.and_then(|given| given.value.as_ref().ok()).map(Value::to_json),
        "origin": given.map(|given| given.origin.layer.word()),
        "path": path,
        "line": line,
        "name": name,
        "default": default.as_ref().map(Value::to_json),
        "variable": key.effective_variable(),
        "meaning": key.meaning,
        "error": settings.wrong(key),
    })
}

fn set(args: &ConfigSetArgs, here: &Here) -> Result<Answer, Failure> {
    let key = settings::known(&args.key)?;
    if args.whose.project && key.whose != Whose::Project {
        return Err(
            Failure::refused(words::not_for_projects(key.name)).hint(words::not_for_projects_hint(key.name))
        );
    }
    let value = read_text(key.kind, &args.value).map_err(|wrong| match key.kind {
        Kind::Agent => cannot_answer(&args.value, words::BUILT_IN_INSTEAD),
        _ => Failure::usage(words::bad_value(key.name, &wrong.what)),
    })?;
    let (layer, file) = file(args.whose, here)?;
    settings::set(layer, &file, key, &value)?;
    let notes = settings::overridden(here, key, layer).into_iter().collect();
    Ok(Answer {
        text: words::set(key.name, value.to_toml().to_string().trim(), &file),
        notes,
        ..Answer::default()
    })
}

/// A project may hold what it may not set; that can be taken out too.
fn unset(args: &ConfigUnsetArgs, here: &Here) -> Result<Answer, Failure> {
    let key = settings::known(&args.key)?;
    let (layer, file) = file(args.whose, here)?;
    let was_there = settings::unset(layer, &file, key)?;
    let text =
        if was_there { words::taken_out(key.name, &file) } else { words::was_not_set(key.name, &file) };
    Ok(Answer { text, ..Answer::default() })
}

fn path(whose: WhoseFile, here: &Here) -> Result<Answer, Failure> {
    let (_, file) = file(whose, here)?;
    Ok(Answer { text: format!("{}\n", file.display()), ..Answer::default() })
}

fn file(whose: WhoseFile, here: &Here) -> Result<(Layer, PathBuf), Failure> {
    if whose.project {
        return Ok((Layer::Project, project_file_to_write(&here.folder)));
    }
    Ok((Layer::User, settings::user_file(here)?.to_owned()))
}
