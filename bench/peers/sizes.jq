# The context size of every session: the last usage of each log, added up.
reduce inputs as $entry ({};
  if $entry.type == "compaction" then .[input_filename] = 0
  elif $entry.type == "message" and $entry.message.role == "assistant"
    and $entry.message.stopReason != "error" and $entry.message.stopReason != "aborted"
  then .[input_filename] = $entry.message.usage.totalTokens
  else . end)
| add
