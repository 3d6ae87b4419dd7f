package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sessctl/sessctl/internal/tier"
)

// What was wrong in a night stands in the record of the run, and whoever is to be told
// is told that night.

// nightRecord is the newest record of `log --runs --json`.
type nightRecord struct {
	Outcome string `json:"outcome"`
	Steps   []struct {
		Step    string `json:"step"`
		Outcome string `json:"outcome"`
		Reason  string `json:"reason"`
	} `json:"steps"`
}

func (h *brokenHome) lastNight() nightRecord {
	h.t.Helper()
	var doc struct {
		Runs []nightRecord `json:"runs"`
	}
	out := h.expect(0, "", "log", "--runs", "--json")
	h.must(json.Unmarshal([]byte(out), &doc))
	if len(doc.Runs) == 0 {
		h.t.Fatal("no run is on record")
	}
	return doc.Runs[0]
}

// bare is a home with the bundled sessions and nothing of sessctl, which keeps
// archives in the data directory and tells a file beside it of failed runs.
func bareHome(t *testing.T, program string) *brokenHome {
	h := &brokenHome{t: t, program: program, dir: t.TempDir()}
	h.place()
	h.must(os.CopyFS(h.dir, os.DirFS(filepath.Join(module, "testdata/sample"))))
	h.age()
	config := filepath.Join(h.dir, ".config/sessctl/config.yaml")
	h.must(os.MkdirAll(filepath.Dir(config), 0o700))
	h.must(os.WriteFile(config, []byte("events:\n  commands:\n    - name: pager\n      run: [sh, -c, 'cat >> $HOME/heard']\n      types: [run.failed]\n"), 0o600))
	return h
}

func TestUnreadableDirectoryIsInTheRecord(t *testing.T) {
	tier.SkipSmoke(t, "it runs a whole night")
	h := bareHome(t, buildProgram(t))
	dir := filepath.Join(h.dir, ".openclaw/agents/librarian/sessions")
	h.must(os.Chmod(dir, 0))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if code, out := h.call("", "run", "nightly"); code != 3 || !strings.Contains(out, "168,044 tokens less; ~/.openclaw/agents/librarian/sessions: skipped: permission denied") {
		t.Errorf("exit %d: %s", code, out)
	}
	for _, s := range h.lastNight().Steps {
		if s.Outcome == "partial" && !strings.Contains(s.Reason, "librarian/sessions: skipped: permission denied") {
			t.Errorf("%s is partial: %q", s.Step, s.Reason)
		}
	}
	if heard, err := os.ReadFile(filepath.Join(h.dir, "heard")); err != nil || !strings.Contains(string(heard), "permission denied") {
		t.Errorf("%v, %s", err, heard)
	}
}

// full is what is said of a disk that is full.
var fullDisk = regexp.MustCompile(`no space left|no room|disk is full`)

func TestFullDiskIsInTheRecord(t *testing.T) {
	tier.SkipSmoke(t, "it mounts file systems")
	program := buildProgram(t)
	for _, size := range []string{"700k", "900k", "1200k"} {
		t.Run(size, func(t *testing.T) {
			h := bareHome(t, program)
			h.must(os.MkdirAll(h.data, 0o700))
			if err := unix.Mount("none", h.data, "tmpfs", 0, "size="+size+",mode=700"); err != nil {
				t.Skip("tmpfs cannot be mounted (needs root):", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(h.data, unix.MNT_DETACH) })
			if code, out := h.call("", "run", "nightly"); code != 3 {
				t.Fatalf("exit %d: %s", code, out)
			}
			night := h.lastNight()
			told := false
			for _, s := range night.Steps {
				told = told || s.Outcome == "partial" && fullDisk.MatchString(s.Reason)
			}
			if night.Outcome != "partial" || !told {
				t.Errorf("the record: %+v", night)
			}
			if heard, err := os.ReadFile(filepath.Join(h.dir, "heard")); err != nil || !fullDisk.Match(heard) {
				t.Errorf("%v, %s", err, heard)
			}
			h.must(unix.Mount("none", h.data, "", unix.MS_REMOUNT, "size=64m,mode=700"))
			h.expect(0, "", "run", "nightly")
		})
	}
}

// fillDisk leaves no byte on the file system of the data directory.
func (h *brokenHome) fillDisk(name string) {
	h.t.Helper()
	f, err := os.Create(filepath.Join(h.data, name))
	h.must(err)
	for block := make([]byte, 1024); err == nil; _, err = f.Write(block) {
	}
	h.must(f.Close())
}

