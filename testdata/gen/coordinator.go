package main

import "time"

// home is where the sample claims to have been written: another machine, as
// when a store was copied or a user renamed.
const home = "/home/maren/.openclaw"

const coordinatorDir = "sample/.openclaw/agents/coordinator/sessions/"

// The numbers that the index and the end of the log agree on.
const (
	window        = 200_000
	beforeCompact = 171_204 // tokens before the session's own compaction
	atTheEnd      = 168_044 // tokens after the last call
)

func gatewayDialect() dialect {
	return dialect{shell: "exec", openclaw: true, cwd: home + "/workspace", provider: "anthropic", api: "anthropic-messages", model: "claude-sonnet-4-5"}
}

// coordinator writes the agent of the demo: its long main session, a session
// that was reset before it, a cron session, and the index.
func coordinator(files map[string][]byte) error {
	main, err := mainSession()
	if err != nil {
		return err
	}
	cron := cronSession()
	index, err := coordinatorIndex(main, cron)
	if err != nil {
		return err
	}
	old := resetSession()
	for name, s := range map[string]*session{
		main.id + ".jsonl": main,
		cron.id + ".jsonl": cron,
		old.id + ".jsonl.reset.2026-03-01T18-22-40.118Z": old,
	} {
		data, err := s.log.bytes()
		if err != nil {
			return err
		}
		files[coordinatorDir+name] = data
	}
	files[coordinatorDir+"sessions.json"] = index
	return nil
}

// session is a log and what the index says of it.
type session struct {
	id  string
	key string
	log *log
}

// begin starts a log as OpenClaw does.
func begin(l *log, at time.Time) *session {
	l.moveTo(at)
	s := &session{id: l.uuid(), log: l}
	l.header(s.id)
	l.entry("model_change", "provider", l.dialect.provider, "modelId", l.dialect.model)
	l.entry("thinking_level_change", "thinkingLevel", "low")
	if l.dialect.openclaw {
		l.wait(80, 200)
		data := newObject("timestamp", l.now.UnixMilli(), "provider", l.dialect.provider, "modelApi", l.dialect.api, "modelId", l.dialect.model)
		l.custom("custom", "model-snapshot", "data", data)
	}
	return s
}

func mainSession() (*session, error) {
	l := newLog(gatewayDialect(), 41, phase{14_212, beforeCompact - 1_950}, phase{36_480, atTheEnd})
	s := begin(l, time.Date(2026, 3, 2, 8, 13, 41, 0, time.UTC))
	s.key = "agent:coordinator:main"
	acts, err := story("coordinator")
	if err != nil {
		return nil, err
	}
	asked := 0
	for i, a := range acts {
		if first := a.items[0]; i > 0 && first.kind == "at" && clock(first.arg).Sub(l.now) > 14*time.Hour {
			l.morning(clock(first.arg), &asked)
		}
		l.tell(a.items)
	}
	l.custom("custom", "openclaw.cache-ttl", "data", newObject("timestamp", l.now.UnixMilli(), "provider", l.dialect.provider, "modelId", l.dialect.model))
	return s, nil
}

func cronSession() *session {
	l := newLog(gatewayDialect(), 43, phase{9_120, 11_870})
	s := begin(l, time.Date(2026, 4, 19, 16, 0, 3, 0, time.UTC))
	s.key = "agent:coordinator:cron:weekly-report"
	l.tell(parse(`@user
[cron:weekly-report] Write the weekly report for the volunteers' group: loans, open repairs, shifts without a person. Do not send it.
@exec sqlite3 shed.db "select count(*) from loans where at > date('now','-7 days'); select count(*) from items where status in ('quarantine','repair'); select count(*) from shifts where person is null and day > date('now')"
133
2
1
@write reports/week-16.md
Week 16: 133 loans, 2 tools in repair (TL-0091, TL-0302), 1 shift without a person (Thursday 30 April, second place).
@agent
Report for week 16 is in reports/week-16.md: 133 loans, 2 tools in repair, 1 open place on Thursday 30 April. Not sent.
`))
	return s
}

func resetSession() *session {
	l := newLog(gatewayDialect(), 44, phase{8_800, 12_020})
	s := begin(l, time.Date(2026, 2, 27, 15, 2, 10, 0, time.UTC))
	l.tell(parse(`@user
Just trying you out. What can you see?
@exec pwd; ls
/home/maren/.openclaw/workspace
AGENTS.md  SOUL.md  notes  toolshed
@agent
My workspace with the notes and the toolshed repository. I have not changed anything.
@user
Write a haiku about a spirit level.
@agent
A bubble decides:
the shelf we both thought was straight
leans towards the door.
@user
Ha. On Monday we start for real.
@agent
Until Monday, then.
`))
	return s
}

// librarian writes the second agent, far below the threshold.
func librarian(files map[string][]byte) error {
	d := gatewayDialect()
	d.cwd = home + "/workspace-librarian"
	l := newLog(d, 47, phase{8_930, 21_340})
	s := begin(l, time.Date(2026, 4, 6, 7, 59, 12, 0, time.UTC))
	s.key = "agent:librarian:main"
	acts, err := story("librarian")
	if err != nil {
		return err
	}
	for _, a := range acts {
		l.tell(a.items)
	}
	const dir = "sample/.openclaw/agents/librarian/sessions/"
	if files[dir+s.id+".jsonl"], err = l.bytes(); err != nil {
		return err
	}
	files[dir+"sessions.json"], err = indexFile(member{s.key, s.entry("librarian", 21_340)})
	return err
}
