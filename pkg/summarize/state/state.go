package state

import "fmt"

// State is where the work of one session stands. It is printed and served; nobody
// stores it.
type State struct {
	// Messages are those of the active branch that were read.
	Messages int   `json:"messages"`
	Time     int64 `json:"time,omitempty"` // of the last message, in milliseconds of the epoch

	Plan *Plan `json:"plan,omitempty"` // as the agent's plan tool had it last
	// Request is what a person said last. Where that is short ("yes", "continue"),
	// Before is the longer message of theirs that came last before it.
	Request *Quote `json:"request,omitempty"`
	Before  *Quote `json:"before,omitempty"`
	Word    *Quote `json:"word,omitempty"` // what the agent said last

	Steps      []Step  `json:"steps,omitempty"`      // the last calls, oldest first
	Files      []File  `json:"files,omitempty"`      // changed ones first, each kind newest first
	Failing    []Step  `json:"failing,omitempty"`    // what failed and did not work since, newest first
	Unanswered []Quote `json:"unanswered,omitempty"` // what was asked last, by either side

	requests int // of people
}

// Place is where something stands in the log. A log of one line, as a JSON document
// is, tells it by the number of the message.
type Place struct {
	Line    int `json:"line"`              // from 1
	Message int `json:"message,omitempty"` // from 1; 0 where lines tell the place
}

// String is the place as texts name it: "120" for a line, "message 12" in a log of
// one line.
func (p Place) String() string {
	if p.Message > 0 {
		return fmt.Sprintf("message %d", p.Message)
	}
	return fmt.Sprint(p.Line)
}

// Quote is what somebody said, of a long text its beginning and its end.
type Quote struct {
	Text string `json:"text"`
	Place
}

// Plan is a list of things to do that an agent keeps with a tool of its runtime.
type Plan struct {
	Items []PlanItem `json:"items"`
	Since int        `json:"requests_since"` // messages of people since it was written
	Place
}

// PlanItem is one thing to do.
type PlanItem struct {
	Text   string `json:"text"`
	Status Status `json:"status"`
}

// Status is how far an item of a plan is.
type Status string

// The statuses of an item of a plan, whatever its runtime calls them.
const (
	StatusPending    Status = "pending"
	StatusInProgress Status = "in_progress"
	StatusCompleted  Status = "completed"
	StatusCancelled  Status = "cancelled"
)

// Open reports whether an item is still to be done.
func (s Status) Open() bool { return s == StatusPending || s == StatusInProgress }

// Open are the items that are still to be done, in their order.
func (p *Plan) Open() (open []PlanItem) {
	if p == nil {
		return nil
	}
	for _, item := range p.Items {
		if item.Status.Open() {
			open = append(open, item)
		}
	}
	return open
}

// Step is one call of a tool, or a command that a person ran.
type Step struct {
	Tool string `json:"tool,omitempty"` // empty for a command that a person ran
	Text string `json:"text"`           // the command line, the file, or what else the call names
	// Outcome is "ok", "exit 1", "failed", or "no result" where the log has none.
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"` // the lines that tell what went wrong
	Place

	command  bool
	requests int // of people before it
}

// File is a file that tools have read or changed.
type File struct {
	Path    string `json:"path"`
	Edits   int    `json:"edits,omitempty"` // how often it was written or changed
	Reads   int    `json:"reads,omitempty"`
	Removed bool   `json:"removed,omitempty"`
	Place          // of the last call that changed it, or else read it
}
