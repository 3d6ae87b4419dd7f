package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sessctl/sessctl/pkg/session"
)

// exactCountBytes is the total size of all sessions up to which messages are
// counted exactly; above it the count of a large log is estimated from its
// end, so that sizes stays faster than reading the files.
const exactCountBytes = 32 << 20

type sizesOptions struct {
	Agent     string
	Threshold int64
	Over      bool
	Sort      string
	Exact     bool
	All       bool
	ByType    bool
	Orphans   bool
	NoCache   bool
}

func (o *sizesOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "only sessions of this `agent`")
	fs.Int64Var(&o.Threshold, "threshold", 0, "mark sessions of at least this many `tokens` (default 150000)")
	fs.BoolVar(&o.Over, "over", false, "only sessions at or over the threshold")
	fs.StringVar(&o.Sort, "sort", "tokens", "sort by `key`: tokens, bytes, age or agent")
	fs.BoolVar(&o.Exact, "exact", false, "count messages exactly, reading every log in full")
	fs.BoolVar(&o.All, "all", false, "also closed logs, backups and checkpoints that the runtime keeps")
	fs.BoolVar(&o.ByType, "by-type", false, "show what fills the logs: bytes by type of record, base64, repeated text")
	fs.BoolVar(&o.Orphans, "orphans", false, "only sessions that the runtime's index does not name")
	fs.BoolVar(&o.NoCache, "no-cache", false, "read every log, also those that have not changed since the last run")
	fromConfig(fs, "threshold", "compaction.threshold")
}

func (o *sizesOptions) validate() error {
	if !slices.Contains([]string{"tokens", "bytes", "age", "agent"}, o.Sort) {
		return usageError("--sort takes tokens, bytes, age or agent", "unknown sort key %q", o.Sort)
	}
	if o.Threshold <= 0 {
		return usageError("", "--threshold must be positive, not %d", o.Threshold)
	}
	return nil
}

