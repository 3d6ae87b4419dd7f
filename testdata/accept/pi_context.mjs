// What pi itself makes of logs: for each file one line of JSON, the messages that
// it would send. Its own code builds the context; what it leaves out afterwards
// (turns that failed or were aborted, commands that a person has excluded, what
// says nothing) is left out here too.
//
//   node pi_context.mjs <pi's package> <directory for copies> <log>...
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [home, copies, ...logs] = process.argv.slice(2);
const { SessionManager } = await import(pathToFileURL(path.join(home, "dist/core/session-manager.js")));
const role = { compactionSummary: "summary", branchSummary: "user", custom: "user", bashExecution: "user", toolResult: "tool" };
const blocks = (m) => (Array.isArray(m.content) ? m.content : []);
const text = (m) => m.summary ?? m.command ?? (typeof m.content === "string" ? m.content : blocks(m).filter((b) => b.type === "text").map((b) => b.text).join("\n"));
const sent = (m) => !(m.role === "assistant" && ["error", "aborted"].includes(m.stopReason)) && !(m.role === "bashExecution" && m.excludeFromContext);

for (const log of logs) {
  const copy = path.join(copies, "copy.jsonl"); // pi rewrites a log of an older version when it opens it
  fs.copyFileSync(log, copy);
  const { messages } = SessionManager.open(copy).buildSessionContext();
  const said = messages.filter(sent)
    .map((m) => ({ role: role[m.role] ?? m.role, text: text(m), calls: blocks(m).filter((b) => b.type === "toolCall").length, image: blocks(m).some((b) => b.type === "image") }))
    .filter((m) => m.text !== "" || m.calls > 0 || m.image || m.role === "tool");
  console.log(JSON.stringify(said));
}
