//! A file of pi or oh-my-pi for its gist, line by line.

use jiff::Timestamp;
use offshoot_session::skeleton::Kind;
use offshoot_session::{Body, RawLine};

use super::draft::{Draft, Header, ParentField, Version, What};
use super::skim::{LineEntry, entry_of_line, envelope};
use crate::gist::{Gist, Heard, Taken, Unusual};

pub(crate) fn take(mut file: Taken<'_>, line: &[u8]) -> Result<(), Unusual> {
    if let Some(fields) = envelope(line) {
        let at = Some(fields.at.timestamp().as_microsecond());
        if !matches!(fields.kind, Kind::Prompt | Kind::Reply) {
            // what tools answered is most of a file, and little of it is read
            match may_report_usage(line).then(|| entry_of_line(line)).flatten() {
                Some(LineEntry { body, .. }) => file.charged_entry(fields.id, fields.parent, at, &body),
                None => file.silent_entry(fields.id, fields.parent, at),
            }
            return Ok(());
        }
        let Some(LineEntry { body, .. }) = entry_of_line(line) else { return Ok(()) };
        file.entry(fields.id, fields.parent, at, &body);
        return Ok(());
    }
    let Some(draft) = Draft::of_source(&RawLine::new(line)) else { return Ok(()) };
    file.heard.is_oh_my_pi |= draft.is_oh_my_pi;
    let at = draft.written_at.map(Timestamp::as_microsecond);
    let parent = match &draft.parent {
        ParentField::Of(parent) => Some(parent.as_str()),
        ParentField::Root | ParentField::Absent => None,
    };
    match &draft.what {
        What::Header(header) if !file.heard.has_header => open(&mut file, header)?,
        What::Header(header) => file.moment(header.opened_at.map(Timestamp::as_microsecond)),
        What::Nameless => {}
        What::TitleSlot(fact) => {
            file.heard.has_title_slot = true;
            file.gist.tell(fact);
        }
        What::Entry(body) => match (&draft.id, at) {
            (Some(id), Some(_)) => file.entry(id.as_str(), parent, at, body),
            (None, _) if draft.unknown_type.is_some() => {}
            _ => return Err(Unusual),
        },
        What::Fact(_) | What::Silent | What::Leaf(_) => {
            if let Some(id) = &draft.id {
                file.pass(id.as_str(), parent, crate::gist::Step::On);
            }
            file.moment(at);
            if let What::Fact(fact) = &draft.what {
                file.tell(draft.id.as_ref(), fact, at);
            }
        }
    }
    Ok(())
}

/// Whether the line has the key somewhere. Inside a string its quotes would be escaped.
fn may_report_usage(line: &[u8]) -> bool {
    memchr::memmem::find(line, br#""usage":"#).is_some()
}

fn open(file: &mut Taken<'_>, header: &Header) -> Result<(), Unusual> {
    let (Some(id), Some(at)) = (&header.id, header.opened_at) else { return Err(Unusual) };
    match header.version {
        Version::Number(number) if number >= 2 => {}
        Version::Number(_) | Version::Unclear => return Err(Unusual),
    }
    file.heard.has_header = true;
    file.gist.id = Some(id.to_string());
    file.gist.project.clone_from(&header.project);
    file.gist.parent = header.lineage.as_ref().map(|lineage| lineage.parent.clone());
    file.gist.opened_at = Some(at.as_microsecond());
    file.moment(Some(at.as_microsecond()));
    if let Some(fact) = header.title.as_ref().filter(|_| !file.heard.has_title_slot) {
        file.gist.tell(fact);
    }
    Ok(())
}

pub(crate) fn finish(heard: &Heard, gist: &mut Gist) -> Result<(), Unusual> {
    if !heard.has_header {
        return Err(Unusual);
    }
    gist.agent = Some(super::read::agent_name(heard.is_oh_my_pi).to_owned());
    Ok(())
}

pub(crate) fn entries_of(line: &[u8]) -> Vec<(String, Body)> {
    let entry = entry_of_line(line.trim_ascii_end());
    entry.map(|entry| (entry.id.to_string(), entry.body)).into_iter().collect()
}
