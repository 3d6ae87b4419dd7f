package faults

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/crashloop"
	"github.com/sessctl/sessctl/internal/scratch"
	"github.com/sessctl/sessctl/internal/tier"
	"pgregory.net/rapid"
)

// Commands follow each other in any order, some are killed before a call, and
// the agent goes on in between. After every one no line is missing, its exit code
// is one that is documented, archives verify and doctor find nothing damaged, and
// in the end every earlier run can be finished.
//
// The same sequences are tried every time, but for the nightly run, to which its seed
// gives others; -rapid.seed and -rapid.checks choose, too. How many there are depends
// on the tier (docs/dev/testing.md).
func TestSequences(t *testing.T) {
	program := BuiltProgram(t)
	choice := map[string]string{"rapid.checks": "1", "rapid.steps": "8", "rapid.seed": "12", "rapid.nofailfile": "true"}
	runtimes := []string{"pi", "openclaw", "agent", "annabelle", "macstats"}
	switch {
	case tier.Long():
		choice["rapid.checks"], choice["rapid.steps"] = "60", "30"
		if seed := tier.Seed(); seed != "" { // each night plays others
			choice["rapid.seed"] = strconv.FormatUint(uint64(draw(seed, "sequences")), 10)
		}
	case !tier.Smoke():
		choice["rapid.checks"], choice["rapid.steps"] = "6", "14"
	default:
		runtimes = runtimes[:1]
	}
	flag.Visit(func(f *flag.Flag) { delete(choice, f.Name) })
	for name, value := range choice {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	for _, runtime := range runtimes {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { newSequence(t, program, runtime).play() })
		})
	}
}

// sequence is a home in which one command follows the other.
type sequence struct {
	t       *rapid.T
	home    *Home
	written int // messages of the agent's, each different
}

func newSequence(t *rapid.T, program, runtime string) *sequence {
	dir, err := os.MkdirTemp(scratch.Dir(), "sequence-*")
	s := &sequence{t: t, home: &Home{Dir: dir, Program: program, Command: Command{Runtime: runtime}}, written: 101}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err = errors.Join(err, s.home.build()); err == nil {
		err = withMetadata(s.home)
	}
	s.must(err)
	return s
}

func (s *sequence) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *sequence) play() {
	s.t.Repeat(map[string]func(*rapid.T){
		"":       s.check,
		"append": func(t *rapid.T) { s.append(t, s.live()) },
		"late":   func(t *rapid.T) { s.append(t, s.old()) },
		"run":    func(t *rapid.T) { s.run(s.draw(t)...) },
		"then":   func(t *rapid.T) { s.run(s.draw(t)...) }, // twice as often
		"kill":   func(t *rapid.T) { s.kill(s.draw(t), rapid.IntRange(1, 200).Draw(t, "call")) },
	})
	s.ends()
}

// agent is the name of the session's agent.
func (s *sequence) agent() string {
	return map[string]string{"pi": "work-a", "agent": "agent", "macstats": "mac-stats"}[s.home.Command.Runtime]
}

// draw chooses a command.
func (s *sequence) draw(t *rapid.T) []string {
	agent := s.agent()
	if agent == "" {
		agent = "a"
	}
	const now = " --quiet-period 0s"
	commands := []string{
		"compact --all --force --keep-recent-tokens 10" + now, "compact --all --force" + now, "compact --all --force --strategy rotate" + now,
		"compact --all --force --skip-archive" + now, "compact --all --force --skip-summary --keep-recent-tokens 10" + now,
		"archive --all", "doctor --fix", "memory reindex", "memory reindex --from-archives", "extract-facts --all --idle 0s",
		"clean --max-age 1d --force --yes", "clean --max-age 1d --force --yes --grace 0s", "clean --undelete all",
		"archives prune --max-age 0s --force --keep 0 --yes", "archives prune --max-age 0s --force --keep 0 --yes --grace 0s",
		"archives prune --max-age 0s --force --keep 1 --yes", "memory forget --agent " + agent + " --yes",
	}
	for kind, forms := range map[string][]string{
		"receipts":       {"undo %s" + now, "undo %s --force" + now, "undo %s --force --keep-memory" + now},
		"archives":       {"restore %s" + now, "restore %s --force" + now},
		"trash/archives": {"archives prune --undelete %s"},
		"journal":        {"doctor --give-up %s"},
	} {
		for _, id := range s.ids(kind) {
			for _, form := range forms {
				commands = append(commands, fmt.Sprintf(form, id))
			}
		}
	}
	slices.Sort(commands)
	n := rapid.Uint64().Draw(t, "command")
	return strings.Fields(commands[n*0x9e3779b97f4a7c15>>33%uint64(len(commands))]) // rapid prefers small numbers, and no command is to be preferred
}

// ids are the names of the documents in a directory: the first, and the last two.
func (s *sequence) ids(kind string) (ids []string) {
	names, err := filepath.Glob(filepath.Join(s.home.Data(), kind, "*.json"))
	s.must(err)
	if len(names) > 3 {
		names = append(names[:1:1], names[len(names)-2:]...)
	}
	for _, name := range names {
		ids = append(ids, strings.TrimSuffix(filepath.Base(name), ".json"))
	}
	return ids
}

// documented are the exit codes of commands that find nothing damaged.
var documented = []int{0, 1, 2, 3, 75}

func (s *sequence) run(args ...string) {
	s.t.Helper()
	s.ready()
	code, out, err := s.home.Run(args...)
	s.must(err)
	s.t.Logf("%s: exit %d: %.300s", strings.Join(args, " "), code, out)
	if !slices.Contains(documented, code) || strings.Contains(out, "goroutine ") {
		s.t.Fatalf("%s: exit %d: %s", strings.Join(args, " "), code, out)
	}
}

