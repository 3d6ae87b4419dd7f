package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/relocate"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/tailcache"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// Run is what one run of a command works with. A function that needs only
// a part of it takes that part.
type Run struct {
	Settings
	Report
	Stores
	lockState
	eventState
	history *history // what is to be entered in the ledger; nil in tests

	// Outer is the run whose step this one is: it shows the notes and failures of
	// the step, whose document it takes. nil for a command of its own.
	Outer *Run
	// Lost counts what receipts say that a memory must hold, where there is none.
	Lost  func(context.Context, *Run) (int, error)
	Log   *slog.Logger     // which test decided about each session; nil for no log
	Meter *summarize.Meter // counts the calls to models; nil until the first is meant
}

// Settings are what a run was told: by its environment, its flags and its
// configuration.
type Settings struct {
	Now     func() time.Time
	Getenv  func(string) string
	Version string // of the program
	Global  Options
	Config  Config
}

// Options are the flags that all commands have.
type Options struct {
	ConfigFile string
	DataDir    string
	Stores     []string // added to those that are found
	OnlyStores []string // in the place of those that are found
	addedHere  bool     // Stores were typed
	onlyNamed  bool     // see LeaveOut
	Runtime    string
	Profile    string
	AllowRoot  bool
	Workers    int
	Verbose    bool
	LockWait   time.Duration
}

// Report collects what a person should know that is no error, and shows it.
type Report struct {
	JSON  bool   // notes are kept for a document
	Quiet bool   // only what is told in any case is shown
	Notes []Note // told so far
	Late  []LateLines
	// Incomplete counts what the run had to pass over: stores and directories
	// that could not be listed, and earlier runs that could not be finished.
	Incomplete int
	Passed     []Note // what was passed over
	untold     []Note // what makes the run incomplete and was not told yet

	Shows    Shows
	Every    bool                                 // each note is shown, also where others say the same
	told     map[string]int                       // notes by cause
	failed   []Note                               // sessions that have failed
	above    *Report                              // of the run whose step this one is
	UnderWay func(what string, done, total int64) // takes how far a piece of work has come; nil to draw a bar
	Part     string                               // which step of a run it is, in front of the bar
}

// Shows is how a report reaches a person.
type Shows struct {
	Line     func(text string)  // prints a line beside the results
	Bar      func() ProgressBar // makes a bar that is drawn beside the results
	Terminal bool               // somebody is looking
}

// ProgressBar draws how far a piece of work has come.
type ProgressBar interface {
	Draw(what string, done, total int64)
	Clear()
}

// Stores are the stores of a run, and the directories in which it works.
type Stores struct {
	Opened []session.Store
	named  []session.Store // those that a person has named, before two names of one were found out
	found  []session.Store // those that were found, before that
	same   []Note          // see SameStores
	// renamed are stores of Opened under the names that they had earlier.
	renamed []session.Store
	// Pins hold the directories open in which a run works: from the opening of the
	// stores until they are closed. nil in tests.
	Pins  *durable.Pins
	moved *relocate.Moves // nil until somebody asks
	// foreign is a session of another user, if root has listed any.
	foreign foreignFile
	Listed  bool // the stores were listed, and foreign was looked for
	// TailCache is what sizes remembers of logs, nil for other commands.
	TailCache *tailcache.Cache
	// Works are the agents that the stores had when they were listed last, nil before that,
	// and Projects what each is called, see selection.ProjectNames.
	Works     agentset.Directories
	Projects  map[agentset.ID]string
	Unasked   error // why memory could not be asked for agents
	EndsLater bool  // logs are listed by their beginnings; ReadEnds reads their ends
}

// foreignFile is a session that belongs to another user.
type foreignFile struct {
	path string
	uid  int
}

// lockState is how a run has the lock of the data directory.
type lockState struct {
	Held      *DataLock // of the run whose step the command is; nil for a command of its own
	LockUntil time.Time // until when the lock is waited for; zero before somebody else has it
}

// eventState is what a run has made that others are to hear of.
type eventState struct {
	EventsWait bool // events may wait that the command has made
	// receiptsBefore are the receipts from before the first that has an event; nil
	// in all runs but that.
	receiptsBefore *[]string
	noMemoryTold   bool // that memory cannot be used
}

