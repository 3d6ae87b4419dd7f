package steps

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/session"
)

// ArchiveOptions are the options of archive.
type ArchiveOptions struct {
	Agent    agentset.Set
	All      bool
	Session  string
	File     string
	Remember bool
	DryRun   bool
	// Supersede keeps older archives that the new ones begin with only in these.
	Supersede bool

	Agreed selection.AgreedSessions
}

// ArchiveDocument is `archive --json`.
type ArchiveDocument struct {
	Schema   int                    `json:"schema"`
	DryRun   bool                   `json:"dry_run,omitempty"`
	Archives []selection.ArchiveRow `json:"archives"`
	// Superseded are the ids of older archives that are now read in newer ones.
	Superseded []string         `json:"superseded,omitempty"`
	Notes      []workspace.Note `json:"notes"`

	Folds   bool `json:"-"` // archives that were there are counted and not printed
	Counts  bool `json:"-"` // nor kept in the document
	counted int  // of these
}

// NameProjects says what people call the agents.
func (d *ArchiveDocument) NameProjects(names selection.Projects) {
	for i := range d.Archives {
		d.Archives[i].ProjectName = names.Of(d.Archives[i].Runtime, d.Archives[i].Agent)
	}
}

// NewArchiveRow is an archive as JSON.
func NewArchiveRow(e archive.Entry) selection.ArchiveRow {
	row := selection.ArchiveRow{
		ID: e.ID, Runtime: e.Runtime, Agent: e.Agent, Session: e.Session, Key: e.Key, Title: workspace.ArchivedTitle(e), Project: e.Project, LastUsed: wording.StampText(e.SourceModTime), Path: e.Path, SHA256: e.SHA256,
		Bytes: e.Bytes, StoredBytes: e.StoredBytes, Compression: e.Compression, CreatedAt: e.CreatedAt.UTC().Format(time.RFC3339),
		OffSite: workspace.Place(e), Others: e.Others, SupersededBy: e.SupersededBy,
	}
	if r := e.Remote; r != nil {
		row.Remote, row.CheckedAt, row.RetainUntil = r.URL, r.CheckedAt.UTC().Format(time.RFC3339), workspace.Retained(*r)
	}
	return row
}

// OpenToArchive opens the workspace. Where the memory cannot be opened, which it
// tells, sessions are archived all the same and not remembered: a copy is never
// worse than none.
func OpenToArchive(ctx context.Context, run *workspace.Run, o *ArchiveOptions, sessions []workspace.Found) (*workspace.Workspace, error) {
	w, err := workspace.Open(ctx, run, workspace.Mode{
		Memory: o.Remember, Spare: true, Reason: "archive", Recover: &workspace.Recovery{Sessions: sessions, Policy: run.RecoveryPolicy(), Optional: true},
	})
	if err == nil && w.NoMemory != nil {
		o.Remember = false
	}
	return w, err
}

// SessionsToArchive finds what the options mean.
func SessionsToArchive(ctx context.Context, run *workspace.Run, o ArchiveOptions) ([]workspace.Found, error) {
	if o.File != "" {
		return fileToArchive(ctx, run, o.File)
	}
	all, err := run.FindSessions(ctx)
	if err != nil {
		return nil, err
	}
	if all, err = selection.Of(all, o.Agent); err != nil {
		return nil, err
	}
	if all.Sessions, err = selection.WithoutArchivedPrompts(ctx, run, all.Sessions); err != nil {
		return nil, err
	}
	if o.Session != "" {
		chosen, err := selection.Named(all.Sessions, o.Session)
		return o.Agreed.Of(selection.WithFamilies(all, chosen)), err
	}
	if o.Agent == "" {
		all.Sessions = withUnreadDatabases(run, &all)
	}
	return o.Agreed.Of(all.Sessions), nil
}

// fileToArchive is one file in which a conversation was handed on, as a session of the
// directory where it lies.
func fileToArchive(ctx context.Context, run *workspace.Run, path string) ([]workspace.Found, error) {
	s, err := SessionFile(run, path)
	if err != nil {
		return nil, err
	}
	dir, name := filepath.Split(s.Path)
	i := slices.IndexFunc(workspace.Runtimes(), func(k workspace.RuntimeKind) bool { return k.Name == s.Runtime })
	store := workspace.Runtimes()[i].Open(dir, run.Config)
	filer := store.Capabilities().Filer
	if filer == nil {
		return nil, &failure.Error{Code: "unsupported", Exit: failure.ExitFailed, Path: s.Path, Hint: "sessctl archive --all --only-store " + s.Runtime + "=" + session.ShellWord(filepath.Clean(dir)), Err: fmt.Errorf("%s: it is a log of %s: its directory is archived as a store", s.Path, s.Runtime)}
	}
	run.Pins.Top(store.Root())
	s.Ref, err = filer.File(ctx, name)
	s.Adapter = store
	return []workspace.Found{s}, err
}

// archiveOne archives one session. The error is why it could not.
func archiveOne(ctx context.Context, run *workspace.Run, store *archive.Store, s workspace.Found) (archive.Entry, selection.ArchiveRow, error) {
	put := removal.PutArchive
	if s.Kind == session.KindDatabase {
		put = removal.PutFile
	}
	entry, err := put(ctx, run, store, s)
	if s.Kind == session.KindDatabase && err != nil && ctx.Err() == nil && failure.ExitCode(err) != failure.ExitBusy && !errors.As(err, new(*archive.UnenteredError)) {
		err = errors.New(s.Reason + "; nor can the file be archived: " + err.Error())
	}
	row := NewArchiveRow(entry)
	row.Outcome = "archived"
	if unentered := (*archive.UnenteredError)(nil); errors.As(err, &unentered) {
		row = NewArchiveRow(unentered.Entry)
		row.Outcome, row.Reason = "archived", err.Error()
		run.TellUnentered(unentered)
		return archive.Entry{}, row, nil
	}
	if err != nil {
		row = selection.ArchiveRow{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID, Key: s.Key, Path: s.Path, Bytes: s.Bytes, Outcome: "failed", Reason: err.Error()}
		if failure.ExitCode(err) == failure.ExitBusy {
			row.Outcome = "busy"
		}
	}
	return entry, row, err
}

// ParseLines reads "120-140" or "120" as a range of 1-based lines; empty is
// the whole log.
func ParseLines(s string) (first, last int, err error) {
	if s == "" {
		return 1, 0, nil
	}
	from, to, ranged := strings.Cut(s, "-")
	if !ranged {
		to = from
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil || first < 1 || last < first {
		return 0, 0, fmt.Errorf("%q is not a range of lines", s)
	}
	return first, last, nil
}
