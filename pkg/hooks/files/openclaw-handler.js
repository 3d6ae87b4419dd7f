// Installed by sessctl hook install openclaw; sessctl hook remove openclaw takes it away.
import { spawnSync } from "node:child_process";

const program = __PATH__;
const options = __ARGS__;

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
