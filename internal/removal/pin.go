package removal

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

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// PinnedSession is a session that nothing deletes, as the file has it.
type PinnedSession struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Key     string `json:"key"`
	At      string `json:"at"` // when it was pinned, RFC 3339, UTC
}

// Same reports whether two pins are of one session.
func (p PinnedSession) Same(o PinnedSession) bool {
	return p.Runtime == o.Runtime && p.Agent == o.Agent && p.Session == o.Session
}

// PinnedSessions are all sessions that are pinned, as the file in the data
// directory has them.
type PinnedSessions struct {
	Schema   int             `json:"schema"`
	Sessions []PinnedSession `json:"sessions"`
}

func pinnedFile(a *workspace.Settings) string { return filepath.Join(a.DataDir(), "pinned.json") }

// mostPinned bounds the file of pinned sessions, in bytes.
const mostPinned = 16 << 20

// ReadPinned reads which sessions are pinned. Without the file none are; one that
// cannot be read is an error, and whoever deletes something deletes nothing then.
func ReadPinned(run *workspace.Run) (PinnedSessions, error) {
	p := PinnedSessions{Schema: 1, Sessions: []PinnedSession{}}
	text, err := readPinnedFile(run)
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
		return p, &failure.Error{
			Code: "damaged", Exit: failure.ExitIntegrity, Path: pinnedFile(&run.Settings), Err: fmt.Errorf("read which sessions are pinned (%s): %w", pinnedFile(&run.Settings), err),
			Hint: "put the file back from a backup, or remove it and pin the sessions again: until then nothing is deleted",
		}
	}
	return p, nil
}

func readPinnedFile(run *workspace.Run) ([]byte, error) {
	f, err := run.Pins.OpenRegular(pinnedFile(&run.Settings))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostPinned+1))
	if err == nil && len(text) > mostPinned {
		err = fmt.Errorf("it has more than %s", wording.Bytes(mostPinned))
	}
	return text, err
}

// keeps returns why nothing of a session may be deleted, or "".
func (p PinnedSessions) keeps(ref session.Ref) string {
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
	return func(ref session.Ref) string { return cmp.Or(needs.Keeps(ref), p.keeps(ref)) }
}

// PinOptions are the options of pin.
type PinOptions struct {
	Sessions []string
	Agent    string
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
	if after = known.with(sessions); o.Remove {
		after = known.without(sessions)
	}
	doc.Changed = max(len(after.Sessions)-len(known.Sessions), len(known.Sessions)-len(after.Sessions))
	return doc, after, nil
}

func (p PinnedSessions) with(more []PinnedSession) PinnedSessions {
	all := slices.Clone(p.Sessions)
	for _, s := range more {
		if !slices.ContainsFunc(all, s.Same) {
			all = append(all, s)
		}
	}
	return PinnedSessions{Schema: 1, Sessions: all}
}

func (p PinnedSessions) without(some []PinnedSession) PinnedSessions {
	all := slices.DeleteFunc(slices.Clone(p.Sessions), func(s PinnedSession) bool { return slices.ContainsFunc(some, s.Same) })
	return PinnedSessions{Schema: 1, Sessions: all}
}

// WritePinned replaces the file. The caller holds the lock.
func WritePinned(run *workspace.Run, p PinnedSessions) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	err = run.Pins.ReplaceFile(pinnedFile(&run.Settings), 0o600, func(w io.Writer) error {
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
