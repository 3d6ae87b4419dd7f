package doctor

import (
	"fmt"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/wording"
)

// Document is `doctor --json`.
type Document struct {
	Schema   int            `json:"schema"`
	Fixed    bool           `json:"fixed"` // --fix was given and ran to its end
	Findings []Finding      `json:"findings"`
	GivenUp  *audit.GivenUp `json:"given_up,omitempty"` // with --give-up
}

// Severity says how much a finding matters.
type Severity string

// The severities, mildest first.
const (
	SeverityOK      Severity = "ok"
	SeverityNote    Severity = "note"
	SeverityWarning Severity = "warning"
	SeverityProblem Severity = "problem"
)

// Finding is one thing that doctor saw.
type Finding struct {
	Severity  Severity `json:"severity"`
	Check     string   `json:"check"` // what was looked at: config, data, lock, runs, ...
	Path      string   `json:"path"`
	Message   string   `json:"message"`
	Advice    string   `json:"advice"`    // what to do, or ""
	Integrity bool     `json:"integrity"` // an archive or the memory is damaged
}

// Matters says whether doctor ends with an error for it.
func (f Finding) Matters() bool {
	return f.Severity == SeverityWarning || f.Severity == SeverityProblem
}

// Cause is what a note or a warning says of every place that it is said of. What is
// damaged stands alone, and everything where each is to be told.
func (f Finding) Cause(each bool) string {
	if each || f.Severity != SeverityNote && f.Severity != SeverityWarning || f.Integrity {
		return ""
	}
	return string(f.Severity) + " " + f.Check + " " + wording.CauseOf(f.Path, f.Message)
}

// findings collects what the checks see.
type findings struct {
	check string // what is being looked at
	all   []Finding
}

func (f *findings) add(found Finding) {
	found.Check = f.check
	f.all = append(f.all, found)
}

func (f *findings) ok(path, format string, args ...any) {
	f.add(Finding{Severity: SeverityOK, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (f *findings) note(path, message, advice string) {
	f.add(Finding{Severity: SeverityNote, Path: path, Message: message, Advice: advice})
}

func (f *findings) warn(path, message, advice string) {
	f.add(Finding{Severity: SeverityWarning, Path: path, Message: message, Advice: advice})
}

func (f *findings) problem(path, message, advice string) {
	f.add(Finding{Severity: SeverityProblem, Path: path, Message: message, Advice: advice})
}

// damaged is a problem of an archive or of the memory.
func (f *findings) damaged(path, message, advice string) {
	f.add(Finding{Severity: SeverityProblem, Path: path, Message: message, Advice: advice, Integrity: true})
}
