package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sessctl/sessctl/internal/tier"
)

// Archiving comes first: whatever is wrong with anything else in the data
// directory, a session that has grown is archived, byte for byte. What could not be
// done is named and is in the exit code, and when the part is mended, the same
// command does it.

// brokenPart is a part of the data directory.
type brokenPart struct {
	path  string // below the data directory
	isDir bool
}

func brokenParts() []brokenPart {
	return []brokenPart{
		{path: "memory", isDir: true}, {path: "memory/memory.db"},
		{path: "memory-forgotten", isDir: true}, {path: "memory-forgotten.json"}, {path: "memory-forgotten/FIRST"},
		{path: "memory-summaries", isDir: true}, {path: "memory-stored", isDir: true}, {path: "memory-stored/FIRST"},
		{path: "places.json"}, {path: "journal", isDir: true}, {path: "journal/01ARZ3NDEKTSV4RRFFQ69G5FAV.json"},
		{path: "receipts", isDir: true}, {path: "receipts/FIRST"},
		{path: "archives", isDir: true}, {path: "archives/FIRST"},
		{path: "runs", isDir: true}, {path: "runs/FIRST"},
		{path: "outbox", isDir: true}, {path: "outbox/receipts.told"}, {path: "outbox/targets.json"},
		{path: "verified.jsonl"}, {path: "audit.jsonl"}, {path: "pinned.json"}, {path: "clock.json"}, {path: "monitor.json"},
		{path: "pages", isDir: true}, {path: "facts", isDir: true}, {path: "shrink", isDir: true}, {path: "outgoing", isDir: true},
		{path: "hooks", isDir: true}, {path: "hooks/failures.jsonl"}, {path: "jobs", isDir: true}, {path: "trash", isDir: true},
		{path: "../../../.cache/sessctl", isDir: true},
	}
}

// breakage is a way in which a part can be broken.
type breakage struct {
	name  string
	only  func(p brokenPart) bool // nil for all
	apply func(path string) error
}

func isFile(p brokenPart) bool { return !p.isDir }

func breakages() []breakage {
	return []breakage{
		{name: "missing", apply: os.RemoveAll},
		{name: "garbage", apply: func(path string) error { return replaceWith(path, bytes.Repeat([]byte("garbage "), 1024)) }},
		{name: "empty", only: isFile, apply: func(path string) error { return replaceWith(path, nil) }},
		{name: "newer", only: isFile, apply: makeNewer},
		{name: "no permission", apply: func(path string) error { return os.Chmod(path, 0) }},
		{name: "read only", apply: func(path string) error { return os.Chmod(path, 0o500) }},
		{name: "dangling link", apply: func(path string) error {
			return errors.Join(os.RemoveAll(path), os.Symlink("/nonexistent/disk/part", path))
		}},
		{name: "directory for file", only: isFile, apply: func(path string) error {
			return errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Join(path, "in it"), 0o700))
		}},
	}
}

func replaceWith(path string, text []byte) error {
	return errors.Join(os.RemoveAll(path), os.WriteFile(path, text, 0o600))
}

// makeNewer gives a file the schema of a later version.
func makeNewer(path string) error {
	if !strings.HasSuffix(path, ".db") {
		return replaceWith(path, []byte(`{"schema": 999, "what": "a later version knows"}`+"\n"))
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte{0, 0, 3, 231}, 60) // the version that a database's header has for its users
	return errors.Join(err, f.Close())
}

// brokenCommand is a command that is to archive the session.
type brokenCommand struct {
	name      string
	args      []string
	stdin     string
	remembers bool
	always0   bool
}

const brokenSession = "33774103-7edb-4696-ba71-100ef2c253bc"

func brokenCommands() []brokenCommand {
	return []brokenCommand{
		{name: "archive", args: []string{"archive", "--agent", "librarian"}},
		{name: "archive --remember", args: []string{"archive", "--agent", "librarian", "--remember"}, remembers: true},
		{name: "run", args: []string{"run", "nightly"}, remembers: true},
		{name: "compact", args: []string{"compact", "--agent", "librarian", "--force", "--quiet-period", "0s"}, remembers: true},
		{
			name: "hook", args: []string{"hook", "run", "openclaw"}, remembers: true, always0: true,
			stdin: `{"type":"session","action":"compact:before","sessionKey":"agent:librarian:main","sessionId":"` + brokenSession + `"}`,
		},
	}
}

