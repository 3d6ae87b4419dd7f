package cmd

import (
	"fmt"

	"github.com/dustin/go-humanize/english"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// settling is the policy of commands that finish earlier runs and change no
// session themselves.
func settling() compact.Policy { return compact.Policy{Quiet: compact.DefaultQuiet} }

// lateLines is what a run found out about lines that reached an old log after
// it was put aside (docs/json.md).
type lateLines struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"` // that was compacted
	compact.LateProof
}

// tellLate says what became of lines that an agent wrote to a log after it was
// moved aside.
func (a *app) tellLate(old session.Rotation, l compact.LateProof) {
	a.late = append(a.late, lateLines{Runtime: old.Runtime, Agent: old.Agent, Session: old.Session, LateProof: l})
	if l.Carried > 0 {
		a.notice(note{Path: l.Into, Message: fmt.Sprintf("%s that session %s got after it was closed now %s here too",
			english.Plural(l.Carried, "record", ""), old.Session, stand(l.Carried))})
	}
	const safe = "what was added after it was closed is archived and remembered"
	switch {
	case l.Waiting:
		a.notice(note{Path: old.Kept, Message: safe + ", and waits to be carried into the session that followed: " + l.Reason})
	case l.Reason != "":
		a.notice(note{Path: old.Kept, Message: safe + ", but not in the session that followed: " + l.Reason})
	case l.LeftOut > 0:
		a.notice(note{Path: old.Kept, Message: safe + "; of it the session that followed does not have " + english.Plural(l.LeftOut, "line", "") + ", which cannot stand there"})
	}
}

func stand(n int) string {
	if n == 1 {
		return "stands"
	}
	return "stand"
}
