package steps

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/session"
)

// shownBy is the command that shows what the model of a session would be sent.
func shownBy(s workspace.Found) string {
	switch {
	case s.Kind.InFile() && s.Store == "" && s.Archive == "":
		return "sessctl replay-context --file " + wording.Visible(session.ShellWord(s.Path))
	case s.Store == "":
		return "sessctl archives show " + wording.Visible(s.Archive)
	}
	return "sessctl replay-context --session " + wording.Visible(session.ShellWord(cmp.Or(s.ID, s.Key)))
}

// notTried refuses a target whose newest logs are of a version that nobody has seen going
// on with such a log, unless it is asked for.
func notTried(ctx context.Context, run *workspace.Run, into session.Store, o ContinueOptions) error {
	tried := workspace.TraitsOf(o.In).Tools.Tried
	seen, err := versionOf(ctx, into)
	if err != nil || seen == "" || tried[0] == "" || !earlier(seen, tried[0]) && !earlier(tried[1], seen) {
		return err
	}
	text := fmt.Sprintf("%s %s has not been tried with such sessions, %s to %s have", o.In, wording.Visible(seen), tried[0], tried[1])
	if o.Untested {
		run.Notice(workspace.Note{Path: into.Root(), Message: text, Hint: "look at what it knows of the session before you go on"})
		return nil
	}
	return &failure.Error{Code: "unsupported", Exit: failure.ExitFailed, Path: into.Root(), Hint: "--untested goes on with it", Err: errors.New(text)}
}

// earlier compares the first two numbers of versions: what is behind them changes no
// format.
func earlier(a, b string) bool {
	x, y := numbersOf(a), numbersOf(b)
	return x[0] < y[0] || x[0] == y[0] && x[1] < y[1]
}

func numbersOf(version string) (n [2]int) {
	for i, part := range strings.SplitN(version, ".", 3)[:min(2, strings.Count(version, ".")+1)] {
		n[i], _ = strconv.Atoi(part)
	}
	return n
}

// newestLogs is how many logs are asked for the version of their runtime.
const newestLogs = 5

// versionOf is the version that the program says, or the newest that the newest logs of a
// store name, "" if they name none.
func versionOf(ctx context.Context, into session.Store) (newest string, err error) {
	if program, ok := into.Capabilities().Beginner.(session.Versioner); ok {
		return program.Version(ctx)
	}
	listing, err := into.List(ctx)
	if err != nil {
		return "", err
	}
	logs := slices.DeleteFunc(listing.Refs, func(r session.Ref) bool { return !r.Kind.InFile() || r.Kind == session.KindDatabase })
	slices.SortFunc(logs, func(a, b session.Ref) int { return b.ModTime.Compare(a.ModTime) })
	for _, ref := range logs[:min(len(logs), newestLogs)] {
		if v := versionIn(ref.Path); earlier(newest, v) {
			newest = v
		}
	}
	return newest, nil
}

// versionHead is how much of a log is searched for the version, in bytes.
const versionHead = 256 << 10

// versionIn is the version of the runtime that a log's first records name: as a member of
// the record, or of its payload.
func versionIn(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	head, _ := io.ReadAll(io.LimitReader(file, versionHead))
	lines := bufio.NewScanner(bytes.NewReader(head))
	lines.Buffer(nil, versionHead)
	for lines.Scan() {
		var record struct {
			Version any `json:"version"`
			Payload struct {
				Version string `json:"cli_version"`
			} `json:"payload"`
		}
		_ = json.Unmarshal(lines.Bytes(), &record) // what is of another shape names none
		version, _ := record.Version.(string)
		if version = cmp.Or(version, record.Payload.Version); strings.Contains(version, ".") {
			return version
		}
	}
	return ""
}
