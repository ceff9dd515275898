//! Small files as each program writes them, by hand.

pub const CLAUDE: &[&str] = &[concat!(
    r#"{"type":"permission-mode","permissionMode":"plan","sessionId":"s"}"#,
    "\n",
    r#"{"parentUuid":null,"isSidechain":false,"sessionId":"s","cwd":"/w","type":"user","message":{"role":"user","content":"hello"},"uuid":"u1","timestamp":"2026-01-01T00:00:00.000Z"}"#,
    "\n",
    r#"{"parentUuid":"u1","isSidechain":false,"sessionId":"s","type":"assistant","message":{"id":"msg_1","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm"}],"usage":{"input_tokens":1,"output_tokens":2}},"uuid":"a1","timestamp":"2026-01-01T00:00:01.000Z"}"#,
    "\n",
    r#"{"parentUuid":"a1","isSidechain":false,"sessionId":"s","type":"assistant","message":{"id":"msg_1","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Task","input":{"prompt":"do it","subagent_type":"x"}}],"usage":{"input_tokens":1,"output_tokens":2}},"uuid":"a2","timestamp":"2026-01-01T00:00:02.000Z"}"#,
    "\n",
    r#"{"parentUuid":"a2","type":"progress","data":{},"uuid":"p1","timestamp":"2026-01-01T00:00:02.500Z"}"#,
    "\n",
    r#"{"parentUuid":null,"isSidechain":true,"agentId":"ag","sessionId":"s","type":"user","message":{"role":"user","content":"do it"},"uuid":"s1","timestamp":"2026-01-01T00:00:03.000Z"}"#,
    "\n",
    r#"{"parentUuid":"p1","isSidechain":false,"sessionId":"s","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"done","is_error":false},{"type":"text","text":"and"}]},"toolUseResult":{"agentId":"ag"},"uuid":"t1","timestamp":"2026-01-01T00:00:04.000Z"}"#,
    "\n",
    r#"{"parentUuid":null,"logicalParentUuid":"t1","type":"system","subtype":"compact_boundary","compactMetadata":{"preTokens":9,"preservedSegment":{"headUuid":"u1"}},"uuid":"b1","timestamp":"2026-01-01T00:00:05.000Z"}"#,
    "\n",
    r#"{"parentUuid":"b1","type":"user","isCompactSummary":true,"message":{"role":"user","content":"in short"},"uuid":"c1","timestamp":"2026-01-01T00:00:06.000Z"}"#,
    "\n",
    r#"{"parentUuid":"c1","type":"user","message":{"role":"user","content":"<bash-input>ls</bash-input>"},"uuid":"h1","timestamp":"2026-01-01T00:00:07.000Z"}"#,
    "\n",
    r#"{"parentUuid":"h1","type":"user","message":{"role":"user","content":"<bash-stdout>a</bash-stdout>"},"uuid":"h2","timestamp":"2026-01-01T00:00:08.000Z"}"#,
    "\n",
    r#"{"parentUuid":"u1","type":"attachment","attachment":{"type":"queued_command","prompt":"wait"},"uuid":"q1","timestamp":"2026-01-01T00:00:09.000Z"}"#,
    "\n",
    r#"{"parentUuid":"h2","type":"user","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]},"forkedFrom":{"sessionId":"o","messageUuid":"x"},"uuid":"u2","timestamp":"2026-01-01T00:00:10.000Z"}"#,
    "\n",
    r#"{"type":"custom-title","customTitle":"T","sessionId":"s"}"#,
    "\n",
    r#"{"type":"summary","summary":"old","leafUuid":"u1"}"#,
    "\n",
    r#"{"type":"last-prompt","leafUuid":"u2","sessionId":"s"}"#,
    "\n",
    r#"{"type":"cost-state","totalCostUSD":0.5,"sessionId":"s"}"#,
    "\n",
    r#"{"type":"queue-operation","operation":"enqueue","content":"x","sessionId":"s"}"#,
    "\n",
    r#"{"type":"file-history-snapshot","messageId":"u1","snapshot":{}}"#,
    "\n",
    r#"{"type":"novelty","uuid":"n1","parentUuid":"u1","sessionId":"s"}"#,
    "\n",
)];

