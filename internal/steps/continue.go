package steps

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/carry"
	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session"
)

// What may be said of images.
const (
	ImagesAll  = "all"
	ImagesNone = "none"
)

// ContinueOptions are the options of continue.
type ContinueOptions struct {
	Session, File string
	In            string // the runtime that goes on
	Cwd           string
	Tools         string
	Budget        int64
	KeepSecrets   bool
	Images        string // all, which "" is too, or none
	DryRun        bool
	Untested      bool            // also into a version that was not tried
	Of            selection.Scope // only sessions of it
	Quiet         time.Duration
}

// ContinueDocument is `continue --json`.
type ContinueDocument struct {
	Schema    int           `json:"schema"`
	DryRun    bool          `json:"dry_run"`
	From      replay.Origin `json:"from"`
	Source    string        `json:"source"` // path of the log, "" for one in a database or an archive
	In        string        `json:"in"`
	Store     string        `json:"store"`
	Session   string        `json:"session"` // id of the new one; "" in a dry run
	Path      string        `json:"path"`    // the same
	Directory string        `json:"directory"`
	Command   []string      `json:"command"` // that goes on with it, in the directory; none in a dry run
	carry.Report
	Notes []workspace.Note `json:"notes"`
	asked string           // which images
}

// IntoRuntimes are the runtimes in which a session can go on.
func IntoRuntimes() (names []string) {
	for _, kind := range workspace.Runtimes() {
		if kind.Traits().Tools != (session.ToolNames{}) {
			names = append(names, kind.Name)
		}
	}
	slices.Sort(names)
	return names
}

// validate refuses what cannot be done.
func (o *ContinueOptions) validate() error {
	into := strings.Join(IntoRuntimes(), ", ")
	switch {
	case (o.Session == "") == (o.File == ""):
		return failure.Usage("sessctl sizes shows the sessions there are", "name a session, or a file with --file")
	case o.In == "":
		return failure.Usage("--in takes "+into, "in which runtime? --in is needed")
	case !slices.Contains(IntoRuntimes(), o.In):
		return failure.Usage("--in takes "+into, "sessctl begins no session of %q", o.In)
	case !slices.Contains([]carry.Tools{carry.Mixed, carry.Mapped, carry.Texts}, carry.Tools(o.Tools)):
		return failure.Usage("--tools takes mixed, mapped or text", "unknown --tools %q", o.Tools)
	case !slices.Contains([]string{"", ImagesAll, ImagesNone}, o.Images):
		return failure.Usage("--images takes all or none", "unknown --images %q", o.Images)
	case o.Budget < 0:
		return failure.Usage("0 is no budget", "--budget must not be negative")
	}
	return nil
}

// Continue begins a session of another runtime with what was said in one. The source is
// only read.
func Continue(ctx context.Context, run *workspace.Run, o ContinueOptions) (doc ContinueDocument, err error) {
	if err := o.validate(); err != nil {
		return doc, err
	}
	o.Of.Runtime = cmp.Or(o.Of.Runtime, run.Global.Runtime)
	run.Global.Runtime = "" // it names the source: the target is of another one
	s, err := continued(ctx, run, o)
	if err != nil {
		return doc, err
	}
	if s.Runtime == o.In {
		return doc, &failure.Error{Code: "unsupported", Exit: failure.ExitFailed, Path: s.Path, Hint: "go on with it there, or put an archived one back with sessctl restore", Err: fmt.Errorf("it is a session of %s already", o.In)}
	}
	into, err := storeInto(run, o.In)
	if err == nil {
		err = notTried(ctx, run, into, o)
	}
	if err != nil {
		return doc, err
	}
	doc = ContinueDocument{Schema: 1, asked: o.Images, DryRun: o.DryRun, In: o.In, Store: into.Root(), Source: s.Path, Command: []string{}}
	carried, err := carryOver(ctx, run, s, o, &doc)
	if err != nil {
		return doc, err
	}
	plan, err := into.Capabilities().Beginner.PlanBegin(ctx, carried)
	if err == nil {
		err = readBack(ctx, into, plan.Log, carried)
	}
	if err != nil || o.DryRun {
		return doc, stopped(err)
	}
	w, err := workspace.Open(ctx, run, workspace.Mode{Reason: "continue", Recover: workspace.RecoveryOf(run, s.Ref, o.Quiet)}) // finishes what earlier runs began
	if err != nil {
		return doc, err
	}
	defer w.Close()
	if err := begin(ctx, into, plan, carried); err != nil {
		return doc, err
	}
	doc.Session, doc.Path, doc.Command = plan.ID, plan.Path, plan.Command
	return doc, nil
}

