package cline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// Tasks is the storage of one editor's extension, Cline's, Roo Code's or Kilo
// Code's, a [session.Store]: tasks are read, never changed; one that is gone can be
// put back. It holds nothing open and may be used by several goroutines at once.
type Tasks struct {
	logfile.Logs
	none string // the agent of tasks that name no directory
}

const (
	tasksName   = "tasks"
	historyName = "api_conversation_history.json"
	screenName  = "ui_messages.json"
)

// extensions are the directories of the extensions in an editor's globalStorage,
// and what the agent of a task is called that names no directory.
func extensions() map[string]string {
	return map[string]string{"saoudrizwan.claude-dev": "cline", "rooveterinaryinc.roo-cline": "roo", "kilocode.kilo-code": "kilo"}
}

// TaskTraits says what holds for every store of tasks.
func TaskTraits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeClineTasks, Homes: []string{"~/.config/Code/User/globalStorage", "~/.cline/data/tasks"},
		Formats: []session.Format{session.FormatClineTask}, SummaryStyle: session.StyleCheckpoint, Indexed: true,
	}
}

// Capabilities implements [session.Store].
func (s *Tasks) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: TaskTraits(), Strategies: []session.Strategy{session.StrategyNone},
		Liveness: s, Adviser: s, Counter: s, Restorer: s,
	}
}

// OwnCommand implements [session.Adviser].
func (s *Tasks) OwnCommand(session.Ref) string {
	return "/smol (Cline) or the button that condenses the context (Roo Code, Kilo Code) makes its context small"
}

// OpenTasks returns the store of an extension's storage.
func OpenTasks(root string) *Tasks {
	root = logfile.Absolute(root)
	s := &Tasks{none: noAgent, Logs: logfile.Logs{
		Name: session.RuntimeClineTasks, Store: root, Base: logfile.Within(root, tasksName), Depth: deepest, Owned: true,
	}}
	if name := extensions()[filepath.Base(root)]; name != "" {
		s.none = name
	}
	s.Locate, s.ReadAll, s.ReadTail = s.locate, s.Scan, s.readTail
	return s
}

// TaskRoots returns the storages of a user that hold tasks: of every editor that is
// made from VS Code, and of Cline's home directory.
func TaskRoots(home string, getenv func(string) string) (roots []string) {
	if home == "" {
		return nil
	}
	config := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(home, ".config")
	}
	var users []string
	for _, base := range []string{config, filepath.Join(home, "Library", "Application Support"), getenv("APPDATA")} {
		for _, editor := range []string{"Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"} {
			if filepath.IsAbs(base) {
				users = append(users, filepath.Join(base, editor, "User"))
			}
		}
	}
	for _, server := range []string{".vscode-server", ".vscode-server-insiders", ".cursor-server", ".windsurf-server"} {
		users = append(users, filepath.Join(home, server, "data", "User"))
	}
	users = slices.DeleteFunc(users, func(user string) bool { return !logfile.MayHold(user) }) // most editors are not here, and every start asks
	found := []string{filepath.Join(home, ".cline", "data")}
	for _, user := range users {
		for extension := range extensions() {
			found = append(found, filepath.Join(user, "globalStorage", extension))
		}
	}
	slices.Sort(found)
	found = slices.DeleteFunc(found, func(root string) bool { return !logfile.MayHold(filepath.Join(root, tasksName)) })
	return logfile.Existing(found...)
}

// locate reads where a task, or what belongs to it, lies.
func (s *Tasks) locate(below string) (session.Ref, bool) {
	id, name, inside := strings.Cut(below, "/")
	ref := session.Ref{Agent: s.none, ID: id, Kind: session.KindLive}
	if !inside || !session.SafeID(id) || !session.SafeID(name) || !strings.HasSuffix(name, manifestEnd) {
		return ref, false
	}
	if name != historyName {
		ref.Kind, ref.Parent, ref.ID = session.KindOutput, id, session.CleanID(id+"."+name)
	}
	return ref, true
}

// List implements [session.Store]: the tasks in the order of their names, each
// followed by what belongs to it. Every task is primary: the extension goes on with
// whichever it is told to.
func (s *Tasks) List(ctx context.Context) (session.Listing, error) {
	l := s.NewLister()
	err := l.Base(ctx, func(base *logfile.Dir, name string) {
		if base.HasDirectory(name) && session.SafeID(name) {
			s.list(l, base, name)
		}
	})
	for _, ref := range l.Listing.Refs {
		if !slices.Contains(l.Listing.Agents, ref.Agent) {
			l.Listing.Agents = append(l.Listing.Agents, ref.Agent)
		}
	}
	return l.Listing, err
}

// list lists one task, and then what belongs to it.
func (s *Tasks) list(l *logfile.Lister, base *logfile.Dir, id string) {
	d := l.Below(base, id)
	if d == nil {
		return
	}
	defer d.Close()
	agent := s.agentOf(d)
	log := logOf(d)
	var members []session.Ref
	l.Each(d, func(name string) {
		ref, ok := l.Located(d, name, "")
		if !ok {
			return
		}
		if ref.Agent = agent; name == log {
			ref.ID, ref.Kind, ref.Parent, ref.Primary = id, session.KindLive, "", true
			l.Add(ref)
			return
		}
		ref.ID, ref.Kind, ref.Parent = session.CleanID(id+"."+name), session.KindOutput, id
		ref.Key = id + "/" + name
		ref.State, ref.Reason = session.StateUnsupported, session.ReasonPartOfTask.Text()
		members = append(members, ref)
	})
	for _, ref := range members {
		l.Add(ref)
	}
}

