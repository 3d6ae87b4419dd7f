package monitor

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
)

// Kind is what is wrong.
type Kind string

// The kinds of what is watched.
const (
	NeedsCompaction Kind = "compaction"
	UnusualGrowth   Kind = "growth"
	PurgeSoon       Kind = "purge"
	DiskLow         Kind = "disk"
	ArchiveDamaged  Kind = "archive"
	LogUnreadable   Kind = "unreadable"  // it should be read
	PassedOver      Kind = "passed-over" // what is never read
	StoreMissing    Kind = "store"
	PendingVectors  Kind = "pending"
	RunOverdue      Kind = "overdue"
)

// event returns the type of the events that tell of the kind.
func (k Kind) event() string {
	switch k {
	case NeedsCompaction:
		return outbox.NeedsCompaction
	case UnusualGrowth:
		return outbox.GrowthUnusual
	case PurgeSoon:
		return outbox.PurgeSoon
	case DiskLow:
		return outbox.DiskLow
	case ArchiveDamaged:
		return outbox.ArchiveDamaged
	case LogUnreadable, PassedOver:
		return outbox.SessionUnreadable
	case StoreMissing:
		return outbox.StoreMissing
	case PendingVectors:
		return outbox.MemoryPending
	case RunOverdue:
		return outbox.RunOverdue
	}
	return string(k)
}

// gathers says that all of the kind that begins at one look is one event: a disk
// that dies takes a thousand archives with it.
func (k Kind) gathers() bool { return k == ArchiveDamaged || k == LogUnreadable || k == PassedOver }

// waits says that events of the kind are held in quiet hours. A session that
// needs a compaction is no alert: somebody may compact it for that.
func (k Kind) waits() bool { return k != NeedsCompaction }

// level is on which side of its limit a value is.
type level int

const (
	off   level = iota
	near        // neither: what was raised stays, nothing is raised
	above       // at the limit or over it
)

// observation is one thing that was looked at.
type observation struct {
	kind    Kind
	subject string // what it is about; with the kind the key of the condition
	level   level
	// mark grows when something is wrong that was not when the condition was told.
	mark    int64
	message string // for people, while the level is not off
	advice  string
	now     string // what is said in its place at this moment, to who looks; "" for advice
	data    any
}

// key is the name of the condition.
func (o observation) key() string { return string(o.kind) + " " + o.subject }

// levelOf compares a value that is bad when it is large.
func levelOf(value, limit, rearm int64) level {
	switch {
	case value > limit:
		return above
	case value >= rearm:
		return near
	}
	return off
}

// observe makes observations of a look; the state has taken it in already.
func (s *State) observe(look Look, o Options) []observation {
	var all []observation
	for _, x := range look.Sessions {
		all = append(all, x.observe())
	}
	for _, x := range look.Agents {
		all = append(all, s.observeGrowth(x, look.Time, o.Growth))
	}
	for _, x := range look.Purges {
		all = append(all, x.observe(look.Time))
	}
	for _, x := range look.Disks {
		all = append(all, x.observe())
	}
	for _, x := range look.Archives {
		all = append(all, observation{
			kind: ArchiveDamaged, subject: cmp.Or(x.ID, x.Path), level: above, data: x,
			message: x.text(), advice: "restore it from a backup; sessctl archives verify lists all that is damaged",
		})
	}
	for _, x := range look.Unread {
		all = append(all, observation{
			kind: x.kind(), subject: x.subject(), level: above, mark: int64(x.Count), data: x,
			message: x.Path + ": " + x.Message, advice: x.Hint,
		})
	}
	for _, x := range look.Stores {
		all = append(all, x.observe())
	}
	if look.Memory != nil {
		all = append(all, s.observePending(*look.Memory, look.Time))
	}
	for _, x := range look.Profiles {
		all = append(all, s.observeProfile(x, look.Time, o.Overdue))
	}
	return all
}

func (x Unreadable) kind() Kind {
	if x.Broken {
		return LogUnreadable
	}
	return PassedOver
}

// subject says whose it is and why it was not read: one more is no other condition.
func (x Unreadable) subject() string { return x.Runtime + " (" + x.Cause + ")" }

// text is the message, with the path where it does not name that itself.
func (x DamagedArchive) text() string {
	if strings.Contains(x.Message, x.Path) {
		return x.Message
	}
	return x.Path + ": " + x.Message
}

