package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// pinnedSession is a session that nothing deletes.
type pinnedSession struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Key     string `json:"key"`
	At      string `json:"at"` // when it was pinned, RFC 3339, UTC
}

func (p pinnedSession) same(o pinnedSession) bool {
	return p.Runtime == o.Runtime && p.Agent == o.Agent && p.Session == o.Session
}

// pinned are all of them, as they stand in the data directory.
type pinned struct {
	Schema   int             `json:"schema"`
	Sessions []pinnedSession `json:"sessions"`
}

func (a *settings) pinnedFile() string { return filepath.Join(a.dataDir(), "pinned.json") }

// mostPinned bounds the file of pinned sessions, in bytes.
const mostPinned = 16 << 20

// readPinned reads which sessions are pinned. Without the file none are; one that
// cannot be read is an error, and whoever deletes something deletes nothing then.
func (a *invocation) readPinned() (pinned, error) {
	p := pinned{Schema: 1, Sessions: []pinnedSession{}}
	text, err := a.readPinnedFile()
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err == nil && p.Schema != 1 {
		err = fmt.Errorf("it has schema %d, this version knows 1", p.Schema)
	}
	if err != nil {
		return p, &failure{
			code: "damaged", exit: exitIntegrity, path: a.pinnedFile(), err: fmt.Errorf("read which sessions are pinned (%s): %w", a.pinnedFile(), err),
			hint: "put the file back from a backup, or remove it and pin the sessions again: until then nothing is deleted",
		}
	}
	return p, nil
}

func (a *invocation) readPinnedFile() ([]byte, error) {
	f, err := a.pins.OpenRegular(a.pinnedFile())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostPinned+1))
	if err == nil && len(text) > mostPinned {
		err = fmt.Errorf("it has more than %s", formatBytes(mostPinned))
	}
	return text, err
}

const isPinned = "pinned (sessctl pin --remove unpins it)"

// keeps returns why nothing of a session may be deleted, or "".
func (p pinned) keeps(ref session.Ref) string {
	for _, s := range p.Sessions {
		own := ref.Agent == s.Agent && ref.ID == s.Session
		if ref.Runtime == s.Runtime && (own || ref.Parent == s.Session && s.Session != "" || strings.HasPrefix(ref.Key, s.Session+"/")) {
			return isPinned
		}
	}
	return ""
}

// neededBy joins two reasons why nothing of a session may be deleted.
func neededBy(needs compact.Needs, p pinned) func(session.Ref) string {
	return func(ref session.Ref) string { return cmp.Or(needs.Keeps(ref), p.keeps(ref)) }
}

type pinOptions struct {
	Sessions []string
	Agent    string
	Remove   bool
	DryRun   bool

	// exact says that the names are whole ids: no key and no longer id is meant.
	exact bool
	// agree is asked before the file is written, with the lock held; nil agrees.
	agree func(pinDocument) error
}

func (o *pinOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "the sessions are of this `agent`")
	fs.BoolVar(&o.Remove, "remove", false, "unpin these sessions")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print what would be pinned and change nothing")
}

