// The messages of one session through the public API of Claude's own SDK, in a process of its own.
// node claude_peer.mjs MODULE OPERATION FILE: the file is `<config>/projects/<project>/<session>.jsonl`.
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { pathToFileURL } from "node:url";

const [module, , file] = process.argv.slice(2);
process.env.CLAUDE_CONFIG_DIR = dirname(dirname(dirname(file)));
const { getSessionMessages } = await import(pathToFileURL(module).href);
const begun = performance.now();
const messages = await getSessionMessages(basename(file, ".jsonl"), {});
const ms = performance.now() - begun;
const peak = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"));
const ids = messages.slice(-100).map((message) => message.uuid);
console.log(JSON.stringify({ ms, count: messages.length, ids, peak_mb: peak ? Number(peak[1]) / 1024 : 0 }));
