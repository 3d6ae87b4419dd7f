package recall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// ReadMemory opens the memory to look at it. If there is none, the error says
// how to make one.
func ReadMemory(ctx context.Context, run *workspace.Run) (*memory.Store, error) {
	store, err := memory.Open(ctx, run.MemoryDir(), memory.Options{ReadOnly: true, Pins: run.Pins})
	return NeedMemory(ctx, run, store, err)
}

// ReadMemoryOf is ReadMemory for what is asked of one agent, "" for all: it must
// be a known one.
func ReadMemoryOf(ctx context.Context, run *workspace.Run, agent agentset.Set) (*memory.Store, error) {
	store, err := ReadMemory(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := selection.CheckAgent(ctx, run, store, agent); err != nil {
		_ = store.Close() // it was only read
		return nil, err
	}
	return store, nil
}

// NeedMemory turns an error of opening the memory into what a person is told.
func NeedMemory(ctx context.Context, run *workspace.Run, store *memory.Store, err error) (*memory.Store, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, explainNoMemory(ctx, run, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open memory: %w", err)
	}
	return store, nil
}

// explainNoMemory says why there is no memory to be read: somebody is making it,
// it is lost, or there never was one.
func explainNoMemory(ctx context.Context, run *workspace.Run, err error) error {
	lost, lostErr := LostMemory(ctx, run)
	switch {
	case lostErr != nil:
		return lostErr
	case (lost > 0 || errors.Is(err, memory.ErrEmpty)) && run.OthersAtWork():
		return memoryBeingMade(&run.Settings)
	case lost > 0:
		return &failure.Error{Code: "memory_lost", Exit: failure.ExitIntegrity, Path: run.MemoryDir(), Hint: workspace.AdviseRebuild, Err: fmt.Errorf("the memory in %s is lost: %s", run.MemoryDir(), workspace.NamedBy(lost))}
	}
	return &failure.Error{Code: "no_memory", Exit: failure.ExitFailed, Path: run.MemoryDir(), Hint: "compact a session first: sessctl compact --agent NAME", Err: fmt.Errorf("there is no memory yet in %s", run.MemoryDir())}
}

func memoryBeingMade(a *workspace.Settings) error {
	return &failure.Error{Code: "memory_being_made", Exit: failure.ExitBusy, Path: a.MemoryDir(), Hint: "ask again when the running sessctl has finished", Err: fmt.Errorf("the memory in %s is being made, and not all is in it yet", a.MemoryDir())}
}

// PartOfMemory says what a question to a memory cannot find: one that is being
// made from the archives is not asked, and one whose making was cut off answers
// with what it has, and a notice.
func PartOfMemory(ctx context.Context, run *workspace.Run, store *memory.Store) (notice string, err error) {
	incomplete, err := store.Incomplete(ctx)
	switch {
	case err != nil || !incomplete:
		return "", err
	case run.OthersAtWork():
		return "", memoryBeingMade(&run.Settings)
	}
	return "the memory was being made from the archives and has not all of them yet; sessctl memory reindex --from-archives continues", nil
}

// LostMemory counts the receipts of what a memory must hold that is not there: 0
// if there is a memory, or if nothing has to be in it.
func LostMemory(ctx context.Context, run *workspace.Run) (int, error) {
	if workspace.Exists(filepath.Join(run.MemoryDir(), "memory.db")) {
		return 0, nil
	}
	audit, err := audit.NewReceiptAudit(ctx, run)
	if err != nil {
		return 0, err
	}
	err = audit.AgainstMemory(ctx, nil)
	return len(audit.OfMemory()), err
}

// OpenRecovered opens a workspace with memory, in which nothing is unfinished;
// rebuild says that a lost memory is about to be made again. That no store is found is no error here: the memory and the archives are there
// without one.
func OpenRecovered(ctx context.Context, run *workspace.Run, rebuild bool) (*workspace.Workspace, error) {
	all, _, err := run.ListStores(ctx)
	if err != nil && !workspace.NothingFound(run, err) {
		return nil, err
	}
	return workspace.Open(ctx, run, workspace.Mode{Memory: true, Rebuild: rebuild, Reason: "compact", Recover: &workspace.Recovery{Sessions: all.Sessions, Policy: run.RecoveryPolicy()}})
}

// MemoryStatsDocument is `memory stats --json`.
type MemoryStatsDocument struct {
	Schema int    `json:"schema"`
	Path   string `json:"path"`
	memory.Stats
}

// MemoryVerifyDocument is `memory verify --json`.
type MemoryVerifyDocument struct {
	Schema   int             `json:"schema"`
	Path     string          `json:"path"`
	Records  int             `json:"records"`
	Vectors  int             `json:"vectors"`
	Actions  int             `json:"actions"` // what was done
	Problems []audit.Problem `json:"problems"`
}

// VerifyMemory checks every record of the memory.
func VerifyMemory(ctx context.Context, run *workspace.Run, doc *MemoryVerifyDocument) error {
	store, err := ReadMemory(ctx, run)
	if err != nil {
		return err
	}
	defer store.Close()
	found, err := store.Verify(ctx)
	if err != nil {
		return fmt.Errorf("verify memory: %w", err)
	}
	for _, p := range found {
		doc.Problems = append(doc.Problems, audit.Problem{Path: p.Path, Message: p.Message})
	}
	if len(found) > 0 {
		return nil // what cannot be trusted is not counted
	}
	if err := holdAgainstReceipts(ctx, run, store, doc); err != nil {
		return err
	}
	stats, err := store.Stats(ctx)
	if err != nil {
		return err
	}
	for _, s := range stats.Agents {
		doc.Records += s.Records
		for _, n := range s.Actions {
			doc.Actions += n
		}
	}
	for _, m := range stats.Models {
		doc.Vectors += m.Vectors
	}
	return nil
}

// holdAgainstReceipts adds what receipts say was stored and memory does not have.
// While another run is at work memory may be on its way to have it.
func holdAgainstReceipts(ctx context.Context, run *workspace.Run, store *memory.Store, doc *MemoryVerifyDocument) error {
	if workspace.AtWork(&run.Settings) {
		run.Notice(workspace.Note{Path: run.ReceiptsDir(), Message: "another sessctl is running: the memory is not compared with the receipts"})
		return nil
	}
	proofs, err := audit.NewReceiptAudit(ctx, run)
	if err != nil {
		return err
	}
	proofs.Reading = true
	if err := proofs.AgainstMemory(ctx, store); err != nil {
		return err
	}
	for _, p := range proofs.OfMemory() {
		doc.Problems = append(doc.Problems, p.Problem)
	}
	return addWitnessed(ctx, run, doc)
}

// addWitnessed adds what the ledger knows of archives that memory may name, and of what
// was forgotten.
func addWitnessed(ctx context.Context, run *workspace.Run, doc *MemoryVerifyDocument) error {
	found, _, err := audit.AgainstLedger(ctx, run)
	for _, p := range found {
		if p.OfArchive || p.OfForgotten {
			doc.Problems = append(doc.Problems, p.Problem)
		}
	}
	return err
}

// ForgetOptions are the options of memory forget.
type ForgetOptions struct {
	Session string
	Agent   agentset.Set
	ID      string
	Text    string
	DryRun  bool
	Yes     bool

	// Exact says that Session is a whole id: one that begins with it is not meant.
	Exact bool
	// Agree is asked instead of a person, before anything is forgotten: an error
	// forgets nothing.
	Agree func(ForgetDocument) error
}

// forgetSession is a session of which something is selected.
type forgetSession struct {
	memory.Selected
	// Places are the stores and databases that hold a session of this name, if
	// there are several: memory does not tell those apart.
	Places []string `json:"places,omitempty"`
}

// ForgetDocument is `memory forget --json`.
type ForgetDocument struct {
	Schema    int             `json:"schema"`
	DryRun    bool            `json:"dry_run"`
	Sessions  []forgetSession `json:"sessions"` // what is selected, by session
	Records   int             `json:"records"`  // selected
	Actions   int             `json:"actions"`  // what was done, selected
	Forgotten int             `json:"forgotten"`
	// What went: the records, and what was done in them.
	RecordsForgotten int `json:"records_forgotten"`
	ActionsForgotten int `json:"actions_forgotten"`

	Notes []workspace.Note `json:"notes"`

	Unwiped bool `json:"-"` // an earlier forget was cut off, and its traces are left
}

// ForgetPages removes the kept pages of archives of which something is forgotten,
// before it is: what was forgotten is on none. With --text all go, because the
// text may stand in sessions of which memory does not have it.
func ForgetPages(ctx context.Context, run *workspace.Run, doc ForgetDocument, o ForgetOptions) error {
	entries, err := selection.Archived(ctx, run, archive.Filter{})
	if err != nil {
		return err
	}
	stays := map[string]bool{}
	for _, e := range entries {
		stays[e.ID] = o.Text == "" && !slices.ContainsFunc(doc.Sessions, func(s forgetSession) bool {
			return s.Runtime == e.Runtime && s.Agent == e.Agent && s.Session == e.Session
		})
	}
	return removal.RemovePagesOf(run, func(id string) bool { return !stays[id] })
}

// NoteSetAside names the damaged memories that are kept: what was forgotten may
// still be in them.
func NoteSetAside(run *workspace.Run) {
	for _, path := range audit.SetAside(&run.Settings) {
		run.Notice(workspace.Note{Path: path, Message: "a damaged memory that was set aside: what was forgotten may still be in it", Hint: audit.AdviseSetAside})
	}
}

// PreviewForget is selectToForget in a memory that nobody holds open yet.
func PreviewForget(ctx context.Context, run *workspace.Run, open func(context.Context) (*memory.Store, error), o ForgetOptions) (ForgetDocument, []memory.Selection, error) {
	store, err := open(ctx)
	if err != nil {
		return ForgetDocument{}, nil, err
	}
	defer store.Close()
	return selectToForget(ctx, run, store, o)
}

// StillSelected returns an error if a person has agreed to something else than
// what is selected now: another run, or one that was finished first, may have
// remembered more.
func StillSelected(ctx context.Context, run *workspace.Run, store *memory.Store, shown ForgetDocument, o ForgetOptions) error {
	if o.Yes {
		return nil
	}
	now, _, err := selectToForget(ctx, run, store, o)
	if err == nil && DescribeForget(now) != DescribeForget(shown) {
		err = ErrMemoryChanged()
	}
	return err
}

// ErrMemoryChanged says that what was agreed to is not what there is now.
func ErrMemoryChanged() error {
	return &failure.Error{Code: "not_confirmed", Exit: failure.ExitFailed, Hint: "look at the plan again", Err: errors.New("the memory has changed since the plan was shown: nothing was forgotten")}
}

// selectToForget returns what is selected, and the selections with whole ids: that
// of a session and those of what belongs to it.
func selectToForget(ctx context.Context, run *workspace.Run, store *memory.Store, o ForgetOptions) (doc ForgetDocument, selections []memory.Selection, err error) {
	doc = ForgetDocument{Schema: 1, Sessions: []forgetSession{}}
	chosen := memory.Selection{ID: o.ID, Runtime: run.Global.Runtime, Agent: o.Agent, Session: o.Session}
	if !o.Exact {
		if chosen, err = wholeIDs(ctx, run, store, chosen); err != nil {
			return doc, nil, err
		}
	}
	if selections, err = withMembers(ctx, run, chosen); err != nil {
		return doc, nil, err
	}
	places, err := selection.PlacesOfSessions(ctx, run)
	if err != nil {
		return doc, nil, err
	}
	for i, chosen := range selections {
		if o.Text != "" {
			if chosen.IDs, err = store.Containing(ctx, chosen, o.Text); err != nil {
				return doc, nil, err
			}
			selections[i] = chosen
		}
		sessions, err := store.Select(ctx, chosen)
		if err != nil {
			return doc, nil, err
		}
		for _, s := range sessions {
			doc.Sessions = append(doc.Sessions, forgetSession{s, places.Of(s.Runtime, s.Agent, s.Session)})
			doc.Records += s.Records
			doc.Actions += s.Actions
		}
	}
	doc.Unwiped, err = store.WipeIsDue(ctx)
	return doc, selections, err
}

// withMembers adds to the selection of a session those of its sub-agents and of
// its long outputs, which memory has as sessions of their own. The catalogue knows
// whose they are, by their keys.
func withMembers(ctx context.Context, run *workspace.Run, selection memory.Selection) ([]memory.Selection, error) {
	all := []memory.Selection{selection}
	if selection.Session == "" || selection.ID != "" {
		return all, nil
	}
	archives, err := run.OpenArchive()
	if err != nil {
		return nil, err
	}
	entries, err := archives.List(ctx, archive.Filter{Agent: selection.Agent, Runtime: selection.Runtime})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		member := memory.Selection{Runtime: e.Runtime, Agent: agentset.Set(e.Agent), Session: e.Session}
		kind := session.Kind(e.Kind)
		if (kind == session.KindSubagent || kind == session.KindOutput) && strings.HasPrefix(e.Key, selection.Session+"/") && !slices.ContainsFunc(all, func(s memory.Selection) bool {
			return s.Session == member.Session && s.Agent == member.Agent && s.Runtime == member.Runtime
		}) {
			all = append(all, member)
		}
	}
	return all, nil
}

