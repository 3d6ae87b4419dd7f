# What fills the logs: how many records there are of every type. The bytes of a
# line are not known to jq.
reduce inputs as $entry ({};
  .[$entry.type + (if $entry.type == "message" then "/" + $entry.message.role else "" end)] += 1)
| to_entries | map("\(.key)=\(.value)") | sort | join(",")