func (x Session) observe() observation {
	o := observation{kind: NeedsCompaction, subject: x.Runtime + "/" + x.Agent + "/" + x.Session, data: x, advice: "sessctl compact --runtime " + x.Runtime + " --agent " + x.Agent}
	if x.Strategy == "none" {
		o.advice = "only " + x.Runtime + " makes its sessions smaller; " + o.advice + " archives and remembers it"
	}
	if x.Busy != "" {
		o.now = x.Agent + " is busy (" + x.Busy + "): a later compaction takes it"
	}
	if x.Refused != "" {
		o.now = x.Agent + " cannot be compacted: " + x.Refused
	}
	switch {
	case x.Over && !x.Unused:
		o.level = above
	case x.Over, x.Near:
		o.level = near
	}
	o.message = fmt.Sprintf("%s tokens, the threshold is %s", humanize.Comma(x.Tokens), humanize.Comma(x.Threshold))
	if x.Tokens < x.Threshold {
		o.message = fmt.Sprintf("due by the rule of its runtime, with %s tokens", humanize.Comma(x.Tokens))
	}
	return o
}

// growthData is the data of a growth.unusual event.
type growthData struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Store   string `json:"store"`
	Bytes   int64  `json:"bytes"`          // of all logs of the agent
	Rate    int64  `json:"bytes_per_hour"` // now
	Limit   int64  `json:"limit_bytes_per_hour"`
}

func (s *State) observeGrowth(x AgentSize, now time.Time, rule Growth) observation {
	subject := x.subject()
	o := observation{kind: UnusualGrowth, subject: subject, advice: "see what fills its logs: sessctl sizes --runtime " + x.Runtime + " --agent " + x.Agent + " --by-type"}
	h := s.Agents[subject]
	limit, known := h.limit(rule)
	if !known {
		return o
	}
	rate := h.rate(now)
	o.level = levelOf(rate, limit, limit/2)
	o.message = fmt.Sprintf("grows by %s an hour, usual is less than %s", size(rate), size(limit))
	o.data = growthData{x.Runtime, x.Agent, x.Store, x.Bytes, rate, limit}
	return o
}

// size is a number of bytes for people.
func size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

func (x Purge) observe(now time.Time) observation {
	o := observation{kind: PurgeSoon, subject: x.Runtime + "/" + x.Agent + " in " + x.Store, data: x, advice: "sessctl archive --runtime " + x.Runtime + " --agent " + x.Agent}
	if x.Sessions == 0 {
		return o
	}
	o.level, o.mark = above, x.Last.Unix()/(24*60*60) // once a day at most
	when := "from " + x.Deadline.UTC().Format(time.DateOnly) + " on"
	if !x.Deadline.After(now) {
		when = "at its next start"
	}
	o.message = fmt.Sprintf("%s deletes %d of its logs that have no archive, the first (%s) %s", x.Runtime, x.Sessions, x.Session, when)
	return o
}

func (x Disk) observe() observation {
	o := observation{kind: DiskLow, subject: x.Path, data: x, advice: "make room; sessctl archives prune --max-age 90d --dry-run and sessctl clean --max-age 30d --dry-run say what may go"}
	switch {
	case x.Free < x.Limit:
		o.level = above
	case x.Free < x.Limit+x.Limit/10:
		o.level = near
	}
	o.message = fmt.Sprintf("%s free, the limit is %s", size(x.Free), size(x.Limit))
	return o
}

func (x Store) observe() observation {
	o := observation{
		kind: StoreMissing, subject: x.Root, data: x,
		message: "the store of " + x.Runtime + " is not there any more",
		advice:  "if it was removed on purpose nothing needs to be done: this ends a week after it was last seen",
	}
	if x.Missing {
		o.level = above
	}
	return o
}

// pendingLimit is how long records may wait for an embedding.
const pendingLimit = 24 * time.Hour

func (s *State) observePending(x Memory, now time.Time) observation {
	o := observation{kind: PendingVectors, subject: "memory", advice: "sessctl doctor says whether the embedder serves; sessctl memory reindex --pending makes the vectors then"}
	if s.PendingSince.IsZero() {
		return o
	}
	x.Since = s.PendingSince
	o.data = x
	o.message = fmt.Sprintf("%d records wait for an embedding since %s; they are found by their words only", x.Pending, x.Since.UTC().Format(time.RFC3339))
	if o.level = near; now.Sub(s.PendingSince) >= pendingLimit {
		o.level = above
	}
	return o
}

// leastOverdue is how long ago the last success of a profile may be, whatever
// its pauses were: a nightly run that came late is not overdue.
const leastOverdue = 26 * time.Hour

func (s *State) observeProfile(x Profile, now time.Time, limit time.Duration) observation {
	o := observation{kind: RunOverdue, subject: x.Profile, data: x, advice: "sessctl log says how its runs ended; sessctl run " + x.Profile + " runs it now"}
	if limit < 0 {
		return o
	}
	if limit == 0 {
		limit = max(leastOverdue, 2*x.Pause)
	}
	ago := now.Sub(s.Profiles[x.Profile].Seen)
	if ago > limit {
		o.level = above
	}
	o.message = fmt.Sprintf("the last successful run of %s was %s ago", x.Profile, ago.Round(time.Minute))
	if x.Never {
		o.message = fmt.Sprintf("no run of %s has succeeded since %s ago", x.Profile, ago.Round(time.Minute))
	}
	return o
}