// NewInvocation makes an invocation that nothing was told yet.
func NewInvocation(getenv func(string) string, now func() time.Time) *Run {
	return &Run{
		Settings: Settings{Now: now, Getenv: getenv},
		Report:   Report{Notes: []Note{}},
		Stores:   Stores{Pins: &durable.Pins{}},
		history:  &history{},
	}
}

// Step is the run of a command that is a part of this one: it shares the
// configuration, the clock and the lock, and has its own notes and stores. This
// run shows its notes and failures.
func (run *Run) Step() *Run {
	step := *run
	step.Outer, step.above, step.Notes, step.Late, step.Incomplete, step.Passed, step.untold = run, &run.Report, []Note{}, nil, 0, nil, nil
	step.Opened, step.renamed, step.same, step.Listed, step.foreign = nil, nil, nil, false, foreignFile{}
	return &step
}

// Leave ends a step: it closes its stores, and leaves to the outer run what there
// is to be told at the end.
func (run *Run) Leave() {
	CloseStores(run)
	run.Outer.EventsWait = run.Outer.EventsWait || run.EventsWait
}

// Again is one more run in the same process: it has listed nothing, told nothing
// and passed over nothing yet.
func (run *Run) Again() *Run {
	again := run.Step()
	again.Outer, again.above, again.history = nil, nil, &history{}
	again.moved, again.TailCache = nil, nil
	again.Pins = &durable.Pins{} // held until its work is done
	again.Global.Stores, again.Global.OnlyStores = slices.Clone(run.Global.Stores), slices.Clone(run.Global.OnlyStores)
	return again
}

// Apart is again for what shows nothing. It works in the directories that are
// held open.
func (run *Run) Apart() *Run {
	apart := run.Again()
	apart.Pins = run.Pins
	apart.JSON, apart.Quiet = true, false
	return apart
}

// Guard refuses to change anything where it would harm the user: as root in
// another user's files, whose new files would then be root's, and in a data
// directory that everybody can change. Reading is not guarded.
func (run *Run) Guard(ctx context.Context) error {
	dir, info, err := Nearest(run.DataDir())
	if err != nil {
		return nil // making the directory says what is wrong
	}
	if os.Geteuid() == 0 && !run.Global.AllowRoot {
		if uid, known := durable.Owner(info); known && uid != 0 {
			return refuseRoot(dir, uid)
		}
		if !run.Listed {
			if _, _, err := run.ListStores(ctx); ctx.Err() != nil {
				return err // what else is wrong with the stores is told when they are used
			}
		}
		if run.foreign.path != "" {
			return refuseRoot(run.foreign.path, run.foreign.uid)
		}
	}
	if dir != run.DataDir() || runtime.GOOS == "windows" {
		return nil
	}
	if info.Mode().Perm()&0o002 != 0 {
		return &failure.Error{Code: "permission", Exit: failure.ExitFailed, Path: dir, Hint: "chmod 700 " + dir, Err: fmt.Errorf("everybody can change what is in the data directory %s", dir)}
	}
	return guardLink(run, dir)
}

// guardLink refuses a data directory that somebody else has pointed elsewhere.
func guardLink(run *Run, dir string) error {
	info, err := os.Lstat(dir)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	if uid, known := durable.Owner(info); known && uid != os.Geteuid() && uid != 0 {
		return &failure.Error{Code: "permission", Exit: failure.ExitFailed, Path: dir, Hint: "choose another place with --data-dir", Err: fmt.Errorf("the data directory %s is a symbolic link of user %d", dir, uid)}
	}
	return nil
}

func refuseRoot(path string, uid int) error {
	return &failure.Error{
		Code: "root", Exit: failure.ExitFailed, Path: path,
		Hint: fmt.Sprintf("run it as that user (sudo -u '#%d' sessctl ...), or say --allow-root", uid),
		Err:  fmt.Errorf("%s belongs to user %d, and this is root: nothing is changed", path, uid),
	}
}

// Nearest is a directory, or the nearest one above it that exists.
func Nearest(dir string) (string, os.FileInfo, error) {
	for {
		info, err := os.Stat(dir)
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir, info, err
		}
		dir = filepath.Dir(dir)
	}
}