// begin writes the log, and looks at what is there then.
func begin(ctx context.Context, into session.Store, plan session.Begun, carried session.Carried) error {
	if err := into.Capabilities().Beginner.Begin(ctx, plan); err != nil {
		return stopped(err)
	}
	if err := isThere(ctx, into, plan, carried); err != nil {
		return fmt.Errorf("read %s back: %w", plan.Path, err)
	}
	return nil
}

// stopped says what to do about a target that runs.
func stopped(err error) error {
	if busy := (*session.BusyError)(nil); errors.As(err, &busy) && busy.Served {
		return &failure.Error{Code: "busy", Exit: failure.ExitBusy, Hint: "stop it, and start it again afterwards", Err: err}
	}
	return err
}

// isThere looks at what was begun: the same bytes, or in a database, which adds its own,
// the same conversation.
func isThere(ctx context.Context, into session.Store, plan session.Begun, carried session.Carried) error {
	can, ref := into.Capabilities(), session.Ref{Runtime: into.Runtime(), ID: plan.ID, Path: plan.Path, Kind: session.KindStored}
	if can.DatabaseFile == nil || can.DatabaseFile(ref) == plan.Path {
		written, err := os.ReadFile(plan.Path)
		if err == nil && !bytes.Equal(written, plan.Log) {
			err = errors.New("it has other bytes than were written")
		}
		return err
	}
	listing, err := into.List(ctx) // it reads anew
	if err != nil {
		return err
	}
	i := slices.IndexFunc(listing.Refs, func(r session.Ref) bool { return r.Path == plan.Path })
	if i < 0 {
		return errors.New("it is not there")
	}
	ref = listing.Refs[i]
	return says(ctx, into, carried, func() (io.ReadCloser, error) { return can.Source.OpenLog(ctx, ref) })
}

// continued finds the session that goes on, and makes sure that nobody is writing it.
func continued(ctx context.Context, run *workspace.Run, o ContinueOptions) (workspace.Found, error) {
	all, err := run.FindSessions(ctx)
	if o.File != "" {
		s, err := SessionFile(run, o.File)
		if err != nil {
			return s, err
		}
		if i := slices.IndexFunc(all.Sessions, func(x workspace.Found) bool { return x.Path == s.Path }); i >= 0 {
			s = all.Sessions[i]
		}
		return s, idleSource(ctx, run, s, o)
	}
	if err != nil {
		return workspace.Found{}, err
	}
	all.Sessions = slices.DeleteFunc(all.Sessions, func(s workspace.Found) bool { return !o.Of.Holds(s.Runtime, s.Agent) })
	named, err := selection.Named(all.Sessions, o.Session)
	switch {
	case len(named) > 1 && err == nil:
		return workspace.Found{}, &failure.Error{Code: "ambiguous", Exit: failure.ExitFailed, Hint: "--runtime, --only-store or --file names one", Err: fmt.Errorf("%d sessions are meant by %s", len(named), o.Session)}
	case len(named) == 1 && err == nil:
		return named[0], idleSource(ctx, run, named[0], o)
	}
	if s, wrong := archivedSession(ctx, run, o.Session); wrong == nil && o.Of.Holds(s.Runtime, s.Agent) && (o.Of.Agent == "" || o.Session == s.ID) {
		return s, nil
	}
	return workspace.Found{}, err
}

