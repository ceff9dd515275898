//! `offshoot tree [SESSION]`: the tree, one row per turn; with a filter or a search, one row per entry.

mod entries;
mod turns;

use offshoot_session::SessionTree;
use offshoot_session::outline::{Filter, HeadPlace, Outline, OutlineOptions, TurnOutline};
use offshoot_session::skeleton::Kind;
use offshoot_session::versions::AllVersions;
use offshoot_store::LazySession;
use serde_json::{Value, json};

use super::heading;
use super::json::{add_version, entry, printed};
use crate::args::{FilterName, TreeArgs};
use crate::failure::Failure;
use crate::here::Here;
use crate::light::{self, light_session};
use crate::living::{Running, has_open_turn, looked_at};
use crate::long::{keep_shape, long_session};
use crate::look::{Ink, Look};
use crate::numbers::counted;
use crate::opened::Opened;
use crate::table::{self, Painted};
use crate::text::harmless_line;
use crate::which::{Which, which};
use crate::{Answer, words};

/// From this width on the right column stands below the counts of the title line.
const WIDE: usize = 100;

pub(crate) fn run(args: &TreeArgs, here: &Here) -> Result<Answer, Failure> {
    with_running(args, &Running::now(here), here)
}

/// For whoever knows already what runs.
pub(crate) fn with_running(args: &TreeArgs, running: &Running, here: &Here) -> Result<Answer, Failure> {
    let which = which(here, args.session.named())?;
    let by_entry = (args.filter.is_some() || args.search.is_some()).then(|| OutlineOptions {
        filter: args.filter.map_or(Filter::Default, FilterName::into),
        search: args.search.clone().unwrap_or_default(),
        ..OutlineOptions::default()
    });
    if by_entry.is_none()
        && args.json.json.is_none()
        && let Some(Opened { tree, notes }) = in_parts(here, &which)
    {
        return Ok(Answer { text: turns_drawn(&tree, running, &here.look), notes, ..Answer::default() });
    }
    let Opened { tree, notes } = looked_at(here, &which)?;
    if let Some(shape) = args.json.json {
        let text = printed(as_json(&tree, by_entry, running), "nodes", shape);
        return Ok(Answer { text, notes, ..Answer::default() });
    }
    let text = drawn(&tree, by_entry.as_ref(), running, &here.look);
    Ok(Answer { text, notes, ..Answer::default() })
}

/// A long session with what is told of its turns.
fn in_parts(here: &Here, which: &Which) -> Option<Opened> {
    if let Some(session) = long_session(here, which) {
        let is_whole = !has_open_turn(here, which, &session);
        let tree = is_whole.then(|| without_results(&session)).flatten();
        return tree.map(|tree| Opened { tree, notes: Vec::new() });
    }
    let session = light_session(here, which)?;
    light::opened(here, &session, light::told_in_rows(session.tree()))
}

/// A turn is drawn without what its tools gave back, which is most of a long session. Only one that begins a branch
/// has a row of its own. `None`: the whole reading is needed.
fn without_results(session: &LazySession) -> Option<SessionTree> {
    let skeleton = session.skeleton();
    let is_alone = |node: u32| {
        let parent = skeleton.parent(node);
        parent.is_some() && skeleton.children(parent).len() == 1
    };
    let has_row = |node: &u32| skeleton.kind(*node) != Some(Kind::ToolResult) || !is_alone(*node);
    let nodes: Vec<u32> = (0..skeleton.len() as u32).filter(has_row).collect();
    let tree = session.tail().is_none().then(|| session.tree_with(&nodes).ok()).flatten()?;
    keep_shape(session);
    Some(tree)
}

/// The tree, one row per turn.
pub(crate) fn turns_drawn(tree: &SessionTree, running: &Running, look: &Look) -> String {
    drawn(tree, None, running, look)
}

fn drawn(tree: &SessionTree, by_entry: Option<&OutlineOptions>, running: &Running, look: &Look) -> String {
    let turns = TurnOutline::of(tree);
    let counts = counts(&turns, look);
    let mut drawing = String::new();
    if !look.quiet {
        drawing.push_str(&table::spread(&heading(tree, &counts, look), &counts, look));
    }
    let rows = match by_entry {
        Some(options) => entries::rows(tree, options, running, look),
        None => turns::rows(tree, &turns, running, look),
    };
    let least_right = look.width.filter(|width| *width >= WIDE).map_or(0, |_| counts.columns);
    drawing.push_str(&table::drawn(&rows, look, least_right));
    if rows.is_empty() && !look.quiet {
        drawing.push_str(&nothing(tree, by_entry, look));
        drawing.push('\n');
    }
    drawing
}

fn nothing(tree: &SessionTree, by_entry: Option<&OutlineOptions>, look: &Look) -> String {
    match by_entry.map(|options| options.search.trim()) {
        Some(search) if !tree.is_empty() && !search.is_empty() => {
            words::nothing_matches(&harmless_line(search, look.ascii), look.ascii)
        }
        Some(_) if !tree.is_empty() => words::NOTHING_PASSES.to_owned(),
        Some(_) | None => words::NOTHING_SAID.to_owned(),
    }
}