// logOf names the log of a task: its history, or what was shown of it where that is all
// that is left.
func logOf(d *logfile.Dir) string {
	const emptyMost = 16 // bytes: "[]", perhaps with white space
	history, err := d.Root.Lstat(historyName)
	if err == nil && history.Size() > emptyMost || err != nil && !errors.Is(err, os.ErrNotExist) {
		return historyName
	}
	if _, err := d.Root.Lstat(screenName); err != nil {
		return historyName
	}
	return screenName
}

// directoryLine is where an extension names the directory of a task, as JSON has
// it.
var directoryLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`# Current (?:Working|Workspace) Directory \(([^()"]+)\)`)
})

// agentOf is the agent of a task: the directory that its first message names.
func (s *Tasks) agentOf(d *logfile.Dir) string {
	const looked = 64 << 10
	file, _, err := d.OpenLog(historyName)
	if err != nil {
		return s.none
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, looked))
	found := directoryLine().FindSubmatch(head)
	if err != nil || found == nil {
		return s.none
	}
	return session.AgentOfDirectory(strings.ReplaceAll(string(found[1]), `\\`, `\`), s.none)
}

// Scan implements [session.Store]: what is said in a task, in file order.
func (s *Tasks) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	scan := newScanner(o)
	scan.task = true
	err := scan.lines.RunArray(ctx, bufio.NewReaderSize(r, scanBuffer), emit, scan.element)
	result := &scan.lines.Result
	if err == nil && result.Counts.Records == 0 && result.Counts.Torn && result.Counts.Bytes > 0 {
		err = errNoDocument
	}
	return *result, err
}

// Place implements [session.Restorer]. The agent of a task whose history is there is
// that of its directory.
func (s *Tasks) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	return placed(ctx, &s.Logs, path, now, func(d *logfile.Dir, _ string) string { return s.agentOf(d) })
}

// readTail reads a task as a whole. The context is what the last model call
// counted, which stands in what the extension keeps for the screen, and an estimate
// of what was said since; without such a count it is an estimate.
func (s *Tasks) readTail(ctx context.Context, log *os.File, info os.FileInfo, ref session.Ref) (session.Tail, error) {
	if ref.Kind == session.KindOutput {
		return session.Tail{}, fmt.Errorf("%w: part of a task", session.ErrUnknownFormat)
	}
	var since int64
	ended := false
	scan := func(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
		return s.Scan(ctx, r, o, func(m *session.Message) error {
			if since += m.EstimateTokens(); m.Role == session.RoleAssistant {
				since = 0
			}
			if m.Role != session.RoleInjected {
				ended = m.Role == session.RoleAssistant && endsTurn(m)
			}
			return emit(m)
		})
	}
	tail, err := session.TailScan(ctx, io.NewSectionReader(log, 0, info.Size()), info.ModTime(), scan)
	if err != nil {
		return tail, err
	}
	tail.Answered = tail.Answered || ended
	if filepath.Base(ref.Path) != historyName || tail.Messages == 0 {
		return tail, nil // nothing of it is sent
	}
	counted, err := s.counted(ctx, ref)
	if err == nil && counted > 0 {
		tail.Tokens, tail.TokenSource = counted+since, session.TokensFromUsage
	}
	return tail, err
}

// endsTurn reports whether what an agent called ends its turn: then a person is
// asked.
func endsTurn(m *session.Message) bool {
	for _, p := range m.Parts {
		switch string(p.Name) {
		case "attempt_completion", "ask_followup_question", "plan_mode_respond":
			return true
		}
	}
	return false
}

// counted is what the last model call of a task counted, in tokens: 0 if none did,
// or if the context was condensed since.
func (s *Tasks) counted(ctx context.Context, ref session.Ref) (tokens int64, err error) {
	d, _, err := s.Directory(ref.Path)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	file, _, err := d.OpenLog(screenName)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var lines session.LineScan
	err = lines.RunArray(ctx, bufio.NewReaderSize(file, scanBuffer), nil, func(r *jsonl.Record) (bool, error) {
		var shown struct {
			Say, Text string
		}
		if json.Unmarshal(r.Raw, &shown) != nil {
			return false, nil
		}
		switch shown.Say {
		case "condense_context":
			tokens = 0
		case "api_req_started":
			var u struct{ TokensIn, TokensOut, CacheReads, CacheWrites float64 }
			_ = json.Unmarshal([]byte(shown.Text), &u) // one of another shape counts nothing
			if n := u.TokensIn + u.TokensOut + u.CacheReads + u.CacheWrites; n > 0 {
				tokens = int64(n)
			}
		}
		return true, nil
	})
	if errors.Is(err, session.ErrUnknownFormat) {
		err = nil
	}
	return tokens, err
}
