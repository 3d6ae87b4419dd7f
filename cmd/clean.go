package cmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type cleanOptions struct {
	MaxAge   string
	Agent    string
	Archives bool
	Grace    string
	DryRun   bool
	Yes      bool
	Force    bool
	Undelete string

	maxAge, grace time.Duration
}

func (o *cleanOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.MaxAge, "max-age", "", "only sessions that nobody has used for this `age`: 7d, 4w, 240h")
	fs.StringVar(&o.Agent, "agent", "", "only sessions of this `agent`")
	fs.BoolVar(&o.Archives, "archives", false, "old archives too, by the rules of archive prune")
	fs.StringVar(&o.Grace, "grace", "7d", "how long what goes can be brought back, as an `age`")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
	fs.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	fs.BoolVar(&o.Force, "force", false, "allow more than half of an agent's sessions, and an age under a day")
	fs.StringVar(&o.Undelete, "undelete", "", "bring back the session with this `id`, or \"all\", from the trash")
	fromConfig(fs, "max-age", "clean.max_age")
	fromConfig(fs, "grace", "clean.grace")
}

func (o *cleanOptions) validate() (err error) {
	if o.Grace == "" {
		o.Grace = "7d"
	}
	if o.Undelete != "" {
		return nil
	}
	if o.MaxAge == "" {
		return usageError("sessctl clean --max-age 7d --dry-run", "how old? --max-age is needed")
	}
	if o.maxAge, err = parseAgo(o.MaxAge); err != nil || o.maxAge < 0 {
		return usageError("write 7d, 4w or 240h", "--max-age: %q is no age", o.MaxAge)
	}
	if o.grace, err = parseAgo(o.Grace); err != nil || o.grace < 0 {
		return usageError("write 7d or 24h", "--grace: %q is no age", o.Grace)
	}
	if o.maxAge < recentUse && !o.Force {
		return usageError("--force allows it", "--max-age %s is less than a day", o.MaxAge)
	}
	return nil
}

func newCleanCommand(a *app) *cobra.Command {
	var o cleanOptions
	c := &cobra.Command{
		Use:   "clean",
		Short: "Delete old sessions, once they are safe in the archive",
		Long: `Delete sessions that nobody has used for an age: logs that a runtime has closed,
and old sessions that it will not go on with by itself. A session goes only once
it is in the archive and the archive was read back; what has no archive gets one
first. The newest session of an agent stays, so does what an index names, what
somebody has open or has changed within a day, and what only its runtime may
change. Files that belong together go together.

What goes waits in a trash beside it for seven days and can be brought back with
--undelete; what has waited longer is removed for good. Every step has a line in
audit.jsonl under the data directory. Without a terminal --yes is needed.
` + exitHelp,
		Example: `  sessctl clean --max-age 7d --dry-run
  sessctl clean --max-age 7d --yes
  sessctl clean --max-age 30d --archives --yes
  sessctl clean --undelete 4f0c2a`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if o.Undelete != "" {
				return runCleanUndelete(c.Context(), a, o.Undelete)
			}
			return runClean(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

func runClean(ctx context.Context, a *app, o cleanOptions) error {
	c, err := a.newCleaner(o)
	if err != nil {
		return err
	}
	if o.DryRun {
		if err := c.plan(ctx); err != nil {
			return err
		}
		c.noteRefusal()
		return c.render()
	}
	all, _, err := a.listStores(ctx) // the plan says what is odd in them
	if err != nil {
		return err
	}
	w, err := a.openWorkspace(ctx, mode{reason: "clean", recover: &recovery{sessions: all.sessions, policy: recoveryPolicy()}})
	if err != nil {
		return err
	}
	defer w.close()
	if err := c.recover(); err != nil {
		return err
	}
	if err := c.plan(ctx); err != nil {
		return err
	}
	if err := c.agreed(); err != nil {
		return err
	}
	err = c.carryOut(ctx)
	return errors.Join(err, c.render(), c.outcome())
}

// noteRefusal says in a dry run what the real run would refuse.
func (c *cleaner) noteRefusal() {
	if c.options.Force {
		return
	}
	c.app.noteTooMuch("sessions", c.verdicts())
	if c.prune != nil {
		c.app.noteTooMuch("archives", c.prune.verdicts)
	}
}

// agreed refuses what is too much, and asks.
func (c *cleaner) agreed() error {
	if err := refuseTooMuch("sessions", c.verdicts()); err != nil && !c.options.Force {
		return err
	}
	if c.prune != nil && !c.options.Force {
		if err := refuseTooMuch("archives", c.prune.verdicts); err != nil {
			return err
		}
	}
	going := len(c.going()) + len(c.purge)
	if c.prune != nil {
		going += len(c.prune.going())
	}
	if going == 0 || c.options.Yes {
		return nil
	}
	if !c.app.global.JSON {
		if err := c.list(); err != nil {
			return err
		}
	}
	return c.app.confirm(fmt.Sprintf("delete %s?", plural(going, "file")))
}

// cleanDocument is `clean --json`.
type cleanDocument struct {
	Schema   int            `json:"schema"`
	DryRun   bool           `json:"dry_run"`
	MaxAge   string         `json:"max_age"`
	Sessions []cleanRow     `json:"sessions"`
	Bytes    int64          `json:"bytes"` // of the files that go
	Archives *pruneDocument `json:"archives"`
	Notes    []note         `json:"notes"`
}

// cleanRow is one session, or one file in the trash.
type cleanRow struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	Files   int    `json:"files"` // with what belongs to it
	Bytes   int64  `json:"bytes"`
	LastUse string `json:"last_use"` // RFC 3339, UTC
	Outcome string `json:"outcome"`  // trash, purge, undelete or kept
	Reason  string `json:"reason"`
}

// fileID is a safe id for a file, different for different paths.
func fileID(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:6])
}

