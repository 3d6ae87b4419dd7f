package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// instance is what a running Claude Code says of itself in
// sessions/<pid>.json. The file exists as long as it runs.
type instance struct {
	PID     int    `json:"pid"`
	Session string `json:"sessionId"`
	CWD     string `json:"cwd"`
}

func (p instance) reason() string {
	return session.ReasonClaudeHere.Text(p.PID)
}

var processName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[1-9][0-9]{0,9}\.json$`) })

// running returns the runtime's processes that are alive. A file that a killed
// one left behind names no process, or one that was started after it.
func (s *Store) running() ([]instance, error) {
	d, err := logfile.Open(filepath.Join(s.config, sessionsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // versions before 2.1 keep no such files
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return nil, err
	}
	var all []instance
	for _, name := range names {
		if !processName().MatchString(name) {
			continue
		}
		if p, ok := s.instance(d, name); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// instance reads one of the files. What cannot be read may be being written:
// its process counts by the name of the file, and may have any session open.
func (s *Store) instance(d *logfile.Dir, name string) (p instance, alive bool) {
	info, err := d.Root.Lstat(name)
	if err != nil {
		return p, false
	}
	if raw, _, err := d.ReadSmall(name); err == nil {
		_ = json.Unmarshal(raw, &p) // the number in the name is enough
	}
	if _, err := fmt.Sscanf(name, "%d.json", &p.PID); err != nil {
		return p, false
	}
	return p, s.runs(p.PID, info.ModTime())
}

// openIn returns the process that has a session open: the one that names it,
// or one that names only a working directory, or nothing.
func openIn(running []instance, ref session.Ref, project string) (instance, bool) {
	for _, p := range running {
		switch {
		case p.Session != "" && (p.Session == ref.ID || p.Session == ref.Parent),
			p.Session == "" && p.CWD != "" && session.FolderOf(p.CWD) == project,
			p.Session == "" && p.CWD == "":
			return p, true
		}
	}
	return instance{}, false
}

// Busy implements [session.Liveness]. A session is busy when a running Claude
// Code has it open, when its log changed within quiet, when it is empty,
// shorter than it was when it was listed, or gone, and when a turn is going on.
func (s *Store) Busy(ctx context.Context, q session.BusyQuestion) error {
	running, err := s.running()
	if err != nil {
		return fmt.Errorf("look for running processes: %w", err)
	}
	if p, ok := openIn(running, q.Ref, s.projectOf(q.Ref)); ok {
		return &session.BusyError{Path: q.Ref.Path, Reason: p.reason()}
	}
	question := logfile.Question{BusyQuestion: q, Tail: s.Tail}
	if q.Ref.Kind == session.KindOutput {
		question.Tail = nil
	}
	return s.Ask(ctx, question)
}

// projectOf is the name of the project that a log is in.
func (s *Store) projectOf(ref session.Ref) string {
	below, err := filepath.Rel(s.Base, ref.Path)
	if err != nil {
		return ""
	}
	for dir := filepath.Dir(below); dir != "."; dir = filepath.Dir(dir) {
		below = dir
	}
	return below
}
