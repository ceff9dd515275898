//! Lines in any order, cut anywhere: nothing panics and the laws hold.

use proptest::prelude::*;

use super::super::laws::broken_laws;

const LINES: &[&str] = &[
    ">u1",
    ">u2",
    ">interrupt",
    ">answer",
    ">idle",
    ">silence",
    r#"{"type":"control_response","response":{"subtype":"success","request_id":"offshoot-1","response":{"account":{"tokenSource":"x"}}}}"#,
    r#"{"type":"system","subtype":"session_state_changed","state":"running","session_id":"s"}"#,
    r#"{"type":"system","subtype":"session_state_changed","state":"idle","session_id":"s"}"#,
    r#"{"type":"system","subtype":"session_state_changed","state":"idle","session_id":"other"}"#,
    r#"{"type":"user","uuid":"u1","isReplay":true,"message":{"role":"user","content":"go"}}"#,
    r#"{"type":"user","uuid":"u2","isReplay":true,"message":{"role":"user","content":"go"}}"#,
    r#"{"type":"system","subtype":"status","status":"requesting"}"#,
    r#"{"type":"system","subtype":"status","status":"compacting"}"#,
    r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}}}"#,
    r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m2"}}}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_start","index":0}}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}}"#,
    r#"{"type":"stream_event","parent_tool_use_id":"c1","event":{"type":"message_start","message":{"id":"m3"}}}"#,
    r#"{"type":"stream_event","parent_tool_use_id":"c1","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}}"#,
    r#"{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}}"#,
    r#"{"type":"stream_event","event":{"type":"message_stop"}}"#,
    r#"{"type":"assistant","uuid":"a1","message":{"id":"m1","content":[{"type":"text","text":"hi"}]}}"#,
    r#"{"type":"assistant","uuid":"a2","message":{"id":"m4","stop_reason":"end_turn","content":[{"type":"text","text":"hi"}]}}"#,
    r#"{"type":"assistant","uuid":"a3","message":{"id":"m1","content":[{"type":"tool_use","id":"c1","name":"Agent","input":{}}]}}"#,
    r#"{"type":"user","uuid":"r1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}}"#,
    r#"{"type":"control_request","request_id":"k1","request":{"subtype":"can_use_tool","tool_name":"Agent","input":{},"tool_use_id":"c1"}}"#,
    r#"{"type":"control_cancel_request","request_id":"k1"}"#,
    r#"{"type":"control_response","response":{"subtype":"success","request_id":"k1"}}"#,
    r#"{"type":"control_response","response":{"subtype":"success","request_id":"offshoot-2","response":{"cancelled":["u1"]}}}"#,
    r#"{"type":"system","subtype":"task_started","task_id":"t","tool_use_id":"c1","task_type":"local_agent"}"#,
    r#"{"type":"system","subtype":"task_notification","task_id":"t","status":"completed"}"#,
    r#"{"type":"system","subtype":"api_retry","attempt":1,"error":"authentication_failed","error_status":401}"#,
    r#"{"type":"system","subtype":"compact_boundary"}"#,
    r#"{"type":"user","uuid":"y1","isSynthetic":true,"message":{"role":"user","content":"summary"}}"#,
    r#"{"type":"result","subtype":"success","is_error":false,"model_usage_since_last_result":{"m":{"inputTokens":1}}}"#,
    r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"busy"}"#,
    r#"{"type":"conversation_reset"}"#,
    "garbage",
    "[]",
    "{}",
];

/// Most scripts begin as a process does, so that turns are reached.
fn scripts() -> impl Strategy<Value = Vec<usize>> {
    let any = proptest::collection::vec(0..LINES.len(), 0..60);
    prop_oneof![
        1 => any.clone(),
        4 => any.prop_map(|rest| [6, 0, 7, 10].into_iter().chain(rest).collect()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_lines_keeps_the_laws(script in scripts(), cut in 0..400_usize) {
        let mut text = script.iter().map(|line| LINES[*line]).collect::<Vec<_>>().join("\n");
        let end = text.len().saturating_sub(cut);
        text.truncate(end);
        prop_assert_eq!(broken_laws(text.as_bytes()), Vec::<String>::new(), "{}", text);
    }
}

#[test]
fn the_laws_can_be_broken() {
    // Checks the checker: an act list that no machine may give.
    use super::super::Act;
    use super::super::laws::Laws;
    let mut laws = Laws::default();
    laws.watch(&[Act::End, Act::Write(b"{}\n".to_vec()), Act::End]);
    assert_eq!(laws.broken.len(), 2);
}
