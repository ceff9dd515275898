//! The list of messages that Gemini sees, and the tree of all lists there ever were.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::message::{ended_calls, results_alone};
use crate::json::{Map, id_text, text, timestamp};

/// A message at its place in the tree.
#[derive(Debug)]
pub(super) struct Node {
    /// The id in the file, made longer where the same message stands elsewhere too.
    pub(super) id: String,
    pub(super) parent: Option<usize>,
    /// The newest of each field.
    pub(super) message: Map,
    pub(super) written_at: Option<Timestamp>,
    /// Calls of this message that messages behind it answer.
    pub(super) answered: HashSet<String>,
    /// Calls of this message that have an end in it.
    ended: HashSet<String>,
    /// The reply that results here belong to.
    reply: Option<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) nodes: Vec<Node>,
    by_place: HashMap<(Option<usize>, String), usize>,
    times_placed: HashMap<String, u64>,
    current: Vec<Item>,
    positions: HashMap<String, usize>,
}

#[derive(Debug)]
struct Item {
    id: String,
    /// The message itself, or the one before it where it only repeats results that are known.
    node: Option<usize>,
}

/// What a message did to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    New(usize),
    /// Its place is there; the message may say more now.
    Known,
}

impl Lists {
    pub(super) fn tip(&self) -> Option<usize> {
        self.current.last().and_then(|item| item.node)
    }

    /// Adds a message to the list, or renews it under its id.
    pub(super) fn put(&mut self, id: &str, message: &Map) -> Put {
        if let Some(item) = self.positions.get(id).and_then(|at| self.current.get(*at)) {
            if let Some(node) = item.node {
                self.renew(node, id, message);
            }
            return Put::Known;
        }
        let parent = self.tip();
        let known = self.by_place.get(&(self.said_before(parent), id.to_owned())).copied();
        let (node, put) = match known {
            Some(node) => {
                self.renew(node, id, message);
                (Some(node), Put::Known)
            }
            None if self.repeats_results(parent, message) => (parent, Put::Known),
            None => {
                let node = self.grow(parent, id, message);
                (Some(node), Put::New(node))
            }
        };
        self.positions.insert(id.to_owned(), self.current.len());
        self.current.push(Item { id: id.to_owned(), node });
        put
    }

    pub(super) fn clear(&mut self) {
        self.current.clear();
        self.positions.clear();
    }

    /// Cuts the list before a message; without that message nothing stays.
    pub(super) fn rewind_to(&mut self, id: &str) -> bool {
        let Some(&at) = self.positions.get(id) else {
            self.clear();
            return false;
        };
        for cut in self.current.drain(at..) {
            self.positions.remove(&cut.id);
        }
        true
    }

    /// Newer fields win; the time stays that of the first telling, because a resumed session tells all again.
    fn renew(&mut self, node: usize, id: &str, message: &Map) {
        let Some(node) = self.nodes.get_mut(node).filter(|node| is_message(&node.message, id)) else {
            return;
        };
        node.ended.extend(ended_calls(message));
        for (key, value) in message.iter().filter(|(key, _)| *key != "timestamp") {
            node.message.insert(key.clone(), value.clone());
        }
    }

    fn grow(&mut self, parent: Option<usize>, id: &str, message: &Map) -> usize {
        let times = self.times_placed.entry(id.to_owned()).or_default();
        *times += 1;
        let name = if *times == 1 { id.to_owned() } else { format!("{id}~{times}") };
        let above = parent.and_then(|parent| self.nodes.get(parent));
        let reply = match above {
            Some(above) if text(&above.message, "type") == Some("gemini") => parent,
            Some(above) => above.reply,
            None => None,
        };
        if let Some(results) = results_alone(message)
            && let Some(reply) = reply.and_then(|reply| self.nodes.get_mut(reply))
        {
            reply.answered.extend(results.into_iter().map(|result| result.call.to_string()));
        }
        self.nodes.push(Node {
            id: name,
            parent,
            message: message.clone(),
            written_at: message.get("timestamp").and_then(timestamp),
            answered: HashSet::new(),
            ended: ended_calls(message).collect(),
            reply,
        });
        let node = self.nodes.len() - 1;
        self.by_place.insert((self.said_before(parent), id.to_owned()), node);
        node
    }

    /// The last place up to here that is no remark of the program: a list that is told again may leave remarks out,
    /// and is the same conversation all the same.
    fn said_before(&self, place: Option<usize>) -> Option<usize> {
        let mut place = place;
        while let Some(node) = place.and_then(|place| self.nodes.get(place))
            && !matches!(text(&node.message, "type"), Some("user" | "gemini"))
        {
            place = node.parent;
        }
        place
    }

    fn repeats_results(&self, parent: Option<usize>, message: &Map) -> bool {
        let Some(results) = results_alone(message) else { return false };
        let above = parent.and_then(|parent| self.nodes.get(parent));
        let reply = above.and_then(|above| match text(&above.message, "type") {
            Some("gemini") => Some(above),
            Some(_) | None => above.reply.and_then(|reply| self.nodes.get(reply)),
        });
        let Some(reply) = reply else { return false };
        results.iter().all(|result| {
            reply.ended.contains(result.call.as_str()) || reply.answered.contains(result.call.as_str())
        })
    }
}

fn is_message(message: &Map, id: &str) -> bool {
    message.get("id").and_then(id_text).as_deref() == Some(id)
}