// wholeIDs is a selection with the ids that its names mean. A name that means
// nothing is an error: whoever forgets something must not believe it is gone.
func wholeIDs(ctx context.Context, run *workspace.Run, store *memory.Store, s memory.Selection) (memory.Selection, error) {
	err := selection.CheckAgent(ctx, run, store, s.Agent)
	if err != nil {
		return s, err
	}
	if s.Session, err = selection.SessionID(ctx, run, store, s.Session, selection.Scope{Runtime: s.Runtime, Agent: s.Agent}); err != nil || s.ID == "" {
		return s, err
	}
	s.ID, err = selection.RecordID(ctx, store, s.ID)
	return s, err
}

// ForgottenOf counts what is forgotten: records, and what was done in them.
func ForgottenOf(records, actions int) string {
	switch {
	case actions == 0:
		return wording.Plural(records, "record")
	case records == 0:
		return wording.Plural(actions, "action")
	}
	return wording.Plural(records, "record") + " and " + wording.Plural(actions, "action")
}

// DescribeForget is what is selected, for people.
func DescribeForget(doc ForgetDocument) string {
	var b strings.Builder
	for _, s := range doc.Sessions {
		fmt.Fprintf(&b, "%s %s: %s (%s not touched)\n", wording.Visible(s.Agent), wording.Visible(s.Session), ForgottenOf(s.Records, s.Actions), wording.Plural(s.Archives, "archive"))
		b.WriteString(selection.DescribePlaces(s.Places, "memory does not tell them apart, and forgets what it has of all of them"))
	}
	return b.String()
}
