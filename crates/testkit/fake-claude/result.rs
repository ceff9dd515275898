//! What turns cost, and the `result` line.

use serde_json::{Map, Value, json};

use super::transcript::Transcript;

#[derive(Clone, Copy, Default)]
pub(super) struct Tokens {
    pub(super) input: u64,
    pub(super) output: u64,
}

impl Tokens {
    fn add(&mut self, more: Self) {
        self.input += more.input;
        self.output += more.output;
    }

    fn cost(self) -> f64 {
        // Token counts of tests are far below 2^52.
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let (input, output) = (self.input as f64, self.output as f64);
        (input * 4.0 + output * 20.0) / 1e6
    }

    pub(super) fn usage(self) -> Value {
        json!({
            "input_tokens": self.input, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            "output_tokens": self.output, "service_tier": "standard",
        })
    }

    fn of_model(self) -> Value {
        json!({
            "inputTokens": self.input, "outputTokens": self.output, "cacheReadInputTokens": 0,
            "cacheCreationInputTokens": 0, "webSearchRequests": 0, "costUSD": self.cost(),
            "contextWindow": 200_000, "maxOutputTokens": 32_000,
        })
    }
}

/// Totals go on in a resumed session, as far as its file tells.
#[derive(Default)]
pub(super) struct Spent {
    totals: Vec<(String, Tokens)>,
    since_result: Vec<(String, Tokens)>,
    /// The main loop alone, in this turn.
    turn: Tokens,
    results: u32,
}

impl Spent {
    pub(super) fn saved(transcript: &Transcript) -> Self {
        let models = transcript.last_of("cost-state").and_then(|line| line["modelUsage"].as_object());
        let of_model = |(model, usage): (&String, &Value)| {
            let tokens = |field: &str| usage[field].as_u64().unwrap_or_default();
            (model.clone(), Tokens { input: tokens("inputTokens"), output: tokens("outputTokens") })
        };
        Self { totals: models.into_iter().flatten().map(of_model).collect(), ..Self::default() }
    }

    pub(super) fn forget(&mut self) {
        self.totals.clear();
    }

    pub(super) fn add(&mut self, model: &str, tokens: Tokens, is_main_loop: bool) {
        for list in [&mut self.totals, &mut self.since_result] {
            match list.iter_mut().find(|(own, _)| own == model) {
                Some((_, sum)) => sum.add(tokens),
                None => list.push((model.to_owned(), tokens)),
            }
        }
        if is_main_loop {
            self.turn.add(tokens);
        }
    }

    pub(super) fn line(&self, session: &str) -> Value {
        json!({"type": "cost-state", "sessionId": session, "totalCostUSD": self.cost(), "modelUsage": by_model(&self.totals)})
    }

    fn cost(&self) -> f64 {
        self.totals.iter().map(|(_, tokens)| tokens.cost()).sum()
    }

    /// The line lacks `session_id` and `uuid`. Its `type` is not the first key, as in the real program.
    pub(super) fn result(&mut self, end: &End<'_>, prompt: Option<&str>, is_old: bool) -> Value {
        let turn = std::mem::take(&mut self.turn);
        let mut line = json!({
            "duration_api_ms": 1, "stop_reason": end.stop_reason, "total_cost_usd": self.cost(), "usage": turn.usage(),
            "modelUsage": by_model(&self.totals), "permission_denials": [], "terminal_reason": end.reason,
            "is_error": end.is_error, "num_turns": 1, "subtype": end.subtype, "api_error_status": end.status,
            "type": "result", "duration_ms": 2, "ttft_ms": 1,
        });
        if end.subtype == "success" {
            line["result"] = json!(end.text);
        }
        let since = by_model(&std::mem::take(&mut self.since_result));
        if !is_old {
            line["model_usage_since_last_result"] = since;
            line["result_index"] = json!(self.results);
            line["queued_turn_count"] = json!(0);
            if let Some(prompt) = prompt {
                line["user_message_uuid"] = json!(prompt);
                line["user_message_uuids"] = json!([prompt]);
            }
        }
        self.results += 1;
        line
    }
}

fn by_model(list: &[(String, Tokens)]) -> Value {
    let of_model = |(model, tokens): &(String, Tokens)| (model.clone(), tokens.of_model());
    Value::Object(list.iter().map(of_model).collect::<Map<_, _>>())
}

/// How a turn ended.
pub(super) struct End<'t> {
    pub(super) subtype: &'static str,
    pub(super) reason: &'static str,
    pub(super) stop_reason: Option<&'static str>,
    pub(super) is_error: bool,
    pub(super) status: Option<u16>,
    pub(super) text: &'t str,
}

impl<'t> End<'t> {
    pub(super) fn completed(text: &'t str) -> Self {
        Self {
            subtype: "success",
            reason: "completed",
            stop_reason: Some("end_turn"),
            is_error: false,
            status: None,
            text,
        }
    }

    pub(super) fn aborted(in_tool: bool) -> Self {
        Self {
            subtype: "error_during_execution",
            reason: if in_tool { "aborted_tools" } else { "aborted_streaming" },
            stop_reason: None,
            is_error: true,
            status: None,
            text: "",
        }
    }

    pub(super) fn failed(status: u16, text: &'t str) -> Self {
        Self {
            subtype: "success",
            reason: "api_error",
            stop_reason: Some("stop_sequence"),
            is_error: true,
            status: Some(status),
            text,
        }
    }
}
