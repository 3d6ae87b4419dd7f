package facts

import "github.com/sessctl/sessctl/pkg/session"

// Kind says what a fact is about (docs/dev/decisions.md D19).
type Kind string

// The kinds of facts.
const (
	Preference Kind = "preference" // what somebody likes, or wants done always or never
	Background Kind = "background" // who the person is
	Pattern    Kind = "pattern"    // what they do again and again
	Project    Kind = "project"    // what they work on, and with what
	Contact    Kind = "contact"    // people, and how to reach them
	Decision   Kind = "decision"   // what was decided
	// Environment is what work is done on and with: hosts, ports, versions, paths
	// and accounts, never what opens them.
	Environment Kind = "environment"
	Deadline    Kind = "deadline" // when something is due, or happens
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{Preference, Background, Pattern, Project, Contact, Decision, Environment, Deadline}
}

// The limits of an extraction (docs/dev/decisions.md D19).
const (
	DefaultMessages   = 20  // of a session that are looked at, the newest
	LeastMessages     = 4   // a session must have: two exchanges
	DefaultMost       = 5   // facts of one extraction
	DefaultConfidence = 0.7 // from which a fact is stored
)

// Version names the rules by which facts are made and checked. A session that
// was looked at by other rules is looked at again.
const Version = "facts-10"

// Fact is one thing that was said.
type Fact struct {
	Kind       Kind
	Text       string  // one line that can be understood alone
	Confidence float64 // 0 to 1

	Quote       string       // the words of the log that say it, on one line
	Line        int          // of the log, 1-based
	Offset, End int64        // bytes of that record in the log
	Time        int64        // epoch milliseconds of that record
	Speaker     session.Role // RoleUser or RoleAssistant, or RoleToolResult of what a call proved

	MadeBy string // [MadeByRules], or provider and model

	// Topic is what there can be only one of ("user.name"), or "". A newer fact
	// with the same topic and another value supersedes.
	Topic string
	Value string
	// Replaces is the id of a known fact that a model says is over, or "". It
	// was checked.
	Replaces string
}

// Refusal is why something was not made a fact.
type Refusal struct {
	Line   int // of the log, or 0
	Reason string
}

// Reasons for which something is never a fact.
const (
	reasonSecret  = "it holds a secret"
	reasonAgainst = "it is an instruction to go against somebody"
)

// Known is a fact that is stored, under its id.
type Known struct {
	ID      string
	Session string // in whose log its Line is
	Fact
	Superseded bool // it is not true any more
}
