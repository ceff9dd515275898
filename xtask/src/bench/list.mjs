// The list of all sessions by another program's own session manager, in a process of its own.
//
//   bun list.mjs MODULE FOLDER_OF_SESSIONS
//
// Loading the module is not counted. Prints one JSON object with the time in milliseconds.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [module, sessions] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "offshoot-bench-"));
process.env.HOME = scratch;
process.env.PI_CODING_AGENT_DIR = join(scratch, "agent");
mkdirSync(process.env.PI_CODING_AGENT_DIR);
symlinkSync(sessions, join(scratch, "agent", "sessions"));
const { SessionManager } = await import(pathToFileURL(module).href);

const begun = performance.now();
const listed = await SessionManager.listAll();
const ms = performance.now() - begun;
rmSync(scratch, { recursive: true, force: true });
console.log("\n@" + JSON.stringify({ ms, count: listed.length }));
process.exit(0);
