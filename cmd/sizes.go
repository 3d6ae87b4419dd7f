package cmd

import (
	"cmp"
	"context"
	"fmt"
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

	last   time.Time
	unread error // why it could not be read
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
	rows, err := a.measureAll(ctx, sessions, o)
	if err != nil {
		return err
	}
	for _, row := range rows {
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
