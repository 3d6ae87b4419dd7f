package speaker

// form is how an envelope is told from what it stands around.
type form uint8

const (
	block    form = iota // from its beginning on a line to its end
	around               // only the two tags are the program's: what is between them is said
	whole                // it begins the message, and goes on to its end, or behind ends
	head                 // it begins a message, up to the bracket that closes it
	line                 // a line
	fenced               // a line, and the fence below it
	attached             // a block that a person has attached: it is shown
	prompt               // it begins a message that is written for a model: all of it is shown
)

// Envelope is one form in which a program writes in a person's name. In Begins and Ends
// "¤" is a letter and "·" a digit.
type Envelope struct {
	Program, Name, Begins, Ends string
	form                        form
	Sample                      string // as it stands in logs; "WORDS" is where a person's words are
}

// Envelopes is the table of all, by program.
func Envelopes() []*Envelope { return append(envelopes[:len(envelopes):len(envelopes)], heartbeat) }

// heartbeat is what people's own prompts for heartbeats have in common, wherever it
// stands.
var heartbeat = &Envelope{"openclaw", "heartbeat", "reply HEARTBEAT_OK", "", whole, "Look at the inbox. If nothing needs attention, reply HEARTBEAT_OK."}

var envelopes = []*Envelope{
	// OpenClaw, and what was it before: a gateway between chats and an agent.
	{"openclaw", "stamp", "[¤", "····-··-·· ··:·· ", head, "[Sun 2026-02-01 10:00 UTC] WORDS"},
	{"openclaw", "telegram", "[Telegram ", "", head, "[Telegram Lea Roth (@lea) id:1234567] WORDS"},
	{"openclaw", "whatsapp", "[WhatsApp ", "", head, "[WhatsApp +49151000000] WORDS"},
	{"openclaw", "discord", "[Discord ", "", head, "[Discord Guild #general] WORDS"},
	{"openclaw", "slack", "[Slack ", "", head, "[Slack Lea Roth] WORDS"},
	{"openclaw", "signal", "[Signal ", "", head, "[Signal Lea id:+49151000000] WORDS"},
	{"openclaw", "imessage", "[iMessage ", "", head, "[iMessage Lea] WORDS"},
	{"openclaw", "reply", "[[reply_to", "]]", head, "[[reply_to_current]] WORDS"},
	{"openclaw", "message id", "[message_id:", "", line, "WORDS\n[message_id: 43da422c-9f69-4839-8c0a-87cbfbfc8f01]"},
	{"openclaw", "slack id", "[slack message id:", "", line, "WORDS\n[slack message id: 1.2 channel: C01]"},
	{"openclaw", "from", "[from: ", "", line, "WORDS\n[from: Lea Roth (+49151000000)]"},
	{"openclaw", "media", "[media attached", "", line, "[media attached: /m/a.jpg (image/jpeg) | /m/a.jpg]\nWORDS"},
	{"openclaw", "media hint", "To send an image back, ", "", line, "To send an image back, prefer the message tool (media/path/filePath).\nWORDS"},
	{"openclaw", "time", "Current time: ¤", "", line, "WORDS\nCurrent time: Sunday, February 1st, 2026 - 10:00"},
	{"openclaw", "event", "System: [", "", line, "System: [2026-02-01 10:00:33 GMT+8] Node: connected\n\nWORDS"},
	{"openclaw", "event", "System (untrusted): [", "", line, "System (untrusted): [2026-02-01 10:00:33 UTC] Exec completed\n\nWORDS"},
	{"openclaw", "compacted", "Session was just compacted.", "", whole, "System: [2026-02-01 10:00:33 UTC] [Post-compaction context refresh]\n\nSession was just compacted. Run your startup sequence."},
	{"openclaw", "exec", "An async command you ran earlier has completed.", "", line, "An async command you ran earlier has completed. The result is shown above."},
	{"openclaw", "metadata", "Conversation info (untrusted", "", fenced, "Conversation info (untrusted metadata):\n```json\n{\"message_id\": \"5\"}\n```\n\nWORDS"},
	{"openclaw", "sender", "Sender (untrusted", "", fenced, "Sender (untrusted metadata):\n```json\n{\"name\": \"Lea\"}\n```\n\nWORDS"},
	{"openclaw", "replied", "Replied message (untrusted", "", fenced, "Replied message (untrusted, for context):\n```json\n{\"body\": \"ok\"}\n```\n\nWORDS"},
	{"openclaw", "reply target", "Reply target of current user message (untrusted", "", fenced, "Reply target of current user message (untrusted, for context):\n```json\n{\"body\": \"ok\"}\n```\n\nWORDS"},
	{"openclaw", "thread", "Thread starter (untrusted", "", fenced, "Thread starter (untrusted, for context):\n```json\n{\"body\": \"ok\"}\n```\n\nWORDS"},
	{"openclaw", "forwarded", "Forwarded message context (untrusted", "", fenced, "Forwarded message context (untrusted metadata):\n```json\n{}\n```\n\nWORDS"},
	{"openclaw", "history", "Chat history since last reply (untrusted", "", fenced, "Chat history since last reply (untrusted, for context):\n```json\n[]\n```\n\nWORDS"},
	{"openclaw", "conversation", "Conversation context (untrusted", "", fenced, "Conversation context (untrusted, chronological, selected for current message):\n```json\n[]\n```\n\nWORDS"},
	{"openclaw", "history", "[Chat messages since your last reply", "[Current message - respond to this]", block, "[Chat messages since your last reply - for context]\nTom: ready?\n\n[Current message - respond to this]\nWORDS"},
	{"openclaw", "thread", "[Thread starter - for context]", "\n\n", block, "[Thread starter - for context]\n[Slack Tom 2026-02-01 10:00 UTC] ready?\n\nWORDS"},
	{"openclaw", "queue", "[Queued messages while agent was busy]", "", line, "[Queued messages while agent was busy]\n\n---\nQueued #1\nWORDS"},
	{"openclaw", "queue", "---\nQueued #·", "", line, "---\nQueued #1\nWORDS\n\n---\nQueued #2\nWORDS"},
	{"openclaw", "queue", "Queued #·", "", line, "[Queued messages while agent was busy]\n\n---\nQueued #1\nWORDS"},
	{"openclaw", "internal", "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>", "<<<END_OPENCLAW_INTERNAL_CONTEXT>>>", block, "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nruntime context\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>\nWORDS"},
	{"openclaw", "heartbeat", "Read HEARTBEAT.md", "", whole, "Read HEARTBEAT.md if it exists (workspace context). If nothing needs attention, reply HEARTBEAT_OK."},
	{"openclaw", "heartbeat", "Heartbeat. Read HEARTBEAT.md", "", whole, "Heartbeat. Read HEARTBEAT.md if it exists and do what it says."},
	{"openclaw", "heartbeat", "[OpenClaw heartbeat poll]", "", whole, "[OpenClaw heartbeat poll]"},
	{"openclaw", "cron", "[cron:", "", whole, "[cron:3f2a1c00 daily-report] Write the daily report.\nCurrent time: Sunday, February 1st, 2026 - 10:00"},
	{"openclaw", "flush", "Pre-compaction memory flush", "", whole, "Pre-compaction memory flush. Store durable memories now. If nothing to store, reply with NO_REPLY."},
	{"openclaw", "new session", "A new session was started via ", "", whole, "A new session was started via /new or /reset. Greet the user."},
	{"openclaw", "subagent", "[Subagent Context]", "", whole, "[Subagent Context] You are running as a subagent (depth 1/1)."},
	{"openclaw", "subagent", "A subagent task ", "", whole, "A subagent task \"limits\" just completed successfully.\n\nFindings:\n8443"},
	{"openclaw", "subagent", "A background task ", "", whole, "A background task \"limits\" just completed successfully."},

	// Claude Code, and the editors that it is used in.
	{"claude", "ide_opened_file", "<ide_opened_file>", "</ide_opened_file>", block, "<ide_opened_file>The user opened the file a.ts in the IDE.</ide_opened_file>\nWORDS"},
	{"claude", "ide_selection", "<ide_selection>", "</ide_selection>", block, "<ide_selection>The user selected the lines 1 to 2 from a.py:\nx = 1\n</ide_selection>\nWORDS"},
	{"claude", "ide_diagnostics", "<ide_diagnostics>", "</ide_diagnostics>", block, "<ide_diagnostics>[]</ide_diagnostics>\nWORDS"},
	{"claude", "reminder", "<system-reminder>", "</system-reminder>", block, "<system-reminder>\nA list has not been used.\n</system-reminder>\nWORDS"},
	{"claude", "hook", "<user-prompt-submit-hook>", "</user-prompt-submit-hook>", block, "<user-prompt-submit-hook>ok</user-prompt-submit-hook>\nWORDS"},
	{"claude", "command", "<command-name>", "</command-name>", block, "<command-name>/compact</command-name>"},
	{"claude", "command", "<command-message>", "</command-message>", block, "<command-message>compact</command-message>\n<command-name>/compact</command-name>"},
	{"claude", "command", "<command-args>", "</command-args>", around, "<command-name>/compact</command-name>\n<command-args>WORDS</command-args>"},
	{"claude", "command", "<command-contents>", "</command-contents>", block, "<command-contents>text</command-contents>"},
	{"claude", "output", "<local-command-stdout>", "</local-command-stdout>", block, "<local-command-stdout>Compacted</local-command-stdout>"},
	{"claude", "output", "<local-command-stderr>", "</local-command-stderr>", block, "<local-command-stderr>no such model</local-command-stderr>"},
	{"claude", "caveat", "<local-command-caveat>", "</local-command-caveat>", block, "<local-command-caveat>Caveat: local commands.</local-command-caveat>"},
	{"claude", "old caveat", "Caveat: The messages below were generated by the user while running local commands.", "", whole, "Caveat: The messages below were generated by the user while running local commands. DO NOT respond to these messages."},
	{"claude", "shell", "<bash-input>", "</bash-input>", block, "<bash-input>ls</bash-input>"},
	{"claude", "shell output", "<bash-stdout>", "</bash-stdout>", block, "<bash-stdout>a b</bash-stdout><bash-stderr></bash-stderr>"},
	{"claude", "shell output", "<bash-stderr>", "</bash-stderr>", block, "<bash-stderr>no such file</bash-stderr>"},
	{"claude", "task", "<task-notification>", "</task-notification>", block, "<task-notification>\n<task-id>b1</task-id>\n</task-notification>"},
	{"claude", "task", "Read the output file to retrieve the result: ", "", line, "<task-notification>\n<task-id>b1</task-id>\n</task-notification>\nRead the output file to retrieve the result: /tmp/b1.output"},
	{"claude", "teammate", "<teammate-message", "</teammate-message>", block, "<teammate-message teammate_id=\"b\">\nDone.\n</teammate-message>"},
	{"claude", "summary", "This session is being continued from a previous conversation", "", whole, "This session is being continued from a previous conversation that ran out of context.\nSummary: the limit was moved."},
	{"claude", "interrupted", "[Request interrupted by user", "", line, "[Request interrupted by user for tool use]"},
	{"claude", "image", "[Image: source: ", "", line, "[Image: source: /c/1.png]\nWORDS"},
	{"claude", "image", "[Image: original ", "", line, "[Image: original 1x1, displayed at 1x1.]\nWORDS"},
	{"claude", "skill", "Base directory for this skill: ", "", whole, "Base directory for this skill: /s/x\n\n# X\n\nUse this."},

	// Codex.
	{"codex", "environment_context", "<environment_context>", "</environment_context>", block, "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>"},
	{"codex", "user_instructions", "<user_instructions>", "</user_instructions>", block, "<user_instructions>\nRun the tests.\n</user_instructions>"},
	{"codex", "permissions instructions", "<permissions instructions>", "</permissions instructions>", block, "<permissions instructions>\nnone\n</permissions instructions>"},
	{"codex", "collaboration_mode", "<collaboration_mode>", "</collaboration_mode>", block, "<collaboration_mode>\nplan\n</collaboration_mode>"},
	{"codex", "apps_instructions", "<apps_instructions>", "</apps_instructions>", block, "<apps_instructions>\nx\n</apps_instructions>"},
	{"codex", "plugins_instructions", "<plugins_instructions>", "</plugins_instructions>", block, "<plugins_instructions>\nx\n</plugins_instructions>"},
	{"codex", "skills_instructions", "<skills_instructions>", "</skills_instructions>", block, "<skills_instructions>\nx\n</skills_instructions>"},
	{"codex", "skill", "<skill>", "</skill>", block, "<skill>\n<name>x</name>\n</skill>"},
	{"codex", "turn_aborted", "<turn_aborted>", "</turn_aborted>", block, "<turn_aborted>\nThe user interrupted the turn.\n</turn_aborted>"},
	{"codex", "subagent_notification", "<subagent_notification>", "</subagent_notification>", block, "<subagent_notification>\n{}\n</subagent_notification>"},
	{"codex", "model_switch", "<model_switch>", "</model_switch>", block, "<model_switch>\nx\n</model_switch>"},
	{"codex", "personality_spec", "<personality_spec>", "</personality_spec>", block, "<personality_spec>\nx\n</personality_spec>"},
	{"codex", "recommended_plugins", "<recommended_plugins>", "</recommended_plugins>", block, "<recommended_plugins>\nx\n</recommended_plugins>"},
	{"codex", "INSTRUCTIONS", "<INSTRUCTIONS>", "</INSTRUCTIONS>", block, "<INSTRUCTIONS>\nRun the tests.\n</INSTRUCTIONS>"},
	{"codex", "user_shell_command", "<user_shell_command>", "</user_shell_command>", block, "<user_shell_command>\n<command>ls</command>\n</user_shell_command>"},
	{"codex", "agents_md", "# AGENTS.md instructions", "", whole, "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nRun the tests.\n</INSTRUCTIONS>"},
	{"codex", "ide", "# Context from my IDE setup:", "## My request for Codex:", block, "# Context from my IDE setup:\n\n## Open tabs:\n- a.ts: src/a.ts\n\n## My request for Codex:\nWORDS"},

	// Hermes. Its skills come with what the person says last.
	{"hermes", "cron", "[IMPORTANT: You are running as a scheduled cron job", "", whole, "[IMPORTANT: You are running as a scheduled cron job. DELIVERY: automatic.]\n\nWrite the report."},
	{"hermes", "cron", "[SYSTEM: You are running as a scheduled cron job", "", whole, "[SYSTEM: You are running as a scheduled cron job.]\n\nWrite the report."},
	{"hermes", "skill", "[IMPORTANT: The user has invoked the ", skillWords, whole, "[IMPORTANT: The user has invoked the \"x\" skill.]\n\n# X\n\n" + skillWords + "WORDS"},
	{"hermes", "skill", "[SYSTEM: The user has invoked the ", skillWords, whole, "[SYSTEM: The user has invoked the \"x\" skill.]\n\n# X\n\n" + skillWords + "WORDS"},
	{"hermes", "skill", "[IMPORTANT: The following skill", skillWords, whole, "[IMPORTANT: The following skill(s) were listed for this job but could not be found and were skipped: x.]\n\n" + skillWords + "WORDS"},
	{"hermes", "process", "[IMPORTANT: Background process ", "", whole, "[IMPORTANT: Background process 1f completed (exit code 0).\nCommand: make\nOutput:\nok]"},
	{"hermes", "delegation", "[ASYNC DELEGATION", "", whole, "[ASYNC DELEGATION COMPLETE] done"},
	{"hermes", "summary", "[CONTEXT COMPACTION", "", whole, "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted.\n\n## Goal\nX"},
	{"hermes", "summary", "[CONTEXT SUMMARY]", "", whole, "[CONTEXT SUMMARY] Earlier turns"},
	{"hermes", "note", "[System note: ", "", line, "[System note: Your previous turn was interrupted.]\n\nWORDS"},

	// Copilot, of the terminal and of VS Code.
	{"copilot", "time", "<current_datetime>", "</current_datetime>", block, "<current_datetime>2026-02-01T10:00:00Z</current_datetime>\n\nWORDS"},
	{"copilot", "reminder", "<reminder>", "</reminder>", block, "WORDS\n\n<reminder>\n<sql_tables>todos</sql_tables>\n</reminder>"},
	{"copilot", "reminder", "<system_reminder>", "</system_reminder>", block, "WORDS\n\n<system_reminder>\nx\n</system_reminder>"},
	{"copilot", "notification", "<system_notification>", "</system_notification>", block, "<system_notification>\nDone.\n</system_notification>"},
	{"copilot", "files", "<tagged_files>", "</tagged_files>", block, "<tagged_files>\n* /w/a.ts\n</tagged_files>\n\nWORDS"},
	{"copilot", "attachments", "<attachments>", "</attachments>", block, "<attachments>\n<attachment id=\"a\">x</attachment>\n</attachments>\nWORDS"},
	{"copilot", "context", "<context>", "</context>", block, "<context>\nThe current date is 1 February 2026.\n</context>\nWORDS"},
	{"copilot", "editor", "<editorContext>", "</editorContext>", block, "<editorContext>\na.ts\n</editorContext>\nWORDS"},
	{"copilot", "instructions", "<reminderInstructions>", "</reminderInstructions>", block, "<reminderInstructions>\nx\n</reminderInstructions>\nWORDS"},
	{"copilot", "request", "<userRequest>", "</userRequest>", around, "<userRequest>\nWORDS\n</userRequest>"},

	// Gemini CLI, and Qwen Code, which was made from it.
	{"gemini", "session_context", "<session_context>", "</session_context>", block, "<session_context>\nThis is the Gemini CLI.\n</session_context>"},
	{"gemini", "session_context", "This is the Gemini CLI. We are setting up the context", "", whole, "This is the Gemini CLI. We are setting up the context for our chat."},
	{"gemini", "summary", "<state_snapshot>", "</state_snapshot>", block, "<state_snapshot>\n<overall_goal>x</overall_goal>\n</state_snapshot>"},
	{"gemini", "files", "--- Content from referenced files ---", "--- End of content ---", attached, "WORDS\n--- Content from referenced files ---\nContent from @a.ts:\nx\n--- End of content ---"},
	{"gemini", "hook", "<hook_context>", "</hook_context>", block, "WORDS\n<hook_context>x</hook_context>"},
	{"qwen", "session_context", "This is the Qwen Code. We are setting up the context", "", whole, "This is the Qwen Code. We are setting up the context for our chat."},

	// Cline, Cursor and others with tags around what was typed.
	{"cline", "environment", "<environment_details>", "</environment_details>", block, "WORDS\n<environment_details>\n# Current Time\n10:00\n</environment_details>"},
	{"cline", "task", "<task>", "</task>", around, "<task>\nWORDS\n</task>"},
	{"cline", "input", "<user_input", "</user_input>", around, "<user_input mode=\"act\">WORDS</user_input>"},
	{"cline", "message", "<user_message>", "</user_message>", around, "<user_message>\nWORDS\n</user_message>"},
	{"cline", "feedback", "<feedback>", "</feedback>", around, "<feedback>\nWORDS\n</feedback>"},
	{"cline", "answer", "<answer>", "</answer>", around, "<answer>\nWORDS\n</answer>"},
	{"cline", "user feedback", "<user_feedback>", "</user_feedback>", around, "<user_feedback>\nWORDS\n</user_feedback>"},
	{"cursor", "time", "<timestamp>", "</timestamp>", block, "<timestamp>Friday, Feb 27, 2026, 9:12 AM (UTC+1)</timestamp>\n<user_query>\nWORDS\n</user_query>"},
	{"cursor", "query", "<user_query>", "</user_query>", around, "<user_query>\nWORDS\n</user_query>"},
	{"cursor", "data", "<additional_data>", "</additional_data>", block, "<additional_data>\nx\n</additional_data>\n<user_query>\nWORDS\n</user_query>"},

	// Antigravity.
	{"antigravity", "request", "<USER_REQUEST>", "</USER_REQUEST>", around, "<USER_REQUEST>\nWORDS\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nx\n</ADDITIONAL_METADATA>"},
	{"antigravity", "metadata", "<ADDITIONAL_METADATA>", "</ADDITIONAL_METADATA>", block, "<USER_REQUEST>\nWORDS\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nx\n</ADDITIONAL_METADATA>"},
	{"antigravity", "settings", "<USER_SETTINGS_CHANGE>", "</USER_SETTINGS_CHANGE>", block, "<USER_REQUEST>\nWORDS\n</USER_REQUEST>\n<USER_SETTINGS_CHANGE>\nx\n</USER_SETTINGS_CHANGE>"},

	// Prompts that other programs write, which call a model in a person's name.
	{"prompt", "role", "You are a ", "", prompt, "You are a careful translator.\nTranslate what follows."},
	{"prompt", "role", "You are an ", "", prompt, "You are an assistant.\nAnswer briefly."},
	{"prompt", "role", "You are the ", "", prompt, "You are the reviewer of this repository."},
	{"prompt", "role", "You are now ", "", prompt, "You are now the planner."},
	{"prompt", "role", "Act as a", "", prompt, "Act as a translator."},
	{"prompt", "role", "You must embody ", "", prompt, "You must embody this persona."},
	{"prompt", "role", "You must fully embody ", "", prompt, "You must fully embody this persona."},
	{"prompt", "transcript", "The following is ", "", prompt, "The following is a conversation."},
	{"prompt", "transcript", "Here is a conversation", "", prompt, "Here is a conversation."},
	{"prompt", "transcript", "Here is the conversation", "", prompt, "Here is the conversation."},
	{"prompt", "transcript", "Here is the transcript", "", prompt, "Here is the transcript."},
	{"prompt", "summary", "Summarize the ", "", prompt, "Summarize the conversation above."},
	{"prompt", "summary", "Summarize this ", "", prompt, "Summarize this conversation."},
	{"prompt", "facts", "Extract the facts", "", prompt, "Extract the facts from this."},
	{"prompt", "conversation", "<conversation>", "</conversation>", attached, "<conversation>\nTom: ready?\n</conversation>"},

	// Memories that plugins put into a prompt.
	{"memory", "memories", "<relevant-memories>", "</relevant-memories>", block, "<relevant-memories>\n1. x\n</relevant-memories>\n\nWORDS"},
	{"memory", "memories", "<memory-context>", "</memory-context>", block, "<memory-context>\n1. x\n</memory-context>\n\nWORDS"},
}

// skillWords stands before what a person says beside a skill of Hermes.
const skillWords = "The user has provided the following instruction alongside the skill invocation: "