// brokenHome is a home in which one part may be broken.
type brokenHome struct {
	t       *testing.T
	program string
	dir     string
	data    string
	log     string
	grown   []byte // the session as it is to be archived
}

// newBrokenBase makes a home whose data directory has all its parts.
func newBrokenBase(t *testing.T, program string) *brokenHome {
	h := &brokenHome{t: t, program: program, dir: t.TempDir()}
	h.place()
	h.must(os.CopyFS(h.dir, os.DirFS(filepath.Join(module, "testdata/sample"))))
	h.age()
	h.expect(0, "", "run", "nightly")
	h.expect(0, "", "compact", "--agent", "coordinator", "--force")
	h.expect(0, "", "memory", "forget", "--agent", "coordinator", "--yes")
	h.expect(0, storeCall, "mcp", "--allow-write")
	for _, p := range brokenParts() {
		path := filepath.Join(h.data, p.path)
		switch _, err := os.Lstat(path); {
		case err == nil || filepath.Base(path) == "FIRST":
		case p.isDir:
			h.must(os.MkdirAll(path, 0o700))
		}
	}
	return h
}

const storeCall = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_store","arguments":{"text":"The librarian always shelves atlases flat.","category":"lesson","agent":"librarian"}}}
`

func (h *brokenHome) place() {
	h.data = filepath.Join(h.dir, ".local/share/sessctl")
	h.log = filepath.Join(h.dir, ".openclaw/agents/librarian/sessions", brokenSession+".jsonl")
}

func (h *brokenHome) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *brokenHome) age() {
	old := time.Now().Add(-240 * time.Hour)
	for _, store := range []string{".openclaw", ".pi"} {
		h.must(filepath.WalkDir(filepath.Join(h.dir, store), func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Chtimes(path, old, old))
		}))
	}
}

// copy makes a home like this one, in which the session has grown.
func (h *brokenHome) copy(t *testing.T) *brokenHome {
	c := &brokenHome{t: t, program: h.program, dir: t.TempDir()}
	c.place()
	return c
}

func (h *brokenHome) fill(from *brokenHome) {
	h.must(exec.Command("cp", "-a", from.dir+"/.", h.dir).Run())
	log, err := os.OpenFile(h.log, os.O_APPEND|os.O_WRONLY, 0)
	h.must(err)
	_, err = log.WriteString(`{"type":"message","id":"c0000001","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"is the wombat back in enclosure nine?"}]}}` + "\n" +
		`{"type":"message","id":"c0000002","parentId":"c0000001","timestamp":"2026-03-01T10:01:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"It is: enclosure nine has the wombat."}],"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":900,"output":20,"cacheRead":0,"cacheWrite":0,"totalTokens":920},"stopReason":"stop"}}` + "\n")
	h.must(errors.Join(err, log.Close()))
	h.age()
	h.grown, err = os.ReadFile(h.log)
	h.must(err)
}

// call runs the program as a user whom permissions hold.
func (h *brokenHome) call(stdin string, args ...string) (int, string) {
	h.t.Helper()
	cmd := exec.Command(h.program, args...)
	if os.Geteuid() == 0 {
		cmd = exec.Command("setpriv", append([]string{"--bounding-set", "-dac_override,-dac_read_search", h.program}, args...)...)
	}
	cmd.Env = []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "SESSCTL_ARCHIVE_COMPRESSION=none"}
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), strings.ReplaceAll(string(out), h.dir, "~")
}

func (h *brokenHome) expect(code int, stdin string, args ...string) string {
	h.t.Helper()
	got, out := h.call(stdin, args...)
	if got != code {
		h.t.Fatalf("%q: exit %d: %s", args, got, out)
	}
	return out
}

// archived reports whether some copy of the session has these bytes.
func (h *brokenHome) archived() (found bool) {
	for _, dir := range []string{filepath.Join(h.dir, ".openclaw/session_archive"), filepath.Join(h.data, "archive")} {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // what cannot be looked at has no copy
			}
			text, err := os.ReadFile(path)
			found = found || err == nil && bytes.Equal(text, h.grown)
			return nil
		})
	}
	return found
}

