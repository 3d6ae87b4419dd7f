package browse

// Do is what a [Request] asks for.
type Do int

// What is asked for outside of the model.
const (
	Nothing  Do = iota
	Load        // read the home; answered with [Model.Loaded], several times
	Read        // read a part of a session; [Model.Opened]
	Recall      // ask the memory; [Model.Answered]
	List        // list what can be undone; [Model.Listed]
	MakePlan    // say what an action would do, changing nothing; [Model.Planned]
	Carry       // carry out a plan that was accepted; [Model.Ended]
	Cancel      // break off what is under way
	Copy        // put Text on the clipboard of the terminal
	Suspend     // stop the program until the shell lets it go on
	Quit
)

// Action is what can be done with sessions.
type Action string

// The actions, named like the commands that do the same.
const (
	Archive Action = "archive"
	Compact Action = "compact"
	Undo    Action = "undo"
	Forget  Action = "forget"
	Pin     Action = "pin"
	Delete  Action = "delete"
	// Continue goes on with a session in another runtime.
	Continue Action = "continue"
	Empty    Action = "empty the trash"
)

// Target is what an action is about: a session, an agent, a runtime, or for
// [Undo] a receipt.
type Target struct {
	Runtime, Agent, Session string
	Store, Path             string // of a session; "" if only archives of it are left
	Name                    string // for people
	Receipt                 string
	Trashed                 bool   // its files are in the trash
	Into                    string // of [Continue]: the runtime that goes on
}

// Place is a part of a session, or of an archive, to read.
type Place struct {
	Session Session
	Archive string // read this archive; "" for the live log
	Title   string
	// From and Until are lines of the log, counted from 1. With Until the part ends
	// there, with End at the end of the log, else it begins at From.
	From, Until int
	End         bool
	// First and Last are lines to mark and to begin with, 0 for none. Of several
	// messages the page begins with the one that fits Question best.
	First, Last int
	Question    string
}

// Part is one of several sessions that an action is about.
type Part struct {
	Target Target
	Of     []string // what was agreed to of it, as [Plan] has it
}

// Request is something to be done outside of the model. Answers carry its Serial:
// those to a request that was given up meanwhile are not taken.
type Request struct {
	Do       Do
	Serial   int
	Place    Place    // of Read
	Question string   // of Recall
	Text     string   // of Copy
	Action   Action   // of MakePlan and Carry
	Target   Target   // of MakePlan, Carry and List
	Force    bool     // of MakePlan and Carry
	Of       []string // of Carry: what was agreed to, as [Plan] has it
	Parts    []Part   // of MakePlan and Carry: the sessions that are marked, in place of Target and Of
}

// Failure is why something could not be done, and what to do about it.
type Failure struct {
	Message, Hint string
}

// Text is one line of a text, before it is wrapped.
type Text struct {
	Text   string
	Style  Style
	Indent int  // of what it is wrapped into
	Asks   bool // the heading of what a person said
}

// Page is a part of a session, to be read.
type Page struct {
	Place         Place
	Lines         []Text
	At            int // of Lines, to begin with
	First, Last   int // lines of the log that are on the page, 0 for none
	Before, After bool
	Note          string // what is odd about it
}

// Hit is something that the memory has found.
type Hit struct {
	Heading string // whose it is, and when it was said
	Excerpt string // what fits the question best
	Text    string // all of it
	Place   Place  // where it stands; without an archive it is in memory alone
}

// Doing is something that was done and can be undone.
type Doing struct {
	When, What string
	Target     Target
}

// Plan is what an action would do.
type Plan struct {
	Title    string
	Text     string   // the plan as the command prints it
	Of       []string // what it would change, as whoever made it names that
	Parts    []Part   // of a request with parts: those that it would change
	Question string   // to be answered with yes; "" if there is nothing to do
	Force    string   // what another plan with force would do, "" for none
}

// Result is what an action has done.
type Result struct {
	Title  string
	When   string // the time of day, for people
	Text   string // as the command prints it
	Failed bool
}
