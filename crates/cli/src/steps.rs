//! What a step did, in a few words: `edit #3`, `label #3 [works]`.

use offshoot_api::views::{OperationView, PlaceView};

use crate::which::beginning_of;
use crate::words;

pub(crate) fn told_of_step(step: &OperationView) -> String {
    match step.entries {
        0 | 1 => format!("{}{}", step.kind, object(step)),
        more => format!("{}{}", step.kind, words::several_entries(more)),
    }
}

/// What stands behind the name of the step.
fn object(step: &OperationView) -> String {
    let place = place(step.place.as_ref());
    let named = step.text.as_deref().map(|text| if text.is_empty() { words::GONE } else { text });
    match (&step.other, &step.head, named) {
        (Some(child), ..) => format!(" {}", beginning_of(&child.id.as_str().into())),
        (None, Some(_), _) if step.moves_main_head() => words::to_place(&place),
        (None, Some(head), _) => format!(" {head}{}", words::to_place(&place)),
        (None, None, Some(title)) if step.kind == "rename" => words::to_place(title),
        (None, None, Some(label)) if step.kind == "label" && label != words::GONE => {
            format!(" {place} [{label}]")
        }
        (None, None, Some(name)) => format!(" {place} {name}"),
        (None, None, None) if step.place.is_some() || step.entries > 0 => format!(" {place}"),
        (None, None, None) => String::new(),
    }
}

fn place(at: Option<&PlaceView>) -> String {
    match at {
        Some(place) => format!("#{}", place.number),
        None => words::BEFORE_FIRST.to_owned(),
    }
}
