//! What a model gives a tool. Every error says which field is wrong and how.

use serde_json::{Map, Value};

#[derive(Clone, Debug)]
pub(super) struct Input(Map<String, Value>);

impl Input {
    pub(super) fn of(input: &Value) -> Result<Self, String> {
        match input {
            Value::Object(fields) => Ok(Self(fields.clone())),
            _ => Err("the input of a tool is a JSON object".to_owned()),
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<&str, String> {
        self.optional_text(name)?.ok_or_else(|| format!("the field `{name}` is missing"))
    }

    pub(super) fn optional_text(&self, name: &str) -> Result<Option<&str>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("the field `{name}` has to be a text")),
        }
    }

    /// A whole number from 1.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64().filter(|number| *number > 0) {
                Some(number) => Ok(Some(number)),
                None => Err(format!("the field `{name}` has to be a whole number from 1")),
            },
        }
    }

    pub(super) fn is_set(&self, name: &str) -> Result<bool, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(is_set)) => Ok(*is_set),
            Some(_) => Err(format!("the field `{name}` has to be true or false")),
        }
    }
}
