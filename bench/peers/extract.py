# Reads a log, takes the text of every message and cuts it into chunks: blocks
# of four messages, windows of 3500 characters that share 200 with the next.
# With --check the chunks are hashed as well.
import json
import sys
import zlib

LABELS = {"user": "[Human]", "assistant": "[Agent]", "toolResult": "[Tool]"}
SIZE, OVERLAP, BLOCK = 3500, 200, 4


def text_of(message):
    parts = []
    for block in message["content"]:
        if block["type"] == "text":
            parts.append(block["text"])
        elif block["type"] == "toolCall":
            arguments = json.dumps(block["arguments"], ensure_ascii=False, separators=(",", ":"))
            parts.append("[tool call] %s %s" % (block["name"], arguments))
    return "\n".join(parts).strip()


def messages_of(path):
    messages = []
    with open(path, encoding="utf-8") as log:
        for line in log:
            entry = json.loads(line)
            if entry["type"] == "message":
                label, text = LABELS[entry["message"]["role"]], text_of(entry["message"])
            elif entry["type"] == "compaction":
                label, text = "[Summary]", entry["summary"].strip()
            else:
                continue
            if text:
                messages.append("%s: %s" % (label, text))
    return messages


def chunks_of(messages):
    chunks = []
    for first in range(0, len(messages), BLOCK):
        block = "\n\n".join(messages[first : first + BLOCK])
        start = 0
        while True:
            chunks.append(block[start : start + SIZE])
            if start + SIZE >= len(block):
                break
            start += SIZE - OVERLAP
    return chunks


check = sys.argv[1] == "--check"
messages = messages_of(sys.argv[-1])
chunks = chunks_of(messages)
answer = [len(messages), len(chunks), sum(len(c) for c in chunks)]
if check:
    crc = 0
    for chunk in chunks:
        crc = zlib.crc32(chunk.encode("utf-8"), crc)
    answer.append(crc)
print(*answer)
