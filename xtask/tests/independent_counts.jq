# Counts replies, calls and results of one session file, by nothing but its lines, or by its one document:
#   jq -n -R --arg dialect D -f THIS FILE
[inputs] as $texts
| ([$texts[] | fromjson? | objects] | if length > 0 then . else [$texts | join("\n") | fromjson? | objects] end) as $lines
| def once(id): ([.[] | select(id == null)] + ([.[] | select(id != null)] | unique_by(id)));
if $dialect == "claude code" then
  ([$lines[] | select(.type == "assistant" and (.message | type) == "object")] | once(.uuid)) as $replies
  | ([$lines[] | select(.type == "user" and (.message | type) == "object" and .isCompactSummary != true)] | once(.uuid)) as $said
  | {
      replies: ($replies | length),
      calls: [$replies[].message.content | arrays | .[] | objects | select(.type == "tool_use")] | length,
      results: [$said[].message.content | arrays | .[] | objects | select(.type == "tool_result")] | length
    }
elif $dialect == "codex" then
  [$lines[] | if .type == "response_item" then .payload else . end | objects] as $items
  | {
      calls: [$items[] | select(.type | IN("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call", "image_generation_call"))] | length,
      results: [$items[] | select((.type | type) == "string" and (.type | endswith("_output")))] | length
    }
elif $dialect == "gemini" then
  ([$lines[] | select(.type != null and .id != null)] + [$lines[] | (.messages, .["$set"].messages?) | arrays | .[]]) as $told
  | [$told[] | objects | select(.type == "gemini")] as $replies
  | {
      replies: [$replies[].id] | unique | length,
      calls: [$replies[] | .toolCalls | arrays | .[].id] | unique | length
    }
elif $dialect == "opencode" then
  [$lines[].messages | arrays | .[]] as $messages
  | {
      prompts: [$messages[] | select(.info.role == "user")] | length,
      replies: [$messages[] | select(.info.role == "assistant")] | length,
      calls: [$messages[].parts[] | select(.type == "tool")] | length
    }
elif $dialect == "rollouts" then
  [$lines[] | select(.type == "message")] as $messages
  | {
      prompts: [$messages[] | select(.role == "user")] | length,
      replies: [$messages[] | select(.role == "assistant")] | length
    }
else
  ([$lines[] | select(.type == "message" and (.message | type) == "object")] | once(.id)) as $messages
  | {
      prompts: [$messages[] | select(.message.role == "user")] | length,
      replies: [$messages[] | select(.message.role == "assistant")] | length,
      calls: [$messages[] | select(.message.role == "assistant") | .message.content | arrays | .[] | objects | select(.type == "toolCall")] | length,
      results: [$messages[] | select(.message.role == "toolResult")] | length
    }
end
