// Installed by sessctl hook install openclaw; sessctl hook remove openclaw takes it away.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const program = __PATH__;
const options = __ARGS__;

function run(told) {
  const done = spawnSync(program, ["hook", "run", "openclaw", ...options], {
    input: JSON.stringify(told), timeout: 60000, encoding: "utf8", stdio: ["pipe", "pipe", "ignore"],
  });
  try {
    return JSON.parse(done.stdout).hookSpecificOutput.additionalContext ?? "";
  } catch {
    return "";
  }
}

// What sessctl has to say to the agent of a session, by the session's key: asked
// once, and again after a compaction or a reset.
const said = new Map();

// Only an agent's main session is told: others may be read by more people.
function isMain(key, config) {
  const [agent, , name, more] = String(key ?? "").split(":");
  return agent === "agent" && more === undefined && name === (config?.session?.mainKey ?? "main");
}

// OpenClaw waits for this handler. It never fails: what went wrong stands in
// sessctl's own log, which sessctl doctor shows.
export default async function handler(event) {
  const context = event?.context ?? {};
  const key = event?.sessionKey;
  const told = {
    type: event?.type,
    action: event?.action,
    sessionKey: key,
    sessionId: context.sessionId ?? context.sessionEntry?.sessionId,
  };
  if (told.type !== "agent") {
    run(told);
    said.delete(key);
    return;
  }
  if (!isMain(key, context.cfg) || !Array.isArray(context.bootstrapFiles) || !context.workspaceDir) return;
  if (!said.has(key)) said.set(key, run(told));
  const content = said.get(key);
  if (content) context.bootstrapFiles.push({ name: "SESSCTL.md", path: join(context.workspaceDir, "SESSCTL.md"), content, missing: false });
}