// idleSource refuses a session that somebody is writing. A turn that nobody has answered
// for the quiet period is none that goes on: where a limit was hit, no answer comes.
func idleSource(ctx context.Context, run *workspace.Run, s workspace.Found, o ContinueOptions) error {
	live := s.Adapter.Capabilities().Liveness
	if live == nil || s.Store == "" {
		return nil
	}
	err := live.Busy(ctx, session.BusyQuestion{Ref: s.Ref, Now: run.Now(), Quiet: o.Quiet, LongestTurn: max(o.Quiet, 1)})
	if errors.Is(err, session.ErrUnsupported) { // it is no session to change, but this only reads
		if err = nil; run.Now().Sub(s.ModTime).Abs() < o.Quiet {
			err = &session.BusyError{Path: s.Path, Reason: session.ReasonJustSaid.Text()}
		}
	}
	if busy := (*session.BusyError)(nil); errors.As(err, &busy) {
		return &failure.Error{Code: "busy", Exit: failure.ExitBusy, Path: s.Path, Hint: "end the program there, or wait; a copy of the log goes on with --file", Err: err}
	}
	return err
}

// archivedSession is a session of which only the archive is there.
func archivedSession(ctx context.Context, run *workspace.Run, name string) (workspace.Found, error) {
	archives, err := run.OpenArchive()
	if err != nil {
		return workspace.Found{}, err
	}
	entry, err := selection.FindWholeArchive(ctx, archives, name)
	if err != nil {
		return workspace.Found{}, err
	}
	reader := workspace.ArchiveReader(&run.Settings, entry)
	if reader == nil {
		return workspace.Found{}, fmt.Errorf("archive %s is of %s, which this version does not read", entry.ID, entry.Runtime)
	}
	ref := session.Ref{Runtime: entry.Runtime, Agent: entry.Agent, ID: entry.Session, Key: entry.Key, Path: entry.Path, Bytes: entry.Bytes, Kind: session.KindStored}
	return workspace.Found{Ref: ref, Adapter: reader, Archive: entry.ID}, nil
}

// openContinued opens the log of a session, or its archive.
func openContinued(ctx context.Context, run *workspace.Run, s workspace.Found) (io.ReadCloser, error) {
	if s.Archive == "" || s.Store != "" {
		return recall.OpenFound(ctx, s)
	}
	archives, err := run.OpenArchive()
	if err != nil {
		return nil, err
	}
	entry, err := selection.FindWholeArchive(ctx, archives, s.Archive)
	if err != nil {
		return nil, err
	}
	return archives.OpenEntry(ctx, entry)
}

// storeInto is the store in which the new session is begun.
func storeInto(run *workspace.Run, runtime string) (session.Store, error) {
	stores, err := run.OpenStores()
	if err != nil {
		return nil, err
	}
	stores = slices.DeleteFunc(slices.Clone(stores), func(s session.Store) bool {
		return s.Runtime() != runtime || s.Capabilities().Beginner == nil
	})
	if len(stores) == 0 {
		return nil, &failure.Error{Code: "no_store", Exit: failure.ExitFailed, Hint: "start " + runtime + " once, or name its store: --store " + runtime + "=DIR", Err: fmt.Errorf("no store of %s was found", runtime)}
	}
	if len(stores) > 1 {
		run.Notice(workspace.Note{Path: stores[0].Root(), Message: fmt.Sprintf("the first of %d stores of %s; --only-store names another", len(stores), runtime)})
	}
	return stores[0], nil
}