// TestNightsOnAFullDisk: each of several nights in a row that begin without a free byte
// is told the next morning, also by name alone where not even a record could be kept.
func TestNightsOnAFullDisk(t *testing.T) {
	tier.SkipSmoke(t, "it mounts file systems")
	h := bareHome(t, buildProgram(t))
	h.must(os.MkdirAll(h.data, 0o700))
	if err := unix.Mount("none", h.data, "tmpfs", 0, "size=32m,mode=700"); err != nil {
		t.Skip("tmpfs cannot be mounted (needs root):", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(h.data, unix.MNT_DETACH) })
	h.expect(0, "", "run", "nightly")
	runs := func() []nightRecord {
		var doc struct {
			Runs []nightRecord `json:"runs"`
		}
		h.must(json.Unmarshal([]byte(h.expect(0, "", "log", "--runs", "--json")), &doc))
		return doc.Runs
	}
	for night := range 3 {
		h.fillDisk("filler" + strconv.Itoa(night))
		code, out := h.call("", "run", "nightly")
		if code != 3 {
			t.Fatalf("exit %d: %s", code, out)
		}
		all := runs()
		if untold := strings.Contains(out, "records of runs cannot be read or written"); untold && len(all[0].Steps) > 0 {
			t.Errorf("night %d: %d steps are on record, and the run said that there is no record: %s", night, len(all[0].Steps), out)
		}
		if len(all) != night+2 || all[0].Outcome != "partial" {
			t.Fatalf("night %d: %+v", night, all)
		}
		for _, s := range all[0].Steps {
			if s.Outcome != "ok" && s.Reason == "" {
				t.Errorf("night %d: %s is %s, and nothing says why", night, s.Step, s.Outcome)
			}
		}
	}
	h.must(os.Remove(filepath.Join(h.data, "reserve")))
	h.fillDisk("rest")
	if code, out := h.call("", "run", "nightly"); code != 3 {
		t.Fatalf("exit %d: %s", code, out)
	}
	_, out := h.call("", "status")
	if !regexp.MustCompile(`(?m)^  run +nightly: its last run: partial: there was no room for its record on the disk$`).MatchString(out) || !regexp.MustCompile(`(?m)^  last run +nightly, [-0-9 :]+, partial$`).MatchString(out) {
		t.Errorf("status: %s", out)
	}
	heard := func() (ids map[string]bool) {
		text, err := os.ReadFile(filepath.Join(h.dir, "heard"))
		h.must(err)
		ids = map[string]bool{}
		for lines := json.NewDecoder(bytes.NewReader(text)); ; {
			var event struct {
				ID string `json:"id"`
			}
			if lines.Decode(&event) != nil {
				return ids
			}
			ids[event.ID] = true
		}
	}
	if n := len(heard()); n != 4 {
		text, _ := os.ReadFile(filepath.Join(h.dir, "heard"))
		t.Errorf("4 nights failed, the pager heard of %d: %s", n, text)
	}
	h.must(unix.Mount("none", h.data, "", unix.MS_REMOUNT, "size=64m,mode=700"))
	h.expect(0, "", "run", "nightly")
	if all := runs(); len(all) != 6 || all[0].Outcome != "ok" || all[1].Outcome != "partial" {
		t.Errorf("%+v", all)
	}
	if n := len(heard()); n != 4 {
		t.Errorf("a night was told again: %d", n)
	}
}

// TestFullDiskIsOneLine: thirty sessions for which there is no room are one cause, told
// when the first is met and with their number at the end, and no line names a path twice.
func TestFullDiskIsOneLine(t *testing.T) {
	tier.SkipSmoke(t, "it mounts file systems")
	h := bareHome(t, buildProgram(t))
	h.must(os.MkdirAll(h.data, 0o700))
	if err := unix.Mount("none", h.data, "tmpfs", 0, "size=300k,mode=700"); err != nil {
		t.Skip("tmpfs cannot be mounted (needs root):", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(h.data, unix.MNT_DETACH) })
	for i := range 30 {
		dir := filepath.Join(h.dir, ".claude/projects/-w-p"+strconv.Itoa(i%3))
		h.must(os.MkdirAll(dir, 0o700))
		id := fmt.Sprintf("11111111-1111-4111-8111-%012d", i)
		record := fmt.Sprintf(`{"type":"user","uuid":"u1","sessionId":%q,"timestamp":"2026-05-01T10:00:00.000Z","message":{"role":"user","content":%q}}`, id, strings.Repeat("Where? ", 2000))
		h.must(os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(record+"\n"), 0o600))
	}
	for _, command := range [][]string{{"archive", "--all", "--remember"}, {"run", "nightly", "--quiet"}} {
		code, out := h.call("", command...)
		if code != 3 {
			t.Fatalf("%q: exit %d: %s", command, code, out)
		}
		told, counted := 0, 0
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "note: ") || strings.HasPrefix(line, "sessctl: ") {
				paths := regexp.MustCompile(`~/[^ ():]*[^ ():.]`).FindAllString(line, -1)
				for i, path := range paths {
					if slices.Contains(paths[i+1:], path) {
						t.Errorf("%q: a line names a path twice: %s", command, line)
					}
				}
				told += strings.Count(line, "archive session ")
				counted += strings.Count(line, " more; --verbose shows them)")
			}
		}
		if told < 1 || told > 2 || counted != 1 {
			t.Errorf("%q: the cause is told %d times and counted %d times: %s", command, told, counted, out)
		}
	}
}
