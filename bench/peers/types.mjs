// What fills the logs: how many records and bytes there are of every type.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

const records = new Map(), sizes = new Map();
const add = (counts, name, n) => counts.set(name, (counts.get(name) ?? 0) + n);

for (const path of process.argv.slice(2)) {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    const entry = JSON.parse(line);
    const name = entry.type === "message" ? `message/${entry.message.role}` : entry.type;
    add(records, name, 1);
    add(sizes, name, Buffer.byteLength(line) + 1);
  }
}
const told = (counts) => [...counts].map(([name, n]) => `${name}=${n}`).sort().join(",");
console.log(told(records), told(sizes));