// kill runs a command and kills it before its nth changing call, if it makes so
// many.
func (s *sequence) kill(args []string, n int) {
	s.ready()
	s.home.Command.Args = args
	got, err := s.home.trace(false, once(n, crashloop.Fault{Kill: true}))
	s.must(err)
	s.t.Logf("%s: killed %v at call %d, exit %d", strings.Join(args, " "), got.Killed, n, got.Exit)
}

// past is when everything here was written: so long ago that nothing protects it.
const past = 72 * time.Hour

// ready makes the agent's logs look as if they had been written long ago, in the
// order in which they were.
func (s *sequence) ready() {
	s.must(s.home.eachFile(func(path string) error {
		info, err := os.Lstat(path)
		if err != nil || !isLog(filepath.Base(path)) || time.Since(info.ModTime()) > past/2 {
			return err
		}
		at := info.ModTime().Add(-past)
		return os.Chtimes(path, at, at)
	}))
}

// check holds after every command.
func (s *sequence) check(*rapid.T) {
	s.must(errors.Join(s.home.linesKept(), s.indexIsWhole()))
	verify, verified, err := s.home.Run("archives", "verify")
	s.must(err)
	doctor, found, err := s.home.Run("doctor")
	s.must(err)
	if verify != 0 || doctor == 4 {
		s.t.Fatalf("archives verify: exit %d, doctor: exit %d\n%s\n%s", verify, doctor, verified, found)
	}
	if code, out, err := s.home.Run("memory", "verify"); err != nil || code != 0 && !strings.Contains(out, "no memory") {
		s.t.Fatalf("memory verify: exit %d, %v: %s", code, err, out)
	}
}

// indexIsWhole is Home.indexIsWhole where there is an index.
func (s *sequence) indexIsWhole() error {
	if s.home.index() == "" {
		return nil
	}
	return s.home.indexIsWhole()
}

// ends checks that nothing is stuck: what was killed can be finished, and the
// session can be compacted.
func (s *sequence) ends() {
	s.ready()
	s.must(s.home.must([]int{0, 1}, "doctor", "--fix"))
	s.ready()
	s.must(s.home.must([]int{0, 75}, "compact", "--all", "--force", "--quiet-period", "0s"))
	s.check(s.t)
	stuck, err := filepath.Glob(filepath.Join(s.home.Data(), "journal", "*.set-aside"))
	s.must(err)
	if len(stuck) > 0 {
		text, _ := os.ReadFile(stuck[0])
		s.t.Fatalf("a run cannot be finished: %s", text)
	}
	s.must(s.home.nothingLeft(false))
}

// append writes a message, or two, at the end of a log, as the agent would.
func (s *sequence) append(t *rapid.T, path string) {
	if path == "" {
		t.Skip("there is no such log")
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	parent := lastEntry(data)
	var lines []string
	if header := s.home.layout().header; len(data) == 0 && header != "" {
		lines = append(lines, s.header(path))
	}
	for range 2 {
		s.written++
		line := s.home.layout().message(s.written, fmt.Sprintf("message %d about the harbour. ", s.written)+strings.Repeat("The crane stands. ", 40))
		var entry map[string]any
		if json.Unmarshal([]byte(line), &entry) == nil && entry["parentId"] != nil {
			entry["parentId"], entry["timestamp"] = parent, time.Now().Add(-past).UTC().Format("2006-01-02T15:04:05.000Z")
			parent, _ = entry["id"].(string)
			text, err := json.Marshal(entry)
			s.must(err)
			line = string(text)
		}
		if line != "" {
			lines = append(lines, strings.Split(line, "\n")...)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	s.must(err)
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	s.must(errors.Join(err, f.Close()))
	for _, line := range lines {
		if !slices.Contains(s.home.Lines, line) { // "## User" may be in several files
			s.home.Lines = append(s.home.Lines, line)
		}
	}
}

// header is the first line of a fresh log at a path.
func (s *sequence) header(path string) string {
	id := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	return strings.Replace(s.home.layout().header, Session, id, 1)
}

// lastEntry is the id of the last entry of a log, "" if it has none.
func lastEntry(log []byte) any {
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	for _, line := range slices.Backward(lines) {
		var entry struct{ Type, ID string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.ID != "" && entry.Type != "session" {
			return entry.ID
		}
	}
	return nil
}

// live is the log that the agent goes on with, or begins.
func (s *sequence) live() string {
	if s.home.index() == "" {
		return s.newest(func(name string) bool {
			return !strings.Contains(name, ".rotated.") && !strings.Contains(name, ".reset.")
		})
	}
	data, err := os.ReadFile(s.home.index())
	s.must(err)
	var index map[string]struct{ SessionID string }
	s.must(json.Unmarshal(data, &index))
	if id := index["agent:a:main"].SessionID; id != "" {
		return filepath.Join(s.home.Sessions(), id+".jsonl")
	}
	return ""
}

// old is the last log that was moved aside.
func (s *sequence) old() string {
	return s.newest(func(name string) bool {
		return strings.Contains(name, ".rotated.") || strings.Contains(name, ".reset.")
	})
}

// newest is the last written log of the agent's that is wanted, "" for none.
func (s *sequence) newest(wanted func(name string) bool) (path string) {
	var at time.Time
	s.must(filepath.WalkDir(filepath.Dir(s.home.Sessions()), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".sessctl-trash" {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err == nil && d.Type().IsRegular() && isLog(d.Name()) && !strings.HasPrefix(d.Name(), ".") && wanted(d.Name()) && !info.ModTime().Before(at) {
			path, at = p, info.ModTime()
		}
		return err
	}))
	return path
}