func newSizesCommand(a *app) *cobra.Command {
	var o sizesOptions
	c := &cobra.Command{
		Use:   "sizes",
		Short: "Show how full every session's context is",
		Long: `Show, for every session, how many tokens its context holds, where that figure
comes from, and whether it is at or over the threshold.

The figure is the last model call's own count plus an estimate of what was added
since ("usage"), or an estimate of everything ("estimate"). Only the end of each
log is read.
` + exitHelp,
		Example: `  sessctl sizes
  sessctl sizes --over
  sessctl sizes --by-type --all
  sessctl sizes --agent coordinator --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return runSizes(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

// sizesDocument is `sizes --json` (docs/json.md).
type sizesDocument struct {
	Schema    int           `json:"schema"`
	Threshold int64         `json:"threshold"`
	Sessions  []*sessionRow `json:"sessions"`
	Notes     []note        `json:"notes"`
}

// sessionRow is one session of `sizes`.
type sessionRow struct {
	Runtime        string   `json:"runtime"`
	Agent          string   `json:"agent"`
	Session        string   `json:"session"`
	Key            string   `json:"key"`
	Kind           string   `json:"kind"`
	Path           string   `json:"path"`
	Bytes          int64    `json:"bytes"`
	Messages       int      `json:"messages"`
	MessagesSource string   `json:"messages_source"` // count or estimate
	Tokens         int64    `json:"tokens"`
	TokenSource    string   `json:"token_source"`
	IndexTokens    *int64   `json:"index_tokens"` // the runtime's own counter, null if it has none
	ContextWindow  int      `json:"context_window"`
	Percent        *float64 `json:"percent"` // of the context window, null if that is unknown
	Over           bool     `json:"over"`
	LastActivity   string   `json:"last_activity"` // RFC 3339, UTC
	Expires        *string  `json:"expires"`       // when the runtime deletes the log by itself, null for never
	State          string   `json:"state"`
	Reason         string   `json:"reason"`

	last time.Time
}

func runSizes(ctx context.Context, a *app, o sizesOptions) error {
	if !o.ByType {
		a.openGlances(!o.NoCache)
	}
	all, err := a.findSessions(ctx)
	if err != nil {
		return err
	}
	if all, err = all.of(o.Agent); err != nil {
		return err
	}
	sessions := all.sessions
	a.warnOfPurge(ctx, sessions)
	if !o.All {
		sessions = slices.DeleteFunc(sessions, func(s found) bool { return !shown(s.Kind) })
	}
	if o.Orphans {
		sessions = slices.DeleteFunc(sessions, func(s found) bool { return s.Kind != session.KindOrphan })
	}
	if o.ByType {
		return runTypes(ctx, a, sessions)
	}
	doc := sizesDocument{Schema: 1, Threshold: o.Threshold, Sessions: make([]*sessionRow, 0, len(sessions))}
	exact := o.Exact || totalBytes(sessions) <= exactCountBytes
	for i := range sessions {
		s := &sessions[i]
		row, err := measure(ctx, a, s, o.Threshold, exact)
		if err != nil {
			return err
		}
		if row.Over || !o.Over {
			doc.Sessions = append(doc.Sessions, row)
		}
	}
	a.saveGlances()
	sortRows(doc.Sessions, o.Sort)
	doc.Notes = a.notes
	if a.global.JSON {
		return a.printJSON(doc)
	}
	return renderSizes(a, doc)
}

// shown says whether a log is one that an agent may still be using.
func shown(k session.Kind) bool {
	switch k {
	case session.KindLive, session.KindTopic, session.KindOrphan, session.KindArchived, session.KindDatabase, session.KindStored:
		return true
	}
	return false
}

func totalBytes(sessions []found) (total int64) {
	for _, s := range sessions {
		total += s.Bytes
	}
	return total
}

// measure reads the end of one log. A log that cannot be read is a row that
// says so, not the end of the run.
func measure(ctx context.Context, a *app, s *found, threshold int64, exact bool) (*sessionRow, error) {
	row := &sessionRow{
		Runtime: s.Runtime, Agent: s.Agent, Session: s.ID, Key: s.Key, Kind: string(s.Kind), Path: s.Path,
		Bytes: s.Bytes, ContextWindow: s.ContextWindow, State: string(s.State), Reason: s.Reason, last: s.ModTime,
	}
	if s.Counter.Tokens > 0 {
		row.IndexTokens = &s.Counter.Tokens
	}
	if !s.Expires.IsZero() {
		expires := s.Expires.UTC().Format(time.RFC3339)
		row.Expires = &expires
	}
	if s.Kind == session.KindDatabase {
		row.Tokens, row.TokenSource = s.Counter.Tokens, session.TokensFromIndex
	} else if err := row.readLog(ctx, a, s, exact); err != nil {
		if ctx.Err() != nil {
			return row, ctx.Err()
		}
		row.unreadable(a, s, err)
	}
	row.Over = row.Tokens >= threshold
	row.LastActivity = row.last.UTC().Format(time.RFC3339)
	if s.ContextWindow > 0 {
		percent := math.Round(1000*float64(row.Tokens)/float64(s.ContextWindow)) / 10
		row.Percent = &percent
	}
	return row, nil
}

func (r *sessionRow) readLog(ctx context.Context, a *app, s *found, exact bool) error {
	tail, err := a.tail(ctx, s)
	if err != nil {
		return err
	}
	r.Tokens, r.TokenSource = tail.Tokens, tail.TokenSource
	r.Messages, r.MessagesSource = tail.Messages, "count"
	if !tail.LastActivity.IsZero() {
		r.last = tail.LastActivity
	}
	if tail.MessagesExact {
		return nil
	}
	if counter, ok := s.store.(messageCounter); ok && exact {
		if r.Messages, err = counter.CountMessages(ctx, s.Ref); err == nil {
			a.glances.Counted(s.Path, r.Messages)
		}
		return err
	}
	r.MessagesSource = "estimate"
	return nil
}

// messageCounter is a store that can count a log's messages without reading
// what they say.
type messageCounter interface {
	CountMessages(ctx context.Context, ref session.Ref) (int, error)
}

func (r *sessionRow) unreadable(a *app, s *found, err error) {
	r.State, r.Reason, r.TokenSource = string(session.StateUnsupported), err.Error(), session.TokensFromEstimate
	if !errors.Is(err, session.ErrUnknownFormat) {
		a.notice(note{Path: s.Path, Message: err.Error()})
	}
}

func sortRows(rows []*sessionRow, key string) {
	slices.SortFunc(rows, func(x, y *sessionRow) int {
		first := 0
		switch key {
		case "tokens":
			first = cmp.Compare(y.Tokens, x.Tokens)
		case "bytes":
			first = cmp.Compare(y.Bytes, x.Bytes)
		case "age":
			first = x.last.Compare(y.last)
		}
		if first != 0 {
			return first
		}
		if first = byName(x, y); first != 0 {
			return first
		}
		return cmp.Or(cmp.Compare(y.Tokens, x.Tokens), strings.Compare(x.Path, y.Path))
	})
}

func byName(x, y *sessionRow) int {
	return cmp.Or(strings.Compare(x.Agent, y.Agent), strings.Compare(x.Runtime, y.Runtime), strings.Compare(x.Session, y.Session))
}

// thresholdState is the word of the table.
func (r *sessionRow) thresholdState() string {
	if r.Over {
		return "over"
	}
	return "ok"
}

func (r *sessionRow) name() string {
	if r.Key != "" && r.Reason != session.ReasonEarlier {
		return r.Key
	}
	return r.Session
}

func (r *sessionRow) messageCount() string {
	if r.MessagesSource == "estimate" {
		return "~" + formatCount(int64(r.Messages))
	}
	return fmt.Sprint(formatCount(int64(r.Messages)))
}
