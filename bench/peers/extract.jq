# Reads a log, takes the text of every message and cuts it into chunks: blocks
# of four messages, windows of 3500 characters that share 200 with the next.
def text_of:
  [.content[]
   | if .type == "text" then .text
     elif .type == "toolCall" then "[tool call] \(.name) \(.arguments | tojson)"
     else empty end]
  | join("\n");

def trim:
  if startswith(" ") or startswith("\n") or startswith("\t") then .[1:] | trim
  elif endswith(" ") or endswith("\n") or endswith("\t") then .[:-1] | trim
  else . end;

def chunks:
  . as $block | length as $n
  | [0, range(3500; $n; 3300)] | to_entries
  | .[].key | $block[. * 3300 : . * 3300 + 3500];

[inputs
 | if .type == "message" then
     [{user: "[Human]", assistant: "[Agent]", toolResult: "[Tool]"}[.message.role], (.message | text_of | trim)]
   elif .type == "compaction" then ["[Summary]", (.summary | trim)]
   else empty end
 | select(.[1] != "")
 | join(": ")] as $messages
| reduce (range(0; $messages | length; 4) as $first | $messages[$first:$first + 4] | join("\n\n") | chunks) as $chunk
    ([$messages | length, 0, 0]; .[1] += 1 | .[2] += ($chunk | length))
| map(tostring) | join(" ")