// resolve is where a part is: FIRST stands for the first file of a directory.
func (h *brokenHome) resolve(p brokenPart) string {
	path := filepath.Join(h.data, p.path)
	if filepath.Base(path) != "FIRST" {
		return path
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.json"))
	h.must(err)
	if len(files) == 0 {
		h.t.Fatalf("%s has no file", filepath.Dir(path))
	}
	return files[0]
}

// TestBrokenData breaks each part in each way before each command.
func TestBrokenData(t *testing.T) {
	tier.SkipSmoke(t, "it runs the program six hundred times; memory_broken.txtar has the main ones")
	if _, err := exec.LookPath("setpriv"); err != nil && os.Geteuid() == 0 {
		t.Skip("a user without rights is made with setpriv")
	}
	base := newBrokenBase(t, buildProgram(t))
	for i, p := range brokenParts() {
		for k, b := range breakages() {
			if b.only != nil && !b.only(p) {
				continue
			}
			for n, c := range brokenCommands() {
				if !tier.Long() && (i+k)%len(brokenCommands()) != n {
					continue // another part is broken before this command
				}
				t.Run(p.path+"/"+b.name+"/"+c.name, func(t *testing.T) {
					h := base.copy(t)
					h.fill(base)
					h.try(base, p, b, c)
				})
			}
		}
	}
}

func (h *brokenHome) try(base *brokenHome, p brokenPart, b breakage, c brokenCommand) {
	path := h.resolve(p)
	if _, err := os.Lstat(path); err != nil { // a part that is made when it is needed
		if !slices.Contains([]string{"garbage", "newer", "dangling link", "directory for file"}, b.name) {
			h.t.Skip("it is not there")
		}
		h.must(os.MkdirAll(filepath.Dir(path), 0o700))
		h.must(os.WriteFile(path, nil, 0o600))
	}
	h.must(b.apply(path))
	code, out := h.call(c.stdin, c.args...)
	_ = os.Chmod(path, 0o700) // a link that leads nowhere has no mode
	h.judge(c, p, filepath.Base(path), code, out)
	h.mend(base, path, b)
	h.completes(c, out)
}

// mend puts a part in its place again, as it was. A memory in whose place a new one
// was begun is made again from the archives.
func (h *brokenHome) mend(base *brokenHome, path string, b breakage) {
	h.t.Helper()
	from := filepath.Join(base.data, strings.TrimPrefix(path, h.data))
	switch began := b.name == "missing" || b.name == "empty"; {
	case began && strings.HasPrefix(path, filepath.Join(h.data, "memory")):
		h.call("", "memory", "reindex", "--from-archives")
		return
	case b.name == "missing": // what was made meanwhile stays
		_ = exec.Command("cp", "-a", "-n", "-T", from, path).Run() // a part that is made when it is needed is not there
		return
	}
	added := h.addedLines(from, path)
	h.must(os.RemoveAll(path))
	for _, beside := range []string{"-wal", "-shm"} {
		h.must(os.RemoveAll(path + beside))
	}
	_ = exec.Command("cp", "-a", "-T", from, path).Run() // a part that is made when it is needed is not there
	if len(added) > 0 {
		old, _ := os.ReadFile(path) // there is none before something is deleted
		h.must(os.WriteFile(path, append(old, added...), 0o600))
	}
}

// addedLines are the lines of the audit log that were written while it was broken: who
// mends it keeps them, as the ledger witnesses them.
func (h *brokenHome) addedLines(from, path string) (added []byte) {
	if filepath.Base(path) != "audit.jsonl" {
		return nil
	}
	before, _ := os.ReadFile(from)
	now, _ := os.ReadFile(path)
	for line := range bytes.Lines(now) {
		if json.Valid(line) && bytes.HasPrefix(line, []byte("{")) && !bytes.Contains(before, line) {
			added = append(added, line...)
		}
	}
	return added
}

// judge holds what a command did to what it should do.
func (h *brokenHome) judge(c brokenCommand, p brokenPart, name string, code int, out string) {
	h.t.Helper()
	said := fmt.Sprintf("exit %d:\n%s", code, out)
	switch {
	case strings.Contains(out, "goroutine "):
		h.t.Fatal(said)
	case c.always0 && code != 0, code != 0 && code != 1 && code != 3 && code != 4, code == 1 && c.name != "compact":
		h.t.Error(said)
	}
	if !h.archived() {
		h.t.Errorf("the session is not archived: %s", said)
	}
	if code == 0 && !c.always0 && c.remembers && !h.recalls() {
		h.t.Errorf("not remembered, and not told: %s", said)
	}
	if (code != 0 || c.always0 && !h.recalls()) && !strings.Contains(out, name) && !(strings.HasPrefix(p.path, "memory/") && strings.Contains(out, "sessctl/memory")) {
		h.t.Errorf("%s is not named: %s", name, said)
	}
}

// recalls reports whether memory has what was said last.
func (h *brokenHome) recalls() bool {
	_, out := h.call("", "recall", "wombat back in enclosure nine", "--limit", "1")
	return strings.Contains(out, "wombat")
}

// completes runs the command again, now that the part is mended.
func (h *brokenHome) completes(c brokenCommand, before string) {
	h.t.Helper()
	if code, out := h.call(c.stdin, c.args...); code != 0 {
		h.t.Errorf("mended, the second run ends with %d: %s\nthe first said: %s", code, out, before)
	}
	if c.remembers && !h.recalls() {
		h.t.Errorf("mended, it is not remembered; the first run said: %s", before)
	}
	if code, out := h.call("", "archives", "verify"); code != 0 {
		h.t.Errorf("mended, verify ends with %d: %s\nthe first run said: %s", code, out, before)
	}
	if !h.archived() {
		h.t.Error("mended, it is not archived")
	}
}

// TestFullDataDisk: the archives are on another disk than the data directory, which
// is full.
func TestFullDataDisk(t *testing.T) {
	tier.SkipSmoke(t, "it mounts file systems")
	base := newBrokenBase(t, buildProgram(t))
	for _, c := range brokenCommands() {
		t.Run(c.name, func(t *testing.T) {
			h := base.copy(t)
			h.must(os.MkdirAll(h.data, 0o700))
			if err := unix.Mount("none", h.data, "tmpfs", 0, "size=32m,mode=700"); err != nil {
				t.Skip("tmpfs cannot be mounted (needs root):", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(h.data, unix.MNT_DETACH) })
			h.fill(base)
			filler := filepath.Join(h.data, "filler")
			if err := os.WriteFile(filler, make([]byte, 64<<20), 0o600); err == nil {
				t.Fatal("the disk is not full")
			}
			code, out := h.call(c.stdin, c.args...)
			h.judge(c, brokenPart{}, "no space", code, out)
			h.must(os.Remove(filler))
			h.completes(c, out)
		})
	}
}

// TestArchiveCannotBeMade: where the place of archives cannot be written the session
// is remembered all the same, and stays as it is.
func TestArchiveCannotBeMade(t *testing.T) {
	tier.SkipSmoke(t, "archive_unwritable.txtar has the main ones")
	base := newBrokenBase(t, buildProgram(t))
	for _, b := range breakages() {
		if b.only != nil || b.name == "missing" || b.name == "read only" { // what is in it can be written
			continue
		}
		for _, c := range brokenCommands() {
			if !c.remembers {
				continue
			}
			t.Run(b.name+"/"+c.name, func(t *testing.T) {
				h := base.copy(t)
				h.fill(base)
				place := filepath.Join(h.dir, ".openclaw/session_archive")
				h.must(b.apply(place))
				code, out := h.call(c.stdin, c.args...)
				if code == 0 && !c.always0 || !strings.Contains(out, "session_archive") {
					t.Errorf("exit %d: %s", code, out)
				}
				if text, err := os.ReadFile(h.log); err != nil || !bytes.Equal(text, h.grown) {
					t.Errorf("the session is not as it was (%v): %s", err, out)
				}
				if !h.recalls() {
					t.Errorf("not remembered: %s", out)
				}
				_ = os.Chmod(place, 0o700)
				h.must(os.RemoveAll(place))
				h.must(exec.Command("cp", "-a", "-T", filepath.Join(base.dir, ".openclaw/session_archive"), place).Run())
				h.completes(c, out)
			})
		}
	}
}