// makeRows shows what goes, and of what is old enough why it stays.
func (c *cleaner) makeRows() {
	c.rows = nil
	now := c.app.now()
	for _, p := range c.plans {
		if !p.verdict.Goes && now.Sub(p.lastUse) <= c.options.maxAge {
			continue
		}
		row := cleanRow{
			Runtime: p.Runtime, Agent: p.Agent, Session: p.ID, Kind: string(p.Kind), Path: p.Path, Files: len(p.files), Bytes: p.Bytes,
			LastUse: p.lastUse.UTC().Format(time.RFC3339), Outcome: pruneKept, Reason: p.verdict.Reason,
		}
		if p.shortOf != "" {
			row.Reason = p.shortOf
		}
		if p.verdict.Goes {
			row.Outcome, row.Reason, row.Bytes = retention.ActionTrash, "unused for "+days(now.Sub(p.lastUse)), p.bytes()
		}
		c.rows = append(c.rows, row)
	}
	for _, item := range c.purge {
		c.rows = append(c.rows, cleanRow{
			Path: item.From, Files: 1, Bytes: item.Bytes, Outcome: retention.ActionPurge,
			LastUse: item.At.UTC().Format(time.RFC3339), Reason: "in the trash since " + item.At.UTC().Format(time.RFC3339),
		})
	}
}

func (p *cleanPlan) bytes() (n int64) {
	for _, f := range p.files {
		n += f.seen.Size
	}
	return n
}

func days(d time.Duration) string { return plural(int(d/(24*time.Hour)), "day") }

func (c *cleaner) render() error {
	doc := cleanDocument{Schema: 1, DryRun: c.options.DryRun, MaxAge: c.options.MaxAge, Sessions: append([]cleanRow{}, c.rows...), Notes: c.app.notes}
	going := 0
	for _, r := range c.rows {
		if r.Outcome != pruneKept {
			going++
			doc.Bytes += r.Bytes
		}
	}
	if c.prune != nil {
		c.prune.doc.Notes = []note{}
		doc.Archives = &c.prune.doc
	}
	if c.app.global.JSON {
		return c.app.printJSON(doc)
	}
	if err := c.list(); err != nil {
		return err
	}
	what := "deleted"
	switch {
	case c.options.DryRun:
		what = "would be deleted"
	case c.options.MaxAge == "":
		what = "brought back"
	}
	if c.prune != nil {
		going += len(c.prune.going())
		doc.Bytes += c.prune.doc.Bytes
	}
	return c.app.printRows([][]string{{strconv.Itoa(going), what, formatBytes(doc.Bytes)}})
}

// list prints the plan.
func (c *cleaner) list() error {
	var rows [][]string
	for _, r := range c.rows {
		rows = append(rows, []string{r.Outcome, r.Runtime, visible(r.Agent), visible(r.Session), r.LastUse, formatBytes(r.Bytes), visible(r.Reason)})
	}
	if err := c.app.printRows(rows); err != nil || c.prune == nil {
		return err
	}
	return c.prune.list()
}

