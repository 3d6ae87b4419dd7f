package operate

import "time"

// Outcome is how a run, or a step of one, ended.
type Outcome string

// The outcomes of runs and steps (docs/json.md).
const (
	OK          Outcome = "ok"
	Partial     Outcome = "partial" // some sessions failed, or something had to be passed over
	Failed      Outcome = "failed"
	Busy        Outcome = "busy"    // something is in use: a later run finds it free
	Damaged     Outcome = "damaged" // an archive, a receipt or the memory
	Interrupted Outcome = "interrupted"
	Skipped     Outcome = "skipped" // of a step only: it was not begun
	// Running is what a reader makes of a record whose process is at work; no
	// file says so.
	Running Outcome = "running"
)

// RunRecord is one run of a profile. It is written when the run begins, as
// Interrupted and without an end, so that a run that was killed is seen; and
// again when it ends.
type RunRecord struct {
	Schema      int          `json:"schema"` // 1
	ID          string       `json:"id"`     // ULID; the file is <id>.json
	Version     string       `json:"version"`
	Profile     string       `json:"profile"`
	Process     int          `json:"process"`              // its id
	Invocation  string       `json:"invocation,omitempty"` // of the unit of systemd that ran it: its INVOCATION_ID
	Started     time.Time    `json:"started_at"`           // UTC
	Finished    time.Time    `json:"finished_at,omitzero"` // UTC; not there if the run was killed, or is at work
	Seconds     float64      `json:"seconds"`
	Outcome     Outcome      `json:"outcome"`
	ExitCode    int          `json:"exit_code"`
	Reason      string       `json:"reason"` // why no step was begun, or no more; "" otherwise
	BytesBefore Sizes        `json:"bytes_before"`
	BytesAfter  Sizes        `json:"bytes_after"`
	Steps       []StepRecord `json:"steps"`
	// Told says that the event of the run's end is on disk.
	Told bool `json:"told,omitempty"`
}

// Ended reports whether the run came to an end that it could write down itself.
func (r RunRecord) Ended() bool { return !r.Finished.IsZero() }

// Sizes are bytes on the disk.
type Sizes struct {
	Logs     int64 `json:"logs"` // of all sessions, live and closed
	Archives int64 `json:"archives"`
	Memory   int64 `json:"memory"`
}

// StepRecord is one step of a run: a command of sessctl.
type StepRecord struct {
	Step     string    `json:"step"`                // its name in the profile: compact, archives prune
	Command  []string  `json:"command"`             // the words after sessctl that do the same by hand
	Started  time.Time `json:"started_at,omitzero"` // UTC; not there if it was not begun
	Seconds  float64   `json:"seconds"`
	Outcome  Outcome   `json:"outcome"`
	ExitCode int       `json:"exit_code"`
	Reason   string    `json:"reason"`  // why it failed or was skipped, or ""
	Changed  int       `json:"changed"` // sessions, archives or facts that are not as before
	Summary  string    `json:"summary"` // for people, one line
	// Problems are what failed in it, by session or archive; the first MaxProblems.
	Problems []string `json:"problems,omitempty"`
}

// MaxProblems bounds the problems of a step that a record keeps.
const MaxProblems = 20
