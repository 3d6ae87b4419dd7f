package cmd

import (
	"fmt"

	"github.com/dustin/go-humanize/english"

	"github.com/sessctl/sessctl/pkg/compact"
)

// settling is the policy of commands that finish earlier runs and change no
// session themselves.
func settling() compact.Policy { return compact.Policy{Quiet: compact.DefaultQuiet} }

// tellLate says what became of lines that an agent wrote to a log after it was
// moved aside.
func (a *app) tellLate(l compact.LateLines) {
	switch {
	case l.Carried > 0:
		a.notice(note{Path: l.Into, Message: fmt.Sprintf("%s that session %s got after it was closed now %s here too",
			english.Plural(l.Carried, "record", ""), l.Session, stand(l.Carried))})
	case l.Reason != "":
		a.notice(note{Path: l.Kept, Message: "what was added after it was closed is archived and remembered, but not in the session that followed: " + l.Reason})
	}
}

func stand(n int) string {
	if n == 1 {
		return "stands"
	}
	return "stand"
}
