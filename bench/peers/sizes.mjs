// The context size of every session: the last usage of each log, added up.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

let total = 0;
for (const path of process.argv.slice(2)) {
  let last = 0;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    const entry = JSON.parse(line);
    if (entry.type === "compaction") last = 0;
    if (entry.type !== "message") continue;
    const message = entry.message;
    if (message.role === "assistant" && message.stopReason !== "error" && message.stopReason !== "aborted") {
      last = message.usage.totalTokens || last;
    }
  }
  total += last;
}
console.log(total);
