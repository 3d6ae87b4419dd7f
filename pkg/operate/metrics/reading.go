package metrics

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Reading is what there is to tell. A pointer that is nil, and an agent that is
// not named, could not be looked at: their series are left out, which is not the
// same as 0.
type Reading struct {
	Version, Go string
	Time        time.Time // when it was read
	Threshold   int64     // tokens at which a session is due for a compaction; 0 if they do not decide
	Percent     int64     // of its window, at which it is due; 0 if that does not decide
	Due         Due
	Agents      []Agent
	Disks       []Disk
	Archives    *Archives
	Memory      *Memory
	Runs        *Runs
	Events      *Events
	Unreadable  int            // logs, directories and stores that could not be read
	Unread      map[string]int // what was seen and not read, by its cause
}

// Agent is an agent of a runtime. Of an agent that has sessions in several stores
// there may be several; they are added up.
type Agent struct {
	Runtime, Agent string
	Sessions       int     // that a compaction of everything means
	Over           int     // of them, due for one
	Tokens         int64   // of the largest of them
	Ratio          float64 // of the context window that the fullest of them fills; 0 if none is known
	LogBytes       int64   // of all logs, closed ones too
	ArchiveBytes   int64   // of all archives, as stored
	Pending        int64   // records that wait for an embedding
	Purge          time.Time
}

// Due counts the sessions that are due for a compaction, by what made them so.
type Due struct {
	Tokens, Share, Runtime int // the two parts of the threshold, and their runtime's own rule
}

// Disk is the file system of a directory.
type Disk struct {
	Directory string
	Free      int64 // bytes
}

// Archives counts the archive.
type Archives struct {
	Count   int
	Damaged int // of what can be seen without reading them
}

// Memory counts the memory.
type Memory struct {
	Bytes   int64
	Records int
}

// Runs counts the runs of profiles.
type Runs struct {
	Total    map[string]int64 // by outcome
	Profiles []Profile
}

// Profile is how the last run of a profile went, and when one last succeeded.
type Profile struct {
	Profile  string
	Success  time.Time // zero if none has
	Duration time.Duration
}

// Events counts the outbox.
type Events struct {
	Waiting, Dead int
}

// MaxAgents bounds the agents that are named. The others, those with the fewest
// tokens and the smallest logs, are one: runtime and agent "other".
const MaxAgents = 200

// other is the name of the agents beyond [MaxAgents].
const other = "other"

// label is a text as a value of a label: valid UTF-8, and not a page long.
func label(text string) string {
	const most = 128
	text = strings.ToValidUTF8(text, "\uFFFD")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

// named are the agents with the labels that they get, each pair once.
func (r Reading) named() []Agent {
	all := merged(r.Agents)
	if len(all) <= MaxAgents {
		return all
	}
	slices.SortStableFunc(all, func(x, y Agent) int {
		return cmp.Or(cmp.Compare(y.Tokens, x.Tokens), cmp.Compare(y.LogBytes+y.ArchiveBytes, x.LogBytes+x.ArchiveBytes))
	})
	for i := MaxAgents - 1; i < len(all); i++ {
		all[i].Runtime, all[i].Agent = other, other
	}
	return merged(all)
}

// merged adds up agents that have the same labels.
func merged(agents []Agent) []Agent {
	var all []Agent
	at := map[[2]string]int{}
	for _, a := range agents {
		a.Runtime, a.Agent = label(a.Runtime), label(a.Agent)
		i, known := at[[2]string{a.Runtime, a.Agent}]
		if !known {
			at[[2]string{a.Runtime, a.Agent}] = len(all)
			all = append(all, a)
			continue
		}
		all[i] = all[i].with(a)
	}
	return all
}

func (a Agent) with(b Agent) Agent {
	a.Sessions, a.Over = a.Sessions+b.Sessions, a.Over+b.Over
	a.Tokens, a.Ratio = max(a.Tokens, b.Tokens), max(a.Ratio, b.Ratio)
	a.LogBytes, a.ArchiveBytes, a.Pending = a.LogBytes+b.LogBytes, a.ArchiveBytes+b.ArchiveBytes, a.Pending+b.Pending
	if a.Purge.IsZero() || !b.Purge.IsZero() && b.Purge.Before(a.Purge) {
		a.Purge = b.Purge
	}
	return a
}
