package main

import "time"

func piDialect(cwd string) dialect {
	return dialect{shell: "bash", cwd: cwd, provider: "anthropic", api: "anthropic-messages", model: "claude-sonnet-4-5"}
}

// piStore writes one pi session above the threshold.
func piStore(files map[string][]byte) error {
	l := newLog(piDialect("/work-orders/api"), 53, phase{9_804, 156_418})
	s := begin(l, time.Date(2026, 5, 4, 6, 12, 31, 114_000_000, time.UTC))
	acts, err := story("pi")
	if err != nil {
		return err
	}
	for _, a := range acts {
		l.tell(a.items)
	}
	name := "sample/.pi/agent/sessions/--work-orders-api--/2026-05-04T06-12-31-114Z_" + s.id + ".jsonl"
	files[name], err = l.bytes()
	return err
}

// smallSessions writes one log for each version of the format that pi wrote.
func smallSessions(files map[string][]byte) error {
	for name, make := range map[string]func() ([]byte, error){
		"sessions/pi-v1.jsonl":      versionOne,
		"sessions/pi-v3-tree.jsonl": tree,
	} {
		data, err := make()
		if err != nil {
			return err
		}
		files[name] = data
	}
	return nil
}

// versionOne is a log without ids, whose header names the model and whose
// compaction counts records.
func versionOne() ([]byte, error) {
	l := newLog(piDialect("/home/lea/registry"), 59, phase{4_100, 5_200}, phase{3_050, 6_900})
	l.moveTo(time.Date(2025, 11, 3, 9, 0, 0, 0, time.UTC))
	id := l.uuid()
	l.header(id)
	l.tell(parse(`@user
Add a search box to the registry page.
@agent
Let me see the page.
@read web/registry.html
<ul id="packages"></ul>
@edit web/registry.html
-<ul id="packages"></ul>
+<input id="q" type="search"><ul id="packages"></ul>
@agent
Added an input above the list.
@compact 5200
Search box added to web/registry.html; filtering is still to do.
@user
Now filter while typing.
@write web/filter.js
q.oninput = () => [...packages.children].forEach(li => li.hidden = !li.textContent.includes(q.value))
@exec node --check web/filter.js => 1
SyntaxError: Unexpected identifier 'packages'
@agent
One mistake of mine, corrected; the list filters while you type.
`))
	for i := range l.lines {
		l.lines[i].record = withoutIDs(l.lines[i].record)
	}
	l.lines[0].record = newObject("type", "session", "id", id, "timestamp", l.lines[0].record.get("timestamp"), "cwd", l.dialect.cwd,
		"provider", l.dialect.provider, "modelId", l.dialect.model, "thinkingLevel", "off")
	return l.bytes()
}

func withoutIDs(o object) object {
	var out object
	for _, m := range o {
		switch m.name {
		case "id", "parentId", "fromHook":
		case "firstKeptEntryId":
			out = append(out, member{"firstKeptEntryIndex", 1})
		default:
			out = append(out, m)
		}
	}
	return out
}

// tree has one of everything: an abandoned branch with its summary, a shell
// command of the user's, extensions, a label, a name and a compaction.
func tree() ([]byte, error) {
	l := newLog(piDialect("/home/lea/registry"), 61, phase{4_000, 7_400}, phase{3_300, 5_150})
	begin(l, time.Date(2026, 5, 11, 8, 30, 0, 0, time.UTC))
	l.tell(parse("@user\nWhich colour for the warning banner?\n@agent\nI look at the palette.\n@read web/palette.css\n--amber: #b45309;\n--red: #b91c1c;\n"))
	l.fork = fork{l.parent, l.weight}
	l.tell(parse("@agent\nRed, #b91c1c.\n@user\nToo loud.\n@agent\nThen amber with a dark text.\n"))
	left := l.parent
	l.parent, l.weight = l.fork.parent, l.fork.weight
	l.entry("branch_summary", "fromId", left, "summary", "Red was tried for the banner and found too loud.", "details", newObject("readFiles", []string{"web/palette.css"}, "modifiedFiles", []string{}))
	l.tell(parse("@agent\nAmber, #b45309, with white text: contrast 5.0 to 1.\n@user\nGood. 変更してください。\n@edit web/banner.css\n-color: red;\n+color: var(--amber);\n@agent\nDone.\n"))
	l.message("role", "bashExecution", "command", "npm run build", "output", "built in 812ms", "exitCode", 0, "cancelled", false, "truncated", false)
	l.message("role", "bashExecution", "command", "cat .env", "output", "API_URL=https://api.example", "exitCode", 0, "cancelled", false, "truncated", false, "excludeFromContext", true)
	l.entry("label", "targetId", l.parent, "label", "after-build")
	l.entry("session_info", "name", "warning banner")
	l.entry("custom", "customType", "todo-list", "data", newObject("open", 2))
	l.entry("custom_message", "customType", "todo-list", "content", "Two items are open: dark mode, print style.", "display", true)
	l.tell(parse("@compact 7400\n## Goal\nA warning banner in amber.\n@user\nAnd in dark mode?\n@agent\nThe same amber on #1c1917: contrast 4.9 to 1.\n"))
	return l.bytes()
}
