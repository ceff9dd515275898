//! Every message that was acknowledged has one prompt, one complete answer and one end, and the answer is the one that its
//! sender was told.

use std::collections::{BTreeMap, HashMap};

use offshoot_session::{Body, Change, Entry, Fact, SessionId, Stop, TurnId};

use crate::history::{Ran, Reply, What};
use crate::journal::Journal;
use crate::worker::COUNT;

/// What a journal says of a turn.
#[derive(Default)]
struct Turn<'j> {
    entries: Vec<&'j Entry>,
    ends: usize,
}

pub(crate) fn problems(journals: &BTreeMap<SessionId, Journal>, history: &[Ran]) -> Vec<String> {
    let turns: HashMap<&SessionId, HashMap<&TurnId, Turn<'_>>> =
        journals.iter().map(|(id, journal)| (id, turns_of(journal))).collect();
    let sent = history.iter().filter_map(|ran| Some((ran, ran.answer.reply.as_ref()?)));
    let wrong = sent.filter_map(|(ran, reply)| {
        let turn = turns.get(&ran.session).and_then(|turns| turns.get(&reply.turn));
        let why = turn.map_or(Some("the turn is not there"), |turn| wrong_with(turn, ran, reply))?;
        Some(format!("{why}: {}", ran.described()))
    });
    wrong.collect()
}

fn turns_of(journal: &Journal) -> HashMap<&TurnId, Turn<'_>> {
    let mut turns: HashMap<&TurnId, Turn<'_>> = HashMap::new();
    for record in journal.batches.iter().flat_map(|batch| &batch.records) {
        match &record.change {
            Change::Entry(entry) => {
                if let Some(turn) = &entry.turn {
                    turns.entry(turn).or_default().entries.push(entry);
                }
            }
            Change::Marked(mark) => {
                if let Fact::TurnEnded { turn } = &mark.fact {
                    turns.entry(turn).or_default().ends += 1;
                }
            }
            Change::Opened(_) | Change::HeadMoved(_) | Change::Unknown => {}
        }
    }
    turns
}

fn wrong_with(turn: &Turn<'_>, ran: &Ran, reply: &Reply) -> Option<&'static str> {
    let What::Send { text } = &ran.what else { return Some("only a message is answered") };
    let (prompts, rest): (Vec<&&Entry>, Vec<&&Entry>) =
        turn.entries.iter().partition(|entry| entry.body.is_prompt());
    let [prompt] = prompts.as_slice() else { return Some("the turn does not have one prompt") };
    let [answer] = rest.as_slice() else { return Some("the turn does not have one answer") };
    let Body::Reply(said) = &answer.body else { return Some("the prompt was not answered by a reply") };
    if prompt.id != reply.prompt || prompt.body.text() != *text {
        return Some("the turn has another prompt");
    }
    if answer.parent.as_ref() != Some(&prompt.id) || said.stop != Some(Stop::EndTurn) {
        return Some("the answer is not complete below its prompt");
    }
    if answer.body.text() != reply.text || !answers(text, &reply.text) {
        return Some("the sender was told another answer");
    }
    (turn.ends != 1).then_some("the turn does not have one end")
}

/// The built-in agent repeats what it is told, and counts where it is asked to.
fn answers(text: &str, reply: &str) -> bool {
    match text.strip_prefix(COUNT) {
        Some(number) => reply.ends_with(&format!(" {number}")),
        None => reply.contains(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::{journal_of, journals, ran};
    use crate::history::Answer;

    fn checked(drawing: &str) -> String {
        let mut journal = journal_of("main", drawing);
        for record in journal.batches.iter_mut().flat_map(|batch| &mut batch.records) {
            if let Change::Entry(entry) = &mut record.change
                && let Body::Reply(reply) = &mut std::sync::Arc::make_mut(entry).body
            {
                reply.stop = (reply.blocks.len() == 1).then_some(Stop::EndTurn);
            }
        }
        let reply = Reply { turn: "s1".into(), prompt: "u1".into(), text: "You-said-hi".into() };
        let answer = Answer { reply: Some(reply), ..Answer::default() };
        let sent = ran(What::Send { text: "hi".into() }, answer, 0..=9);
        let found = problems(&journals([journal]), &[sent]).join("; ");
        found.split(':').next().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_message_has_one_prompt_one_answer_and_one_end() {
        let sent = "s1 send u1 hi\n";
        let answered = "- reply a1 u1 You-said-hi\n";
        assert_eq!(checked(&format!("{sent}{answered}- ended u1")), "");
        assert_eq!(checked(&format!("{sent}{answered}")), "the turn does not have one end");
        assert_eq!(checked(&format!("{sent}- ended u1")), "the turn does not have one answer");
        let twice = format!("{sent}{answered}- reply a2 u1 You-said-hi\n- ended u1");
        assert_eq!(checked(&twice), "the turn does not have one answer");
        let other = format!("{sent}- reply a1 u1 You-said-ho\n- ended u1");
        assert_eq!(checked(&other), "the sender was told another answer");
        assert_eq!(checked("s2 send u1 hi"), "the turn is not there");
    }
}
