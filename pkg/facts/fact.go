package facts

import "github.com/sessctl/sessctl/pkg/session"

// Kind says what a fact is about (seed 000, Fact Extraction).
type Kind string

// The kinds of facts.
const (
	Preference Kind = "preference" // what somebody likes, or wants done always or never
	Background Kind = "background" // who the person is
	Pattern    Kind = "pattern"    // what they do again and again
	Project    Kind = "project"    // what they work on, and with what
	Contact    Kind = "contact"    // people, and how to reach them
	Decision   Kind = "decision"   // what was decided
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{Preference, Background, Pattern, Project, Contact, Decision}
}

// Seed 000, Fact Extraction, and research/behaviours.md section 3.
const (
	DefaultMessages   = 20  // of a session that are looked at, the newest
	LeastMessages     = 4   // a session must have: two exchanges
	DefaultMost       = 5   // facts of one extraction
	DefaultConfidence = 0.7 // from which a fact is stored
)

// Version names the rules by which facts are made and judged. A session that
// was looked at by other rules is looked at again.
const Version = "facts-1"

// Fact is one thing that was said.
type Fact struct {
	Kind       Kind
	Text       string  // one line that can be understood alone
	Confidence float64 // 0 to 1

	Quote       string       // the words of the log that say it, on one line
	Line        int          // of the log, 1-based
	Offset, End int64        // bytes of that record in the log
	Time        int64        // epoch milliseconds of that record
	Speaker     session.Role // RoleUser or RoleAssistant

	MadeBy string // [MadeByRules], or provider and model

	// Topic is what there can be only one of ("user.name"), or "". A newer fact
	// with the same topic and another value supersedes.
	Topic string
	Value string
	// Instead is what the fact says is over ("we moved from MySQL to ..."), or "".
	Instead string
	// Replaces is the id of a known fact that a model says is over, or "". It
	// was checked.
	Replaces string
}

// Refusal is why something was not made a fact.
type Refusal struct {
	Line   int // of the log, or 0
	Reason string
}
