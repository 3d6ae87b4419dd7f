// Part of the sessctl plugin.
import { spawnSync } from "node:child_process";

const program = "sessctl";
const options = [];

// OpenClaw waits for this handler. It never fails: what went wrong stands in
// sessctl's own log, which sessctl doctor shows.
export default async function handler(event) {
  const context = event?.context ?? {};
  const told = {
    type: event?.type,
    action: event?.action,
    sessionKey: event?.sessionKey,
    sessionId: context.sessionId ?? context.sessionEntry?.sessionId,
  };
  spawnSync(program, ["hook", "run", "openclaw", ...options], { input: JSON.stringify(told), timeout: 60000, stdio: ["pipe", "ignore", "ignore"] });
}