// carryOver reads a session and makes of it what goes on, with what is told of it.
func carryOver(ctx context.Context, run *workspace.Run, s workspace.Found, o ContinueOptions, doc *ContinueDocument) (session.Carried, error) {
	open := func() (io.ReadCloser, error) { return openContinued(ctx, run, s) }
	messages, scan, err := replay.ReadSeen(ctx, ContextScanner(s), open)
	if err != nil {
		return session.Carried{}, err
	}
	if reason := scan.Doubt.Reason(s.Path); reason != "" {
		return session.Carried{}, &failure.Error{Code: "unsupported", Exit: failure.ExitFailed, Path: s.Path, Hint: "a newer sessctl may know it; what can be read: " + shownBy(s), Err: fmt.Errorf("a record may change what the model was sent: %s", reason)}
	}
	tellOthers(run, s, scan)
	doc.From = replay.Origin{Runtime: s.Runtime, Agent: s.Agent, Session: cmp.Or(s.ID, scan.SessionID)}
	if doc.Directory, err = directoryFor(s, o); err != nil {
		return session.Carried{}, err
	}
	fitted, summary, err := fitted(ctx, s, open, messages, o.Budget)
	if err != nil {
		return session.Carried{}, err
	}
	carried, report := carry.Prepare(fitted, carry.Options{
		Tools: carry.Tools(o.Tools), Target: workspace.TraitsOf(o.In).Tools, KeepSecrets: o.KeepSecrets, NoImages: o.Images == ImagesNone,
		Summary: summary, Changed: changedIn(cmp.Or(s.Project, doc.Directory)),
	})
	report.Summarized = len(messages) - len(fitted)
	doc.Report = report
	if len(carried.Messages) == 0 {
		return carried, &failure.Error{Code: "unsupported", Exit: failure.ExitFailed, Path: s.Path, Hint: "what its model would be sent: " + shownBy(s), Err: errors.New("there is nothing to go on with: no message of a person or an agent")}
	}
	if err := carry.Check(carried); err != nil {
		return carried, fmt.Errorf("the context would be refused: %w", err)
	}
	carried.Directory, carried.Now = doc.Directory, run.Now()
	carried.Note = session.Origin{Runtime: doc.From.Runtime, Session: doc.From.Session, At: run.Now().UnixMilli()}.Note()
	carried.Title = carry.Title(s.Runtime, carried)
	return carried, nil
}

// directoryFor is the working directory in which the session goes on: the one that was
// asked for, else that of the source, else this one.
func directoryFor(s workspace.Found, o ContinueOptions) (string, error) {
	directory := workspace.Absolute(cmp.Or(o.Cwd, s.Project, "."))
	info, err := os.Stat(directory)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no directory")
	}
	if err != nil {
		return "", &failure.Error{Code: "no_directory", Exit: failure.ExitFailed, Path: directory, Hint: "--cwd DIR names the working directory in which it goes on", Err: fmt.Errorf("the working directory: %w", err)}
	}
	return directory, nil
}

// changedIn reports whether a file is gone, or was changed after a time.
func changedIn(directory string) func(path string, since int64) bool {
	return func(path string, since int64) bool {
		if !filepath.IsAbs(path) {
			path = filepath.Join(directory, path)
		}
		info, err := os.Stat(path)
		return err != nil || info.ModTime().UnixMilli() > since
	}
}

// readBack makes sure, before anything is written, that the target's log says what was
// carried: the reader of that runtime finds it all in it.
func readBack(ctx context.Context, into session.Store, log []byte, want session.Carried) error {
	err := says(ctx, into, want, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(log)), nil })
	if err != nil {
		return fmt.Errorf("the new log does not say what was carried, and nothing was written: %w", err)
	}
	return nil
}

// says compares what was carried with what the target's reader finds in a log.
func says(ctx context.Context, into session.Store, want session.Carried, open func() (io.ReadCloser, error)) error {
	got, _, err := replay.ReadSeen(ctx, into, open)
	if err != nil {
		return err
	}
	return carry.Same(want, got)
}
