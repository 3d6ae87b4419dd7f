package cmd

import (
	"context"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/relocate"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/tailcache"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// invocation is what one run of a command works with. A function that needs only
// a part of it takes that part.
type invocation struct {
	settings
	reporting
	openedStores
	lockState
	eventState

	// outer is the run whose step this one is: it shows the notes and failures of
	// the step, whose document it takes. nil for a command of its own.
	outer *invocation
	// lost counts what receipts say that a memory must hold, where there is none.
	lost  func(context.Context, *invocation) (int, error)
	meter *summarize.Meter // counts the calls to models; nil until the first is meant
}

// settings are what a run was told: by its environment, its flags and its
// configuration.
type settings struct {
	now     func() time.Time
	getenv  func(string) string
	version string // of the program
	global  globalOptions
	config  config
}

// globalOptions are the flags that all commands have.
type globalOptions struct {
	ConfigFile string
	DataDir    string
	Stores     []string
	Runtime    string
	Profile    string
	AllowRoot  bool
	Workers    int
	LockWait   time.Duration
}

// reporting collects what a person should know that is no error, and shows it.
type reporting struct {
	JSON  bool   // notes are kept for a document
	Quiet bool   // only what is told in any case is shown
	notes []note // told so far
	late  []lateLines
	// incomplete counts what the run had to pass over: stores and directories
	// that could not be listed, and earlier runs that could not be finished.
	incomplete int

	shows    shows
	above    *reporting                           // of the run whose step this one is
	underWay func(what string, done, total int64) // takes how far a piece of work has come; nil to draw a bar
}

// shows is how a report reaches a person.
type shows struct {
	line     func(text string)  // prints a line beside the results
	bar      func() progressBar // makes a bar that is drawn beside the results
	terminal bool               // somebody is looking
}

// progressBar draws how far a piece of work has come.
type progressBar interface {
	draw(what string, done, total int64)
	clear()
}

// openedStores are the stores of a run, and the directories in which it works.
type openedStores struct {
	opened []session.Store
	// pins hold the directories open in which a run works: from the opening of the
	// stores until they are closed. nil in tests.
	pins  *durable.Pins
	moved *relocate.Moves // nil until somebody asks
	// foreign is a session of another user, if root has listed any.
	foreign foreignFile
	listed  bool // the stores were listed, and foreign was looked for
	// tailCache is what sizes remembers of logs, nil for other commands.
	tailCache *tailcache.Cache
	endsLater bool // logs are listed by their beginnings; readEnds reads their ends
}

// lockState is how a run has the lock of the data directory.
type lockState struct {
	held      *dataLock // of the run whose step the command is; nil for a command of its own
	lockUntil time.Time // until when the lock is waited for; zero before somebody else has it
}

// eventState is what a run has made that others are to hear of.
type eventState struct {
	eventsWait bool // events may wait that the command has made
	// receiptsBefore are the receipts from before the first that has an event; nil
	// in all runs but that.
	receiptsBefore *[]string
}

// newInvocation makes an invocation that nothing was told yet.
func newInvocation(getenv func(string) string, now func() time.Time) *invocation {
	return &invocation{
		settings:     settings{now: now, getenv: getenv},
		reporting:    reporting{notes: []note{}},
		openedStores: openedStores{pins: &durable.Pins{}},
	}
}

// step is the run of a command that is a part of this one: it shares the
// configuration, the clock and the lock, and has its own notes and stores. This
// run shows its notes and failures.
func (run *invocation) step() *invocation {
	step := *run
	step.outer, step.above, step.notes, step.late, step.incomplete = run, &run.reporting, []note{}, nil, 0
	step.opened, step.listed, step.foreign = nil, false, foreignFile{}
	return &step
}

// leave ends a step: it closes its stores, and leaves to the outer run what there
// is to be told at the end.
func (run *invocation) leave() {
	run.closeStores()
	run.outer.eventsWait = run.outer.eventsWait || run.eventsWait
}

// again is one more run in the same process: it has listed nothing, told nothing
// and passed over nothing yet.
func (run *invocation) again() *invocation {
	again := run.step()
	again.outer, again.above = nil, nil
	again.moved, again.tailCache = nil, nil
	again.pins = &durable.Pins{} // held until its work is done
	again.global.Stores = slices.Clone(run.global.Stores)
	return again
}

// apart is again for what shows nothing. It works in the directories that are
// held open.
func (run *invocation) apart() *invocation {
	apart := run.again()
	apart.pins = run.pins
	apart.JSON, apart.Quiet = true, false
	return apart
}
