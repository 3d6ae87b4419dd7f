package jobs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate"
)

// State is how far a job is.
type State string

// The states of a job.
const (
	Queued      State = "queued"
	Running     State = "running"
	Finished    State = "finished"    // Result says how
	Interrupted State = "interrupted" // it did not end, and will not be begun again; Reason says why
)

// ended says whether nothing more will happen to the job.
func (s State) ended() bool { return s == Finished || s == Interrupted }

// Request is what somebody asks for.
type Request struct {
	// ID is the job's id if the caller has one: the same id is the same job, also
	// when that has ended. "" makes a new one.
	ID      string
	Kind    string // what is to be done
	Subject string // with what. One job of a kind and a subject waits or is worked on at a time
	Caller  string // who asks
	Options json.RawMessage
}

// Job is one piece of work, as its file has it.
type Job struct {
	ID       string          `json:"id"`
	Kind     string          `json:"kind"`    // what is done
	Subject  string          `json:"subject"` // with what
	Caller   string          `json:"caller_id"`
	Options  json.RawMessage `json:"options"`
	State    State           `json:"state"`
	Reason   string          `json:"reason"`   // why it waits again or was interrupted
	Attempts int             `json:"attempts"` // how often it was begun without being put back in order
	Created  time.Time       `json:"created_at"`
	Started  *time.Time      `json:"started_at"` // nil until it is begun
	Ended    *time.Time      `json:"ended_at"`   // nil until it has ended
	Result   *Result         `json:"result"`     // nil until it is finished
}

// Result is how the work of a job ended.
type Result struct {
	Outcome  operate.Outcome `json:"outcome"`
	ExitCode int             `json:"exit_code"`          // of the command that does the same
	Error    *Failure        `json:"error"`              // what it says on stderr, or nil
	Document json.RawMessage `json:"document,omitempty"` // what it prints with --json; not in lists
}

// Failure is what a command says about an error.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	Path    string `json:"path"`
}

// file is a job on disk.
type file struct {
	Schema int `json:"schema"` // 1
	Job
}

// maxFile bounds a job's file, in bytes: the document of a run over very many
// sessions.
const maxFile = 64 << 20

const suffix = ".json"

// directory holds the files of jobs.
type directory struct {
	path string
	pins *durable.Pins
}

// write makes a job durable, in the place of what was known of it before.
func (d directory) write(j Job) error {
	text, err := json.Marshal(file{Schema: 1, Job: j})
	if err != nil {
		return fmt.Errorf("write job %s: %w", j.ID, err)
	}
	err = d.pins.ReplaceFile(d.pathOf(j.ID), 0o600, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("write job %s: %w", j.ID, err)
	}
	return nil
}

func (d directory) pathOf(id string) string { return filepath.Join(d.path, id+suffix) }

func (d directory) read(path string) (Job, error) {
	text, err := d.pins.ReadSmall(path, maxFile)
	if err != nil {
		return Job{}, err
	}
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return Job{}, fmt.Errorf("read job %s: %w", path, err)
	}
	if name := strings.TrimSuffix(filepath.Base(path), suffix); f.ID != name {
		return Job{}, fmt.Errorf("read job %s: it is of job %q", path, f.ID)
	}
	return f.Job, nil
}

// readAll returns all jobs, oldest first, and an error for each
// file that is none. What else lies there is left alone.
func (d directory) readAll() (all []Job, damaged []error, err error) {
	entries, err := d.pins.ReadDir(d.path)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, suffix) || strings.HasPrefix(name, ".") || !safeID(strings.TrimSuffix(name, suffix)) {
			continue
		}
		j, err := d.read(filepath.Join(d.path, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			damaged = append(damaged, err)
			continue
		}
		all = append(all, j)
	}
	slices.SortFunc(all, older)
	return all, damaged, nil
}

func older(x, y Job) int {
	return cmp.Or(x.Created.Compare(y.Created), strings.Compare(x.ID, y.ID))
}

// safeID reports whether an id can be the name of a file.
func safeID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for _, r := range id {
		if (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return false
		}
	}
	return true
}
