// Reads a log, takes the text of every message and cuts it into chunks: blocks
// of four messages, windows of 3500 characters (code points) that share 200
// with the next. With --check the chunks are hashed as well.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

const labels = { user: "[Human]", assistant: "[Agent]", toolResult: "[Tool]" };
const size = 3500, overlap = 200, blockSize = 4;

function textOf(message) {
  const parts = [];
  for (const block of message.content) {
    if (block.type === "text") parts.push(block.text);
    else if (block.type === "toolCall") parts.push(`[tool call] ${block.name} ${JSON.stringify(block.arguments)}`);
  }
  return parts.join("\n").trim();
}

const crcTable = new Uint32Array(256).map((_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});
let crc = 0;
function hash(text) {
  crc = ~crc;
  for (const byte of Buffer.from(text)) crc = crcTable[(crc ^ byte) & 255] ^ (crc >>> 8);
  crc = ~crc >>> 0;
}

const check = process.argv[2] === "--check";
let messages = 0, chunks = 0, codePoints = 0;

function cut(block) {
  // Without surrogates a code unit is a code point, and slicing is cheap.
  const text = /[\ud800-\udfff]/.test(block) ? Array.from(block) : block;
  for (let start = 0; ; start += size - overlap) {
    const chunk = text.slice(start, start + size);
    chunks++;
    codePoints += chunk.length;
    if (check) hash(typeof chunk === "string" ? chunk : chunk.join(""));
    if (start + size >= text.length) return;
  }
}

let block = [];
const log = createReadStream(process.argv[process.argv.length - 1]);
for await (const line of createInterface({ input: log, crlfDelay: Infinity })) {
  const entry = JSON.parse(line);
  let label, text;
  if (entry.type === "message") {
    label = labels[entry.message.role];
    text = textOf(entry.message);
  } else if (entry.type === "compaction") {
    label = "[Summary]";
    text = entry.summary.trim();
  } else continue;
  if (!text) continue;
  messages++;
  block.push(`${label}: ${text}`);
  if (block.length === blockSize) {
    cut(block.join("\n\n"));
    block = [];
  }
}
if (block.length > 0) cut(block.join("\n\n"));
console.log(messages, chunks, codePoints, ...(check ? [crc] : []));
