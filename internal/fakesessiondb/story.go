package fakesessiondb

import "strings"

// The sessions of Story.
const (
	Plan   = "ses_dfefb5e79ffeK0LXI5FlLuXFY0" // a long one, with a compaction
	Child  = "ses_dfefb4a11ffechildagent0001" // begun by an agent of Plan
	Fork   = "ses_dfefa0bb9ffemP9FjUokwX3fqN" // a copy of the beginning of Plan
	Small  = "ses_dfef9fe1affe03vkktFQW1Kot6" // put away; the model refused it once
	Revert = "ses_dfef9f133ffeU278mzhU19PWg0" // taken back to before its last turn
)

// Began is when Plan began, in milliseconds of the epoch.
const Began = 1767340800000 // 2026-01-02T08:00:00Z

// Story writes five sessions: of two hours, all long ago.
func Story(d *Database) {
	at := int64(Began)
	next := func() int64 { at += 60_000; return at }
	d.Session(Plan, "", "Week plan", at)
	u := d.User(Plan, next(), "Plan the bakery week for me")
	d.Answer(Turn{Plan, u, next()}, Tokens(3228, 24, 4842), nil,
		Thing{"type": "reasoning", "text": "The ovens are the bottleneck, so the rye goes second."}, Text("The rye moves to the second slot."))
	u = d.User(Plan, next(), "list the files here")
	d.Answer(Turn{Plan, u, next()}, Tokens(3258, 8, 4887), Thing{"finish": "tool-calls"}, Tool("bash", "call_1", Thing{"command": "ls -la"}, "notes.txt\n", Thing{"exit": 0}))
	d.Answer(Turn{Plan, u, next()}, Tokens(3302, 22, 4951), nil, Text("There is one file, notes.txt."))
	u = d.User(Plan, next(), "Look at this picture of the tray")
	d.Part(Plan, u, at, Thing{"type": "file", "mime": "image/png", "filename": "tray.png", "url": "data:image/png;base64," + strings.Repeat("iVBORw0KGgo", 200)})
	kept := d.Answer(Turn{Plan, u, next()}, Tokens(14907, 24, 22360), nil, Text("The third tray is too dark."))
	u = d.User(Plan, next(), "delegate the flour count")
	d.Answer(Turn{Plan, u, next()}, Tokens(14925, 8, 22387), Thing{"finish": "tool-calls"},
		Tool("task", "call_2", Thing{"description": "count flour", "prompt": "Count the flour", "subagent_type": "general"}, "14 sacks of spelt", Thing{"sessionId": Child}))
	d.Session(Child, Plan, "count flour (@general subagent)", at)
	c := d.User(Child, next(), "Count the flour")
	d.Answer(Turn{Child, c, next()}, Tokens(2000, 12, 3000), nil, Text("There are 14 sacks of spelt."))
	u = d.User(Plan, next(), "crawl through the invoices")
	d.Answer(Turn{Plan, u, next()}, Tokens(0, 0, 0), Thing{"finish": nil, "error": Thing{"name": "MessageAbortedError", "data": Thing{"message": "Aborted"}}}, Text("I begin with the invoi"))
	u = d.Message(Plan, next(), Thing{"role": "user", "agent": "build", "model": Thing{"providerID": "mock", "modelID": "mock-large"}})
	d.Part(Plan, u, at, Thing{"type": "compaction", "auto": false, "tail_start_id": kept})
	d.Answer(Turn{Plan, u, next()}, Tokens(595, 78, 891), Thing{"summary": true, "mode": "compaction", "agent": "compaction"}, Text("## Goal\nPlan the bakery week."))
	u = d.User(Plan, next(), "And who opens the shop on Saturday?")
	d.Answer(Turn{Plan, u, next()}, Tokens(3378, 24, 5067), nil, Text("Two bakers are on the early shift on Saturday."))
	d.Do("INSERT INTO todo (session_id, content, status, priority, position, time_created, time_updated) VALUES (?, 'order rye', 'pending', 'high', 0, ?, ?)", Plan, at, at)
	d.Do("INSERT INTO session_share (session_id, id, secret, url, time_created, time_updated) VALUES (?, 'shr_1', 'not-for-the-archive', 'https://example.org/s/1', ?, ?)", Plan, at, at)

	d.Session(Fork, "", "Week plan (fork #1)", next())
	u = d.User(Fork, Began+60_000, "Plan the bakery week for me")
	d.Answer(Turn{Fork, u, Began + 120_000}, Tokens(3228, 24, 4842), nil, Text("The rye moves to the second slot."))
	u = d.User(Fork, next(), "Which supplier has the best rye?")
	d.Answer(Turn{Fork, u, next()}, Tokens(3372, 30, 5057), nil, Text("Fenwick has the better rye."))

	d.Session(Small, "", "Small one", next())
	u = d.User(Small, next(), "please fail now")
	d.Answer(Turn{Small, u, next()}, Tokens(0, 0, 0), Thing{"finish": nil, "error": Thing{"name": "APIError", "data": Thing{"message": "request refused", "statusCode": 400}}})
	d.Do("UPDATE session SET time_archived = ? WHERE id = ?", at, Small)

	d.Session(Revert, "", "Revert one", next())
	u = d.User(Revert, next(), "Plan the bakery week")
	d.Answer(Turn{Revert, u, next()}, Tokens(3227, 27, 4840), nil, Text("It is planned."))
	back := d.User(Revert, next(), "Move everything to Sunday")
	d.Answer(Turn{Revert, back, next()}, Tokens(3289, 22, 4932), nil, Text("Everything is on Sunday now."))
	d.Do("UPDATE session SET revert = ? WHERE id = ?", text(Thing{"messageID": back, "snapshot": "f6b2", "diff": ""}), Revert)
}
