package removal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/session"
)

// PinnedSession is a session that nothing deletes, as the file has it.
type PinnedSession = workspace.PinnedSession

// PinnedSessions are all sessions that are pinned, as the file in the data
// directory has them.
type PinnedSessions = workspace.PinnedSessions

// ReadPinned reads which sessions are pinned. Without the file none are, unless the
// ledger knows of some. If the file cannot be read, or lacks one that the ledger has,
// that is an error, and whoever deletes something deletes nothing then.
func ReadPinned(ctx context.Context, run *workspace.Run) (PinnedSessions, error) {
	p, err := workspace.ListPinned(run)
	if err != nil {
		return p, &failure.Error{
			Code: "damaged", Exit: failure.ExitIntegrity, Path: run.PinnedFile(), Err: fmt.Errorf("read which sessions are pinned (%s): %w", run.PinnedFile(), err),
			Hint: "put the file back from a backup, or remove it and pin the sessions again: until then nothing is deleted",
		}
	}
	known, err := workspace.LedgerOf(run).State(ctx)
	if err != nil {
		return p, &failure.Error{Code: "damaged", Exit: failure.ExitIntegrity, Path: run.LedgerDir(), Err: fmt.Errorf("which sessions are pinned cannot be checked: %w", err), Hint: workspace.AdviseLedger}
	}
	lost, err := workspace.LostPins(run, known)
	if err == nil && len(lost) > 0 {
		err = &failure.Error{
			Code: "damaged", Exit: failure.ExitIntegrity, Path: run.PinnedFile(), Hint: audit.AdvisePins,
			Err: fmt.Errorf("the list of pinned sessions (%s) lacks %s that the ledger has: %s of %s", run.PinnedFile(), wording.Plural(len(lost), "pin"), lost[0].Session, lost[0].Agent),
		}
	}
	return p, err
}

// RestorePins pins the sessions again that the ledger says are pinned, and returns how
// many there were. The caller holds the lock.
func RestorePins(ctx context.Context, run *workspace.Run) (int, error) {
	known, err := workspace.LedgerOf(run).State(ctx)
	if err != nil {
		return 0, err
	}
	lost, err := workspace.LostPins(run, known)
	if err != nil || len(lost) == 0 {
		return 0, err
	}
	listed, err := workspace.ListPinned(run)
	if err != nil {
		return 0, err
	}
	var more []PinnedSession
	for _, f := range lost {
		more = append(more, PinnedSession{Runtime: f.Runtime, Agent: f.Agent, Session: f.Session, At: f.When().Format(time.RFC3339)})
	}
	return len(lost), WritePinned(run, withPins(listed, more))
}

// keepsPinned returns why nothing of a session may be deleted, or "".
func keepsPinned(p PinnedSessions, ref session.Ref) string {
	for _, s := range p.Sessions {
		own := ref.Agent == s.Agent && ref.ID == s.Session
		if ref.Runtime == s.Runtime && (own || ref.Parent == s.Session && s.Session != "" || strings.HasPrefix(ref.Key, s.Session+"/")) {
			return session.ReasonPinned.Text()
		}
	}
	return ""
}

// neededBy joins two reasons why nothing of a session may be deleted.
func neededBy(needs compact.Needs, p PinnedSessions) func(session.Ref) string {
	return func(ref session.Ref) string { return cmp.Or(needs.Keeps(ref), keepsPinned(p, ref)) }
}

// PinOptions are the options of pin.
type PinOptions struct {
	Sessions []string
	Agent    agentset.Set
	Remove   bool
	DryRun   bool

	// Exact says that the names are whole ids: no key and no longer id is meant.
	Exact bool
	// Agree is asked before the file is written, with the lock held; nil agrees.
	Agree func(PinDocument) error
}

// PinRow is a session that is pinned.
type PinRow struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Key     string `json:"key"`
	At      string `json:"at"`
}

// NewPinRows is what is printed of pinned sessions: an empty list of none.
func NewPinRows(sessions []PinnedSession) []PinRow {
	rows := make([]PinRow, 0, len(sessions))
	for _, s := range sessions {
		rows = append(rows, PinRow(s))
	}
	return rows
}

// AskedPin is a session that was named.
type AskedPin struct {
	PinRow
	// Places are the stores and databases that hold a session of this name, if
	// there are several: a pin is for all of them.
	Places []string `json:"places,omitempty"`
}

// PinDocument is `pin --json` (docs/json.md).
type PinDocument struct {
	Schema  int              `json:"schema"`
	DryRun  bool             `json:"dry_run"`
	Changed int              `json:"changed"` // sessions
	Asked   []AskedPin       `json:"asked"`   // the sessions that were named
	Removed bool             `json:"removed"` // they are no longer pinned
	Pinned  []PinRow         `json:"pinned"`  // all that are pinned now
	Notes   []workspace.Note `json:"notes"`
}

// PlanPins says what would be changed, and what is pinned after it.
func PlanPins(ctx context.Context, run *workspace.Run, o PinOptions, known PinnedSessions) (doc PinDocument, after PinnedSessions, err error) {
	doc = PinDocument{Schema: 1, DryRun: o.DryRun, Removed: o.Remove, Asked: []AskedPin{}, Pinned: NewPinRows(known.Sessions)}
	sessions, places, err := sessionsToPin(ctx, run, o, known)
	if err != nil {
		return doc, known, err
	}
	for _, s := range sessions {
		doc.Asked = append(doc.Asked, AskedPin{PinRow(s), places.Of(s.Runtime, s.Agent, s.Session)})
	}
	if after = withPins(known, sessions); o.Remove {
		after = withoutPins(known, sessions)
	}
	doc.Changed = max(len(after.Sessions)-len(known.Sessions), len(known.Sessions)-len(after.Sessions))
	return doc, after, nil
}

