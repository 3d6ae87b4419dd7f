package steps

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate"
)

// ProfileNames are the profiles that can be run.
func ProfileNames(a *workspace.Settings) []string {
	return slices.Compact(slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(a.Config.Profiles)), operate.DefaultProfile))))
}

// RunDocument is `run --json` (docs/json.md): the run, with the document of each
// step.
type RunDocument struct {
	audit.RunRow
	Unread []workspace.UnreadRow `json:"unread"` // what was seen and not read
	Notes  []workspace.Note      `json:"notes"`
}

// Seconds says a time of so many seconds.
func Seconds(s float64) string { return strconv.FormatFloat(s, 'f', 1, 64) }

// Took is a duration for people.
func Took(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Growth says what became more or less on the disk.
func Growth(before, after audit.RunSizes) string {
	var parts []string
	for _, of := range []struct {
		what          string
		before, after int64
	}{{"logs", before.Logs, after.Logs}, {"archives", before.Archives, after.Archives}, {"memory", before.Memory, after.Memory}} {
		text := of.what + " " + wording.Bytes(of.after)
		if of.before != of.after {
			text = fmt.Sprintf("%s %s -> %s", of.what, wording.Bytes(of.before), wording.Bytes(of.after))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// Rehearsal is `run --dry-run --json`.
type Rehearsal struct {
	Schema  int              `json:"schema"`
	DryRun  bool             `json:"dry_run"`
	Profile string           `json:"profile"`
	Steps   []RehearsedStep  `json:"steps"`
	Notes   []workspace.Note `json:"notes"`
}

// RehearsedStep is a step of a profile that was not carried out.
type RehearsedStep struct {
	Step     string          `json:"step"`
	Command  []string        `json:"command"`
	Reason   string          `json:"reason"` // why it would not begin, or ""
	Document json.RawMessage `json:"document,omitempty"`
}

// ExitWith is the error for an outcome that was told, nil if all is well.
func ExitWith(outcome operate.Outcome) error {
	if code := CodeOfOutcome(outcome); code != failure.ExitOK {
		return &failure.Outcome{Exit: code}
	}
	return nil
}
