# What fills the logs: how many records and bytes there are of every type.
import json
import sys

records, sizes = {}, {}
for path in sys.argv[1:]:
    with open(path, "rb") as log:
        for line in log:
            entry = json.loads(line)
            name = entry["type"]
            if name == "message":
                name += "/" + entry["message"]["role"]
            records[name] = records.get(name, 0) + 1
            sizes[name] = sizes.get(name, 0) + len(line)


def told(counts):
    return ",".join(sorted("%s=%d" % item for item in counts.items()))


print(told(records), told(sizes))
