package steps

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/facts"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// FactsOptions are the options of extract-facts.
type FactsOptions struct {
	Agent         agentset.Set
	Session, File string
	All, Archived bool
	Max, Last     int
	MinConfidence float64
	Idle          time.Duration
	MaxCalls      int
	DryRun, Force bool
	Lines         bool

	List       bool
	Kind       string
	Superseded bool
}

// Validate refuses options that contradict each other.
func (o *FactsOptions) Validate() error {
	const see = "see sessctl extract-facts --help"
	switch {
	case o.List && (o.File != "" || o.DryRun || o.Force || o.Archived):
		return failure.Usage(see, "--list goes with --agent, --session, --kind and --superseded only")
	case o.List:
		return recall.CheckKind(o.Kind)
	case o.Kind != "" || o.Superseded:
		return failure.Usage(see, "--kind and --superseded go with --list")
	case o.Agent == "" && !o.All && o.Session == "" && o.File == "":
		return failure.Usage("name an agent, or use --all; sessctl sizes shows the agents there are", "which sessions? --agent, --all, --session or --file is needed")
	case o.All && (o.Agent != "" || o.Session != "" || o.File != "") || o.File != "" && (o.Session != "" || o.Archived):
		return failure.Usage(see, "of --all, --session and --file only one can be meant")
	case o.Max < 0 || o.Last < 0 || o.MaxCalls < 0 || o.Idle < 0:
		return failure.Usage(see, "--max, --last, --idle and --max-llm-calls must not be negative")
	case !(o.MinConfidence >= 0 && o.MinConfidence <= 1):
		return failure.Usage(see, "--min-confidence must be from 0 to 1, not %v", o.MinConfidence)
	}
	return nil
}

// Most is how many new facts of a session are stored; -1 for all.
func (o *FactsOptions) Most() int {
	if o.Max == 0 {
		return -1
	}
	return o.Max
}

// The outcomes of a session.
const (
	FactsExtracted = "extracted"
	FactsPlanned   = "planned"
	FactsUnchanged = "unchanged" // nothing was said since the last extraction
	FactsTooShort  = "too-short"
	FactsNotIdle   = "not-idle"
	FactsFailed    = "failed"
)

// FactTargets are the sessions that are meant: what agents said to each other,
// and copies that a runtime made, are not.
func FactTargets(ctx context.Context, run *workspace.Run, o FactsOptions) ([]workspace.Found, workspace.Inventory, error) {
	switch {
	case o.File != "":
		return factFile(ctx, run, o)
	case o.Archived:
		return factArchives(ctx, run, o)
	}
	all, err := run.FindSessions(ctx)
	if err != nil {
		return nil, all, err
	}
	mine, err := selection.Of(all, o.Agent)
	if err != nil {
		return nil, all, err
	}
	if o.Session != "" {
		targets, err := selection.Named(mine.Sessions, o.Session)
		return targets, all, err
	}
	targets := slices.DeleteFunc(slices.Clone(mine.Sessions), func(s workspace.Found) bool {
		return !workspace.Shown(s.Kind) || s.Kind == session.KindDatabase || s.Parent != ""
	})
	return targets, all, nil
}

// Look is one session whose facts are extracted.
type Look struct {
	workspace.Found
	Before, Now memory.Extraction
	Known       []facts.Known // of its agent
	Row         FactsSession
}

// degradedPause is how long a model that did not answer, or not usably, is not
// asked about a session again, unless it has gone on.
const degradedPause = time.Hour

// Same tells whether an extraction has nothing to add to the one before.
func Same(before, now memory.Extraction) bool {
	tryAgain := before.Degraded && now.At-before.At >= degradedPause.Milliseconds()
	return before.At > 0 && !tryAgain && before.Said == now.Said && before.Last == now.Last && before.MadeBy == now.MadeBy
}

// EmbedFacts gives vectors to what was stored, agent by agent.
func EmbedFacts(ctx context.Context, w *workspace.Workspace, targets []workspace.Found, doc FactsDocument) error {
	done := map[string]bool{}
	for i, row := range doc.Sessions {
		if row.Stored == 0 || done[row.Agent] {
			continue
		}
		done[row.Agent] = true
		if _, err := w.Compactor.Embedder.EmbedPending(ctx, targets[i].Ref, nil); err != nil {
			return fmt.Errorf("embed facts: %w", err)
		}
	}
	return nil
}

// factFile is the session in a file: one of a store, one of the archive, or
// one that belongs to neither. The last has no agent, unless --agent names one.
func factFile(ctx context.Context, run *workspace.Run, o FactsOptions) ([]workspace.Found, workspace.Inventory, error) {
	file, err := SessionFile(run, o.File)
	if err != nil {
		return nil, workspace.Inventory{}, err
	}
	all, _, err := run.ListStores(ctx)
	if err == nil {
		if i := slices.IndexFunc(all.Sessions, func(s workspace.Found) bool { return s.Path == file.Path }); i >= 0 {
			return all.Sessions[i : i+1], all, nil
		}
	}
	entries, err := archivedAt(ctx, run, file.Path)
	if err != nil {
		return nil, all, err
	}
	for _, e := range entries {
		file.Runtime, file.Agent, file.ID, file.Key, file.Archive = e.Runtime, e.Agent, e.Session, e.Key, e.ID
		return []workspace.Found{file}, all, nil
	}
	file.Kind, file.Agent = session.KindOrphan, o.Agent.String()
	if o.Agent != "" {
		file.Runtime = cmp.Or(run.Global.Runtime, file.Runtime) // of the agent, whatever the format of the file
		for _, id := range o.Agent.IDs() {
			if id.Runtime == file.Runtime {
				file.Agent = id.Agent
			}
		}
		file.ID = session.CleanID(strings.TrimSuffix(filepath.Base(file.Path), filepath.Ext(file.Path)))
		return []workspace.Found{file}, all, nil
	}
	run.Notice(workspace.Note{Path: file.Path, Message: "nothing is stored: it is not known whose session this is", Hint: "--agent NAME stores the facts as those of an agent"})
	return []workspace.Found{file}, all, nil
}