func newPinCommand(a *app) *cobra.Command {
	var o pinOptions
	c := &cobra.Command{
		Use:   "pin [SESSION...]",
		Short: "Keep sessions: clean, archive prune and compact --shrink never delete them",
		Long: `Pin sessions: clean does not delete their logs, archive prune does not delete
their archives, and compact --shrink removes nothing of them from a database. What
belongs to them, sub-agents and long outputs, is kept with them. They are
compacted like others, which deletes nothing. What is in a trash already is not
brought back by a pin.

SESSION is a session's id, the start of one, or its key. Without one, the pinned
sessions are listed.
` + exitHelp,
		Example: `  sessctl pin
  sessctl pin 4f0c1d2e
  sessctl pin 4f0c1d2e --agent coordinator --dry-run
  sessctl pin --remove 4f0c1d2e`,
		RunE: func(c *cobra.Command, args []string) error {
			o.Sessions = args
			if len(args) == 0 && (o.Remove || o.DryRun || o.Agent != "") {
				return usageError("sessctl pin lists the pinned sessions", "which session? its id is missing")
			}
			return runPin(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

// askedPin is a session that was named.
type askedPin struct {
	pinnedSession
	// Places are the stores and databases that hold a session of this name, if
	// there are several: a pin is for all of them.
	Places []string `json:"places,omitempty"`
}

// pinDocument is `pin --json` (docs/json.md).
type pinDocument struct {
	Schema  int             `json:"schema"`
	DryRun  bool            `json:"dry_run"`
	Changed int             `json:"changed"` // sessions
	Asked   []askedPin      `json:"asked"`   // the sessions that were named
	Removed bool            `json:"removed"` // they are no longer pinned
	Pinned  []pinnedSession `json:"pinned"`  // all that are pinned now
	Notes   []note          `json:"notes"`
}

func runPin(ctx context.Context, a *app, o pinOptions) error {
	known, err := a.readPinned()
	if err != nil {
		return err
	}
	if len(o.Sessions) == 0 {
		return a.renderPins(pinDocument{Schema: 1, Asked: []askedPin{}, Pinned: known.Sessions})
	}
	doc, _, err := a.planPins(ctx, o, known)
	if err != nil {
		return err
	}
	if o.DryRun {
		return a.renderPins(doc)
	}
	w, err := a.openWorkspace(ctx, mode{reason: "archive", recover: &recovery{policy: a.recoveryPolicy(), optional: true}})
	if err != nil {
		return err
	}
	defer w.close()
	if known, err = a.readPinned(); err != nil { // another sessctl may have pinned some
		return err
	}
	doc, after, err := a.planPins(ctx, o, known)
	if err != nil {
		return err
	}
	if o.agree != nil {
		if err := o.agree(doc); err != nil {
			return err
		}
	}
	if doc.Changed > 0 {
		if err := a.writePinned(after); err != nil {
			return err
		}
		doc.Pinned = after.Sessions
	}
	return a.renderPins(doc)
}

// planPins says what would be changed, and what is pinned after it.
func (a *invocation) planPins(ctx context.Context, o pinOptions, known pinned) (doc pinDocument, after pinned, err error) {
	doc = pinDocument{Schema: 1, DryRun: o.DryRun, Removed: o.Remove, Asked: []askedPin{}, Pinned: known.Sessions}
	sessions, places, err := a.sessionsToPin(ctx, o, known)
	if err != nil {
		return doc, known, err
	}
	for _, s := range sessions {
		doc.Asked = append(doc.Asked, askedPin{s, places.of(s.Runtime, s.Agent, s.Session)})
	}
	if after = known.with(sessions); o.Remove {
		after = known.without(sessions)
	}
	doc.Changed = max(len(after.Sessions)-len(known.Sessions), len(known.Sessions)-len(after.Sessions))
	return doc, after, nil
}

func (p pinned) with(more []pinnedSession) pinned {
	all := slices.Clone(p.Sessions)
	for _, s := range more {
		if !slices.ContainsFunc(all, s.same) {
			all = append(all, s)
		}
	}
	return pinned{Schema: 1, Sessions: all}
}

func (p pinned) without(some []pinnedSession) pinned {
	all := slices.DeleteFunc(slices.Clone(p.Sessions), func(s pinnedSession) bool { return slices.ContainsFunc(some, s.same) })
	return pinned{Schema: 1, Sessions: all}
}

// writePinned replaces the file. The caller holds the lock.
func (a *invocation) writePinned(p pinned) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	err = a.pins.ReplaceFile(a.pinnedFile(), 0o600, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("write which sessions are pinned: %w", err)
	}
	return nil
}

// sessionsToPin finds the sessions that were named: in the stores and in the
// archive, or to let go among those that are pinned. places are where sessions are.
func (a *invocation) sessionsToPin(ctx context.Context, o pinOptions, known pinned) (sessions []pinnedSession, places sessionPlaces, err error) {
	var all []archive.Meta
	for _, p := range known.Sessions {
		all = append(all, archive.Meta{Runtime: p.Runtime, Agent: p.Agent, Session: p.Session, Key: p.Key})
	}
	before := a.incomplete
	listed, _, err := a.listStores(ctx)
	if f := (*failure)(nil); err != nil && !o.Remove && !(errors.As(err, &f) && f.code == "no_store") {
		return nil, nil, err
	}
	if o.Remove { // what is pinned is known without them
		a.incomplete = before
	}
	entries, err := a.archived(ctx, archive.Filter{})
	if err != nil {
		return nil, nil, err
	}
	for _, s := range listed.sessions {
		if s.Kind != session.KindDatabase && !o.Remove {
			all = append(all, archiveMeta(s.Ref))
		}
	}
	for _, e := range entries {
		if !o.Remove {
			all = append(all, e.Meta)
		}
	}
	within := scope{a.global.Runtime, o.Agent}
	for _, name := range o.Sessions {
		id := name
		if !o.exact {
			if id, err = knownSession(all, name, within); err != nil {
				return nil, nil, o.notPinned(name, err)
			}
		}
		for _, m := range all {
			s := pinnedSession{Runtime: m.Runtime, Agent: m.Agent, Session: m.Session, Key: m.Key, At: a.now().UTC().Format(time.RFC3339)}
			meant := m.Session == id || m.Key == id && !o.exact
			if meant && within.holds(m.Runtime, m.Agent) && !slices.ContainsFunc(sessions, s.same) {
				sessions = append(sessions, s)
			}
		}
	}
	return sessions, placesOf(listed, entries), nil
}

// notPinned says of a session that is to be let go, and is unknown among those that
// are pinned, that it is not pinned: it may well exist.
func (o pinOptions) notPinned(name string, err error) error {
	f := (*failure)(nil)
	if o.Remove && errors.As(err, &f) && f.code == "unknown_session" {
		return &failure{code: f.code, exit: f.exit, hint: "sessctl pin lists the pinned sessions", err: fmt.Errorf("%q is not a pinned session", name)}
	}
	return err
}

func (a *app) renderPins(doc pinDocument) error {
	doc.Notes = a.notes
	if a.JSON {
		return a.printJSON(doc)
	}
	if len(doc.Asked) > 0 {
		_, err := io.WriteString(a.Out, describePins(doc))
		return err
	}
	t := table{empty: "no session is pinned", columns: []column{{name: "RUNTIME"}, {name: "AGENT", least: 8}, {name: "SESSION", least: 12}, {name: "KEY", drop: 1}, {name: "SINCE", drop: 2}}}
	var rows [][]string
	for _, s := range doc.Pinned {
		rows = append(rows, []string{visible(s.Runtime), visible(s.Agent), visible(s.Session), visible(s.Key), visible(s.At)})
		t.rows = append(t.rows, []string{s.Runtime, s.Agent, s.Session, cmp.Or(s.Key, unknownFigure), shownTime(s.At)})
	}
	return a.printList(t, rows)
}

const pinnedNoMore = "no longer pinned"

// describePins says what was done with the sessions that were named.
func describePins(doc pinDocument) string {
	what := map[[2]bool]string{
		{false, false}: "pinned: clean, archive prune and compact --shrink keep it", {true, false}: "would be pinned: clean, archive prune and compact --shrink keep it then",
		{false, true}: pinnedNoMore, {true, true}: "would no longer be pinned: clean and archive prune may delete it by their rules then",
	}[[2]bool{doc.DryRun, doc.Removed}]
	if doc.Changed == 0 {
		what = map[bool]string{false: "pinned already", true: "is not pinned"}[doc.Removed]
	}
	text, means := "", "the pin is for all of them"
	if doc.Removed {
		means = "the pin was for all of them"
	}
	for _, s := range doc.Asked {
		text += fmt.Sprintf("%s %s: %s\n", visible(s.Agent), visible(s.Session), what)
		text += describePlaces(s.Places, means)
	}
	return text
}