// outcome decides the exit code.
func (c *cleaner) outcome() error {
	done := 0
	for _, r := range c.rows {
		if r.Outcome != pruneKept {
			done++
		}
	}
	switch {
	case c.failed > 0 && done > 0:
		return &outcomeError{exit: exitPartly}
	case c.failed > 0:
		return &outcomeError{exit: exitFailed}
	case c.busy > 0:
		return &outcomeError{exit: exitBusy}
	}
	return nil
}

// runCleanUndelete brings sessions back.
func runCleanUndelete(ctx context.Context, a *app, id string) error {
	c, err := a.newCleaner(cleanOptions{})
	if err != nil {
		return err
	}
	w, err := a.openWorkspace(ctx, mode{reason: "clean"})
	if err != nil {
		return err
	}
	defer w.close()
	if err := c.recover(); err != nil {
		return err
	}
	items, err := c.chosen(id)
	if err != nil {
		return err
	}
	stores, err := a.openStores()
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.mayReturn(stores, item); err != nil {
			c.leaveInTrash(item, err)
			continue
		}
		err := c.takeBack(item)
		if f := (*failure)(nil); errors.As(err, &f) {
			c.leaveInTrash(item, f)
			continue
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(c.render(), c.outcome())
}

// mayReturn returns an error for a place to which nothing may be brought back
// any more.
func (c *cleaner) mayReturn(stores []session.Store, item retention.Item) error {
	for _, s := range stores {
		if err := untouchable(s, item.From); err != nil {
			return err
		}
	}
	return nil
}

func (c *cleaner) leaveInTrash(item retention.Item, cause error) {
	var s trashedSession
	_ = json.Unmarshal(item.Detail, &s) // chosen has read it
	c.failed++
	n := note{Path: item.To, Message: "stays in the trash: " + cause.Error()}
	if f := (*failure)(nil); errors.As(cause, &f) {
		n.Hint = f.hint
	} else if s.Archive != "" {
		n.Hint = "sessctl archive restore " + s.Archive + " --to FILE puts its bytes into a file elsewhere"
	}
	c.app.notice(n)
}

// chosen are the records of all files of the session that an id names.
func (c *cleaner) chosen(id string) ([]retention.Item, error) {
	items, err := c.trash.List()
	if err != nil {
		return nil, err
	}
	var mine []retention.Item
	for _, item := range items {
		var s trashedSession
		if json.Unmarshal(item.Detail, &s) == nil && (id == "all" || s.Session == id || len(id) >= 4 && hasPrefix(s.Session, id) || hasPrefix(item.ID, id)) {
			mine = append(mine, item)
		}
	}
	if len(mine) == 0 {
		return nil, &failure{code: "unknown_session", exit: exitUsage, hint: "audit.jsonl under the data directory says what was deleted", err: fmt.Errorf("%q is not in the trash", id)}
	}
	return mine, nil
}

func hasPrefix(s, prefix string) bool {
	return len(prefix) > 0 && len(s) >= len(prefix) && s[:len(prefix)] == prefix
}

func (c *cleaner) takeBack(item retention.Item) error {
	var s trashedSession
	if err := json.Unmarshal(item.Detail, &s); err != nil {
		return fmt.Errorf("the record %s of the trash is not of a session", item.ID)
	}
	err := c.trash.TakeBack(item)
	if errors.Is(err, fs.ErrExist) {
		return &failure{code: "exists", exit: exitFailed, path: item.From, hint: "move it away first", err: fmt.Errorf("another file is at %s", item.From)}
	}
	if err != nil {
		return fmt.Errorf("bring %s back: %w", item.From, err)
	}
	line := retention.Line{
		Time: c.app.now().UTC(), Action: retention.ActionUndelete, Kind: item.Kind, Path: item.From,
		SHA256: item.SHA256, Bytes: item.Bytes, Archive: s.Archive, Rule: "clean --undelete",
	}
	if err := errors.Join(c.audit.Append(line), c.trash.Drop(item.ID)); err != nil {
		return err
	}
	c.rows = append(c.rows, cleanRow{
		Runtime: s.Runtime, Agent: s.Agent, Session: s.Session, Path: item.From, Bytes: item.Bytes,
		LastUse: item.At.UTC().Format(time.RFC3339), Outcome: retention.ActionUndelete, Reason: "back from the trash",
	})
	return nil
}

// untouchable asks a store about a place, if it has any such.
func untouchable(s session.Store, path string) error {
	if guard := s.Capabilities().Guard; guard != nil {
		return guard.Untouchable(path)
	}
	return nil
}
