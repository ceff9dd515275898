// One operation of another program's own session manager on one file, in a process of its own.
//
//   node peer.mjs MODULE OPERATION FILE
//
// Loading the module is not counted. Prints one JSON object with times in milliseconds.
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [module, operation, original] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "offshoot-bench-"));
process.env.PI_CODING_AGENT_DIR = join(scratch, "agent");
const { SessionManager } = await import(pathToFileURL(module).href);

// Opening may write beside the file, so each run has its own copy, which copying has left in the page cache.
const file = join(scratch, "session.jsonl");
copyFileSync(original, file);

const clock = async (work) => {
  const begun = performance.now();
  const value = await work();
  return [performance.now() - begun, value];
};

const [openMs, manager] = await clock(() => SessionManager.open(file, scratch));
const told = { ms: openMs, open_ms: openMs };

switch (operation) {
  case "screen": {
    const [ms, messages] = await clock(() =>
      manager.getBranch().filter((entry) => entry.type === "message").slice(-50),
    );
    Object.assign(told, { ms: openMs + ms, count: messages.length });
    break;
  }
  case "context": {
    const [ms, context] = await clock(() => manager.buildSessionContext());
    const [againMs] = await clock(() => manager.buildSessionContext());
    Object.assign(told, { ms, again_ms: againMs, end_to_end_ms: openMs + ms, count: context.messages.length });
    break;
  }
  case "navigate": {
    const entries = manager.getEntries();
    const parents = new Set(entries.map((entry) => entry.parentId));
    const leaves = entries.filter((entry) => !parents.has(entry.id));
    const step = Math.max(1, Math.floor(leaves.length / 20));
    const targets = leaves.filter((_, at) => at % step === 0).slice(0, 20);
    const visitAll = () => {
      for (const target of targets) {
        manager.branch(target.id);
        manager.getBranch();
        manager.buildSessionContext();
      }
    };
    const [ms] = await clock(visitAll);
    const [againMs] = await clock(visitAll);
    const each = { ms: ms / targets.length, again_ms: againMs / targets.length };
    Object.assign(told, { ...each, count: targets.length });
    break;
  }
  case "outline": {
    const [ms, tree] = await clock(() => manager.getTree());
    Object.assign(told, { ms, count: tree.length });
    break;
  }
  case "fork": {
    const branch = manager.getBranch();
    const at = branch[Math.floor(branch.length / 2)];
    const [ms, path] = await clock(() => manager.createBranchedSession(at.id));
    Object.assign(told, { ms, bytes: path ? statSync(path).size : 0 });
    break;
  }
  default:
    throw new Error(`no operation ${operation}`);
}
const peak = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"));
told.peak_mb = peak ? Number(peak[1]) / 1024 : 0;
rmSync(scratch, { recursive: true, force: true });
console.log("\n@" + JSON.stringify(told));
process.exit(0);
