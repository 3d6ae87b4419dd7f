# The context size of every session: the last usage of each log, added up.
import json
import sys

total = 0
for path in sys.argv[1:]:
    last = 0
    with open(path, encoding="utf-8") as log:
        for line in log:
            entry = json.loads(line)
            if entry["type"] == "compaction":
                last = 0
            if entry["type"] != "message":
                continue
            message = entry["message"]
            if message["role"] == "assistant" and message.get("stopReason") not in ("error", "aborted"):
                last = message["usage"]["totalTokens"] or last
    total += last
print(total)