pub const CODEX: &[&str] = &[concat!(
    r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"t","cwd":"/w","history_base":{"thread_id":"b","end_ordinal_exclusive":3}}}"#,
    "\n",
    r#"{"id":"t","timestamp":"2025-01-01T00:00:00Z","instructions":null}"#,
    "\n",
    r#"{"record_type":"state"}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:01Z","ordinal":3,"type":"turn_context","payload":{"turn_id":"1","model":"m","approval_policy":"never","effort":"low"}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:02Z","type":"event_msg","payload":{"type":"task_started","turn_id":"1"}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:03Z","ordinal":4,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x</environment_context>"}]}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:04Z","type":"response_item","payload":{"type":"message","role":"user","content":"hello"}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:05Z","type":"event_msg","payload":{"type":"user_message","message":"hello"}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:06Z","type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:07Z","type":"response_item","payload":{"type":"function_call","name":"f","arguments":"{\"a\":1}","call_id":"c"}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:08Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"Exit code: 1\nOutput:\nx"}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:09Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:10Z","type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":9}}}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:11Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:12Z","type":"compacted","payload":{"message":"short","replacement_history":[]}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:13Z","type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:14Z","type":"event_msg","payload":{"type":"thread_name_updated","thread_name":"N"}}"#,
    "\n",
)];

pub const GEMINI: &[&str] = &[
    concat!(
        r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z","lastUpdated":"2026-01-01T00:00:00Z","kind":"main"}"#,
        "\n",
        r#"{"id":"u1","timestamp":"2026-01-01T00:00:01Z","type":"user","content":"hello"}"#,
        "\n",
        r#"{"id":"a1","timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"hi","tokens":{"input":1,"output":2},"model":"m"}"#,
        "\n",
        r#"{"id":"a1","timestamp":"2026-01-01T00:00:03Z","type":"gemini","content":"","toolCalls":[{"id":"c","name":"f","args":{},"status":"success","result":[{"functionResponse":{"id":"c","response":{"output":"x"}}}]}]}"#,
        "\n",
        r#"{"$rewindTo":"a1"}"#,
        "\n",
        r#"{"$set":{"summary":"title","messages":[{"id":"u1","type":"user","content":"x"}]}}"#,
        "\n",
    ),
    r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z","messages":[{"id":"u1","timestamp":"2026-01-01T00:00:01Z","type":"user","content":[{"text":"hello"}]},{"id":"a1","type":"gemini","content":"hi","thoughts":[{"subject":"s","description":"d"}]}]}"#,
];

pub const JOURNAL: &[&str] = &[concat!(
    r#"{"k":"opened","v":1,"id":"s","t":"2026-01-01T00:00:00Z","sum":"00000000"}"#,
    "\n",
    r#"{"k":"entry","id":"u1","p":null,"t":"2026-01-01T00:00:01Z","body":{"prompt":{"blocks":[{"text":"hello"}]}},"sum":"00000000"}"#,
    "\n",
    r#"{"k":"head","head":"main","to":"u1","t":"2026-01-01T00:00:02Z","sum":"00000000"}"#,
    "\n",
)];

/// Texts that are long enough to be left out of the shape of a file.
pub const LONG: &[&str] = &[concat!(
    r#"{"parentUuid":null,"type":"user","message":{"role":"user","content":"long xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx \n"},"uuid":"u1","timestamp":"2026-01-01T00:00:00Z"}"#,
    "\n",
    r#"{"parentUuid":"u1","type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"c","name":"Task","input":{"prompt":"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\ud83d\ude00yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"}}]},"uuid":"a1","timestamp":"2026-01-01T00:00:01Z"}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:08Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\nzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz \t"}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:09Z","type":"response_item","payload":{"type":"function_call_output","call_id":"iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii","output":"x"}}"#,
    "\n",
)];

pub const PI: &[&str] = &[concat!(
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#,
    "\n",
    r#"{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"hello"}}"#,
    "\n",
    r#"{"type":"message","id":"a1","parentId":"u1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{}}],"provider":"p","model":"m","stopReason":"toolUse","usage":{"input":1,"output":2,"cost":{"total":0.1}}}}"#,
    "\n",
    r#"{"type":"message","id":"t1","parentId":"a1","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{"type":"text","text":"x"}],"isError":false}}"#,
    "\n",
    r#"{"type":"label","id":"l1","parentId":"t1","timestamp":"2026-01-01T00:00:04.000Z","targetId":"u1","label":"L"}"#,
    "\n",
    r#"{"type":"model_change","id":"m1","parentId":"l1","timestamp":"2026-01-01T00:00:05.000Z","provider":"p","modelId":"n"}"#,
    "\n",
    r#"{"type":"compaction","id":"k1","parentId":"m1","timestamp":"2026-01-01T00:00:06.000Z","summary":"short","firstKeptEntryId":"u1","tokensBefore":9}"#,
    "\n",
    r#"{"type":"branch_summary","id":"b1","parentId":"u1","timestamp":"2026-01-01T00:00:07.000Z","fromId":"k1","summary":"left"}"#,
    "\n",
    r#"{"type":"message","id":"u2","parentId":"b1","timestamp":"2026-01-01T00:00:08.000Z","message":{"role":"user","content":[{"type":"text","text":"again"}]}}"#,
    "\n",
    r#"{"type":"session_info","id":"i1","parentId":"u2","timestamp":"2026-01-01T00:00:09.000Z","name":"N"}"#,
    "\n",
    r#"{"type":"custom","id":"x1","parentId":"u2","timestamp":"2026-01-01T00:00:10.000Z","customType":"e","data":{}}"#,
    "\n",
)];