// factArchives are the newest archives of the sessions that are meant.
func factArchives(ctx context.Context, run *workspace.Run, o FactsOptions) ([]workspace.Found, workspace.Inventory, error) {
	all, _, err := run.ListStores(ctx)
	if err != nil && !workspace.NothingFound(run, err) {
		return nil, all, err
	}
	store, err := run.OpenArchive()
	if err != nil {
		return nil, all, err
	}
	entries, err := store.List(ctx, archive.Filter{})
	if err != nil {
		return nil, all, err
	}
	if err := selection.CheckAgent(ctx, run, nil, o.Agent); err != nil {
		return nil, all, err
	}
	metas := make([]archive.Meta, 0, len(entries))
	for _, e := range entries {
		metas = append(metas, e.Meta)
	}
	if o.Session, err = selection.KnownSession(metas, o.Session, selection.Scope{Runtime: run.Global.Runtime, Agent: o.Agent}); err != nil {
		return nil, all, err
	}
	var targets []workspace.Found
	seen := map[memory.Source]bool{}
	for _, e := range slices.Backward(entries) {
		source := memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
		reader := workspace.ReaderOf(&run.Settings, e.Runtime)
		meant := o.Agent.Holds(e.Runtime, e.Agent) && (o.Session == "" || e.Session == o.Session || e.Key == o.Session) && (run.Global.Runtime == "" || e.Runtime == run.Global.Runtime)
		if seen[source] || !meant || reader == nil || session.Kind(e.Kind) == session.KindDatabase || e.Kind != "" && !workspace.Shown(session.Kind(e.Kind)) {
			continue
		}
		seen[source] = true
		ref := session.Ref{Runtime: e.Runtime, Agent: e.Agent, ID: e.Session, Key: e.Key, Path: e.Path, Kind: session.KindOrphan, Bytes: e.StoredBytes, ModTime: e.CreatedAt}
		targets = append(targets, workspace.Found{Ref: ref, Adapter: reader, Archive: e.ID})
	}
	slices.Reverse(targets)
	return targets, all, nil
}

// OpenSession opens a log, or the archive of one: that is checked as it is read.
func OpenSession(ctx context.Context, run *workspace.Run, t workspace.Found) (io.ReadCloser, error) {
	if t.Archive == "" {
		return recall.OpenFound(ctx, t)
	}
	store, err := run.OpenArchive()
	if err != nil {
		return nil, err
	}
	e, err := store.Get(ctx, t.Archive)
	if err != nil {
		return nil, err
	}
	return store.OpenEntry(ctx, e)
}

// archivedAt finds the archives whose copy lies at a path.
func archivedAt(ctx context.Context, run *workspace.Run, path string) ([]archive.Entry, error) {
	store, err := run.OpenArchive()
	if err != nil {
		return nil, err
	}
	entries, err := store.List(ctx, archive.Filter{})
	return slices.DeleteFunc(entries, func(e archive.Entry) bool { return e.Path != path }), err
}

// Supersessions are the ids of what is superseded, each with that of what
// supersedes it.
func Supersessions(m facts.Merged, ids []string) map[string]string {
	over := map[string]string{}
	for id, at := range m.Over {
		over[id] = ids[at]
	}
	for at, by := range m.Late {
		over[ids[at]] = by.ID
		if by.ID == "" {
			over[ids[at]] = ids[by.Index]
		}
	}
	return over
}

// factPosition is the position of facts: no piece of the log, as summaries.
const factPosition = -3

// factImportance is that of a fact that is certain (docs/dev/decisions.md D11).
const factImportance = 0.70

// Record is a fact as it goes to memory.
func (l *Look) Record(f facts.Fact) memory.Fact {
	r := memory.Record{
		ID:   memory.RecordID(l.Agent, l.Now.Session, factPosition, "fact "+string(f.Kind), f.Text),
		Text: f.Text, Category: memory.CategoryFact, Importance: factImportance * f.Confidence, CreatedAt: f.Time,
		Runtime: l.Runtime, Agent: l.Agent, Session: l.Now.Session, Key: l.Key, ArchivePath: l.Path, Archive: l.Archive,
		FirstLine: f.Line, LastLine: f.Line, FirstByte: f.Offset, EndByte: f.End, Branch: session.Active.String(), Position: factPosition,
	}
	return memory.Fact{
		Record: r, Kind: string(f.Kind), Confidence: f.Confidence, Quote: f.Quote, Speaker: f.Speaker.String(),
		Topic: f.Topic, Value: f.Value, MadeBy: f.MadeBy,
	}
}