func withPins(p PinnedSessions, more []PinnedSession) PinnedSessions {
	all := slices.Clone(p.Sessions)
	for _, s := range more {
		if !slices.ContainsFunc(all, s.Same) {
			all = append(all, s)
		}
	}
	return PinnedSessions{Schema: 1, Sessions: all}
}

func withoutPins(p PinnedSessions, some []PinnedSession) PinnedSessions {
	all := slices.DeleteFunc(slices.Clone(p.Sessions), func(s PinnedSession) bool { return slices.ContainsFunc(some, s.Same) })
	return PinnedSessions{Schema: 1, Sessions: all}
}

// WritePinned replaces the file, and tells the ledger: of a session that is let go
// before, of the others after. The caller holds the lock.
func WritePinned(run *workspace.Run, p PinnedSessions) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	before, err := workspace.ListPinned(run)
	if err == nil {
		err = workspace.Witness(run, letGo(run, before, p)...)
	}
	if err == nil {
		err = run.Pins.ReplaceFile(run.PinnedFile(), 0o600, func(w io.Writer) error {
			_, err := w.Write(append(text, '\n'))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("write which sessions are pinned: %w", err)
	}
	var all []ledger.Leaf
	for _, s := range p.Sessions {
		all = append(all, workspace.PinLeaf(s))
	}
	workspace.Enter(run, all...)
	return nil
}

// letGo are the leaves of sessions that are not pinned any more.
func letGo(run *workspace.Run, before, after PinnedSessions) (leaves []ledger.Leaf) {
	for _, s := range before.Sessions {
		if !slices.ContainsFunc(after.Sessions, s.Same) {
			leaves = append(leaves, ledger.Leaf{Kind: ledger.Unpinned, At: run.Now().UnixMilli(), Runtime: s.Runtime, Agent: s.Agent, Session: s.Session})
		}
	}
	return leaves
}

// sessionsToPin finds the sessions that were named: in the stores and in the
// archive, or to let go among those that are pinned. places are where sessions are.
func sessionsToPin(ctx context.Context, run *workspace.Run, o PinOptions, known PinnedSessions) (sessions []PinnedSession, places selection.SessionPlaces, err error) {
	var all []archive.Meta
	for _, p := range known.Sessions {
		all = append(all, archive.Meta{Runtime: p.Runtime, Agent: p.Agent, Session: p.Session, Key: p.Key})
	}
	before := run.Incomplete
	listed, _, err := run.ListStores(ctx)
	if f := (*failure.Error)(nil); err != nil && !o.Remove && !(errors.As(err, &f) && f.Code == "no_store") {
		return nil, nil, err
	}
	if o.Remove { // what is pinned is known without them
		run.Incomplete = before
	}
	entries, err := selection.Archived(ctx, run, archive.Filter{})
	if err != nil {
		return nil, nil, err
	}
	for _, s := range listed.Sessions {
		if s.Kind != session.KindDatabase && !o.Remove {
			all = append(all, workspace.ArchiveMeta(s.Ref))
		}
	}
	for _, e := range entries {
		if !o.Remove {
			all = append(all, e.Meta)
		}
	}
	within := selection.Scope{Runtime: run.Global.Runtime, Agent: o.Agent}
	for _, name := range o.Sessions {
		id := name
		if !o.Exact {
			if id, err = selection.KnownSession(all, name, within); err != nil {
				return nil, nil, o.notPinned(name, err)
			}
		}
		for _, m := range all {
			s := PinnedSession{Runtime: m.Runtime, Agent: m.Agent, Session: m.Session, Key: m.Key, At: run.Now().UTC().Format(time.RFC3339)}
			meant := m.Session == id || m.Key == id && !o.Exact
			if meant && within.Holds(m.Runtime, m.Agent) && !slices.ContainsFunc(sessions, s.Same) {
				sessions = append(sessions, s)
			}
		}
	}
	return sessions, selection.PlacesOf(listed, entries), nil
}

// notPinned says of a session that is to be let go, and is unknown among those that
// are pinned, that it is not pinned: it may well exist.
func (o PinOptions) notPinned(name string, err error) error {
	f := (*failure.Error)(nil)
	if o.Remove && errors.As(err, &f) && f.Code == "unknown_session" {
		return &failure.Error{Code: f.Code, Exit: f.Exit, Hint: "sessctl pin lists the pinned sessions", Err: fmt.Errorf("%q is not a pinned session", name)}
	}
	return err
}

const pinnedNoMore = "no longer pinned"

// DescribePins says what was done with the sessions that were named.
func DescribePins(doc PinDocument) string {
	what := map[[2]bool]string{
		{false, false}: "pinned: clean, archives prune and shrink keep it", {true, false}: "would be pinned: clean, archives prune and shrink keep it then",
		{false, true}: pinnedNoMore, {true, true}: "would no longer be pinned: clean and archives prune may delete it by their rules then",
	}[[2]bool{doc.DryRun, doc.Removed}]
	if doc.Changed == 0 {
		what = map[bool]string{false: "pinned already", true: "is not pinned"}[doc.Removed]
	}
	text, means := "", "the pin is for all of them"
	if doc.Removed {
		means = "the pin was for all of them"
	}
	for _, s := range doc.Asked {
		text += fmt.Sprintf("%s %s: %s\n", wording.Visible(s.Agent), wording.Visible(s.Session), what)
		text += selection.DescribePlaces(s.Places, means)
	}
	return text
}