pub const OH_MY_PI: &[&str] = &[concat!(
    r#"{"type":"title","title":"T","source":"auto"}"#,
    "\n",
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w","title":"T"}"#,
    "\n",
    r#"{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"hello","synthetic":true}}"#,
    "\n",
    r#"{"type":"mode_change","id":"m1","parentId":"u1","timestamp":"2026-01-01T00:00:02.000Z","mode":"plan"}"#,
    "\n",
    r#"{"type":"leaf","id":"f1","parentId":"m1","timestamp":"2026-01-01T00:00:03.000Z","targetId":"u1"}"#,
    "\n",
)];

pub const ROLLOUTS: &[&str] = &[concat!(
    r#"{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00Z","provider":"p","model":"m","parent_id":null}"#,
    "\n",
    r#"{"type":"message","role":"user","content":"hello","timestamp":"2026-01-01T00:00:01Z"}"#,
    "\n",
    r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"timestamp":"2026-01-01T00:00:02Z"}"#,
    "\n",
    r#"{"type":"config_change","key":"model","value":"n","timestamp":"2026-01-01T00:00:03Z"}"#,
    "\n",
    r#"{"type":"session","id":"r","parent_id":"s","branch_point":1,"branch_reason":"edit"}"#,
    "\n",
)];

pub const OPENCODE: &[&str] = &[
    r#"{"id":"s","projectID":"p","directory":"/w","title":"T","time":{"created":1},"revert":{"messageID":"m"}}"#,
    r#"{"info":{"id":"s","projectID":"p","directory":"/w","time":{"created":1}},"messages":[{"info":{"id":"m","role":"user","time":{"created":1}},"parts":[{"id":"q","type":"text","text":"hello"}]},{"info":{"id":"n","role":"assistant","parentID":"m","time":{"created":2}},"parts":[{"id":"r","type":"tool","callID":"c","tool":"f","state":{"status":"completed","output":"x"}}]}]}"#,
    r#"{"id":"m","sessionID":"s","role":"user","time":{"created":1}}"#,
    r#"{"id":"q","messageID":"m","sessionID":"s","type":"text","text":"hello"}"#,
];

pub const OPENCODE_ROWS: &[&str] = &[concat!(
    r#"{"table":"session","id":"s","project_id":"p","directory":"/w","title":"T","revert":"{\"messageID\":\"m\"}","time_created":1}"#,
    "\n",
    r#"{"table":"message","id":"m","session_id":"s","time_created":1,"data":"{\"role\":\"user\"}"}"#,
    "\n",
    r#"{"table":"message","id":"n","session_id":"s","time_created":2,"data":"{\"role\":\"assistant\",\"parentID\":\"m\",\"modelID\":\"x\"}"}"#,
    "\n",
    r#"{"table":"part","id":"q","message_id":"m","session_id":"s","data":"{\"type\":\"text\",\"text\":\"hello\"}"}"#,
    "\n",
    r#"{"table":"part","id":"r","message_id":"n","session_id":"s","data":"{\"type\":\"tool\",\"tool\":\"f\",\"callID\":\"c\",\"state\":{\"status\":\"error\",\"error\":\"e\"}}"}"#,
    "\n",
)];

pub const SIDE_FILES: &[&str] = &[
    concat!(
        r#"{"id":"t","thread_name":"one","updated_at":"2026-01-01T00:00:00Z"}"#,
        "\n",
        r#"{"id":"t","thread_name":"two","updated_at":"2026-01-01T00:00:01Z"}"#,
        "\n",
    ),
    r#"{"version":1,"entries":[{"sessionId":"s","fullPath":"/x.jsonl","customTitle":"T","firstPrompt":"p","messageCount":3,"created":"2026-01-01T00:00:00Z","fileMtime":1}]}"#,
];

/// What an index begins with is tried by the target itself.
pub const INDEX: &[&str] = &["offshoot index", "\u{1}\u{2}\u{3}", ""];

pub const ALL: &[&str] = &[
    CLAUDE[0],
    CODEX[0],
    GEMINI[0],
    GEMINI[1],
    JOURNAL[0],
    PI[0],
    OH_MY_PI[0],
    ROLLOUTS[0],
    OPENCODE[0],
    OPENCODE[1],
    SIDE_FILES[0],
    SIDE_FILES[1],
];