/// `3 branches, 14 prompts, head #5`
fn counts(turns: &TurnOutline, look: &Look) -> Painted {
    let head = match turns.head {
        HeadPlace::Turn(number) => format!("head #{number}"),
        HeadPlace::BeforeFirstTurn | HeadPlace::Nowhere => "head before #1".to_owned(),
    };
    let branches = counted(turns.branches, "branch", "branches");
    let prompts = counted(turns.prompts, "prompt", "prompts");
    let mut counts = Painted::default();
    counts.push(look, Ink::Faint, &format!("{branches}, {prompts}, {head}"));
    counts
}

/// All nodes in the order they are drawn; with a filter or a search, those that pass.
fn as_json(tree: &SessionTree, options: Option<OutlineOptions>, running: &Running) -> Value {
    let passing = match options {
        Some(options) => Outline::of(tree, &options),
        None => Outline::every_entry(tree),
    };
    let versions = AllVersions::of(tree);
    let nodes: Vec<Value> = passing
        .rows
        .iter()
        .filter_map(|row| {
            let mut fields = entry(tree, tree.entry(&row.entry)?);
            fields.insert("active".to_owned(), json!(row.on_active_path));
            fields.insert("head".to_owned(), json!(row.is_head));
            add_version(&mut fields, tree, &versions, &row.entry);
            if let Some(status) = running.of_prompt(&row.entry) {
                fields.insert("status".to_owned(), json!(status));
            }
            Some(Value::Object(fields))
        })
        .collect();
    json!({
        "session": tree.header().map(|header| header.id.as_str()),
        "title": tree.title(),
        "head": tree.main_head().map(|head| head.as_str()),
        "nodes": nodes,
    })
}

#[cfg(test)]
mod tests {
    use offshoot_session::{Fact, Record, SessionTree, TitleSource};
    use offshoot_testkit::{FixedStamps, drawn as records_of};

    use super::drawn;
    use crate::living::Running;
    use crate::look::Look;

    /// Branch names come from no file that is read today, so the whole picture is drawn from records.
    fn tree() -> SessionTree {
        let mut records = records_of(
            r#"0c41aa"Burst credit is lost when the config reloads. Find out why." - a1 - 41d0c9"Write a failing test first." - a2
               a2 - 90aa51"Keep the old bucket alive across reloads" - c1 - t1 - u41 - c41 - u42 - c42 - u43 - u44 - d2c7f0"Hold the lock only while refilling"[works, ugly]
               a2 - b7720e"Store the credit as a deadline instead of a counter." - a3 - ec9e13"Run the whole suite under --release." - i1
               i1 - 5f1d02"Only the limiter crate."
               i1 - e7c41a"Only the limiter crate. Then add a benchmark against main." - a5*
               a2 - 77be40"Rewrite the limiter as GCRA" - a6 - 9b02fd"Show the maths for burst = 0, then fix it.""#,
        );
        let facts = [("b7720e", "deadline"), ("90aa51", "keep-bucket"), ("77be40", "gcra")]
            .map(|(at, name)| Fact::BranchName { at: at.into(), name: Some(name.into()) });
        let title =
            Fact::Title { title: Some("Burst credit lost after reload".into()), source: TitleSource::User };
        records
            .extend(facts.into_iter().chain([title]).map(|fact| Record::marked(FixedStamps::start(), fact)));
        SessionTree::replay(records).0
    }

    #[test]
    fn the_tree_is_drawn_as_in_the_manual() {
        insta::assert_snapshot!(
            "manual-104",
            drawn(&tree(), None, &Running::default(), &Look::plain(Some(104)))
        );
    }

    #[test]
    fn under_sixty_columns_a_row_takes_two_lines() {
        insta::assert_snapshot!(
            "manual-48",
            drawn(&tree(), None, &Running::default(), &Look::plain(Some(48)))
        );
    }

    #[test]
    fn a_pipe_gets_everything() {
        insta::assert_snapshot!("manual-pipe", drawn(&tree(), None, &Running::default(), &Look::plain(None)));
    }

    #[test]
    fn very_many_lanes_are_counted() {
        let mut drawing = "u0 - u1\n".to_owned();
        for n in 1..40 {
            drawing.push_str(&format!("u{} - u{}{}\n", n - 1, 100 + n, if n == 39 { "*" } else { "" }));
            drawing.push_str(&format!("u{n} - u{}\n", n + 1));
        }
        let (tree, _) = SessionTree::replay(records_of(&drawing));
        let picture = drawn(&tree, None, &Running::default(), &Look::plain(Some(80)));
        assert!(picture.lines().all(|line| crate::text::width(line) <= 80), "{picture}");
        insta::assert_snapshot!("many-lanes", picture);
    }
}
