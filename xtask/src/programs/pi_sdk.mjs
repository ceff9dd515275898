// What pi's own SDK makes of a session file: the context at every entry, and the statistics of the session.
//
//   node pi_sdk.mjs MODULE FILE
//
// Prints one JSON object behind `@`. Messages are told as lists, so that they compare as they are.
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [module, original] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "offshoot-pi-"));
process.env.PI_CODING_AGENT_DIR = join(scratch, "agent");
const { AgentSession, SessionManager, buildSessionContext } = await import(pathToFileURL(module).href);

// Opening may write to the file.
const file = join(scratch, "session.jsonl");
copyFileSync(original, file);
const manager = SessionManager.open(file, scratch);

const block = (one) => {
  switch (one.type) {
    case "text":
      return ["text", one.text];
    case "thinking":
      return ["thinking", one.thinking];
    case "image":
      return ["image", one.mimeType];
    case "toolCall":
      return ["call", one.id, one.name, one.arguments];
    default:
      return ["other", one.type];
  }
};
const blocks = (content) => (typeof content === "string" ? [["text", content]] : (content ?? []).map(block));
const words = (content) => blocks(content).filter(([kind]) => kind === "text").map(([, text]) => text).join("");
const sections = (message) => Object.values(message.sections ?? {}).filter((text) => typeof text === "string");

const told = (message) => {
  switch (message.role) {
    case "toolResult":
      return ["toolResult", message.toolCallId, ...blocks(message.content)];
    case "bashExecution":
      return ["bashExecution", message.command, message.output];
    case "branchSummary":
    case "compactionSummary":
      return [message.role, message.summary];
    case "system":
      return ["system", words(message.content) || sections(message).join("\n\n")];
    default:
      return [message.role, ...blocks(message.content)];
  }
};

const entries = manager.getEntries();
const contexts = {};
for (const { id } of entries) {
  const { messages, thinkingLevel, model } = buildSessionContext(entries, id);
  contexts[id] = { thinking: thinkingLevel, model: model && `${model.provider}/${model.modelId}`, messages: messages.map(told) };
}
const { tokens, cost } = AgentSession.prototype.getSessionStats.call({
  sessionManager: manager,
  getContextUsage: () => undefined,
});
rmSync(scratch, { recursive: true, force: true });
const spent = { ...tokens, micros: Math.round(cost * 1e6) };
// Exiting before the last byte is written would cut it off.
process.stdout.write("\n@" + JSON.stringify({ contexts, spent }) + "\n", () => process.exit(0));
