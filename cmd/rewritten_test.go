package cmd

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/scratch"
	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/ledger"
)

// historyHome is a home with two days of history, and what somebody kept of it: the
// last head, in a file elsewhere.
type historyHome struct {
	t    *testing.T
	dir  string // the home
	kept string // the file of the head
	day1 string // the home as it was a day earlier
	r    *rand.Rand
}

func (h *historyHome) data(names ...string) string {
	return filepath.Join(append([]string{h.dir, ".local", "share", "sessctl"}, names...)...)
}

// run runs the program on the home.
func (h *historyHome) run(args ...string) int {
	_, _, code := runMain(append(args, "--allow-root")...)
	return code
}

func (h *historyHome) must(args ...string) {
	h.t.Helper()
	if out, errs, code := runMain(append(args, "--allow-root")...); code != 0 {
		h.t.Fatalf("sessctl %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
}

// talk writes a session of pi, or the main session of an agent of OpenClaw.
func (h *historyHome) talk(runtime, agent string, number, turns int, age time.Duration) {
	h.t.Helper()
	id := fmt.Sprintf("5f0c1c2e-6d0a-4f57-9d2b-%02d%010d", number, len(agent)*1000+int(agent[len(agent)-1]))
	at := time.Now().Add(-age)
	stamp := func(n int) string {
		return at.Add(time.Duration(n) * time.Second).UTC().Format("2006-01-02T15:04:05.000Z")
	}
	var log bytes.Buffer
	fmt.Fprintf(&log, `{"type":"session","version":3,"id":"%s","timestamp":"%s","cwd":"/repo/%s"}`+"\n", id, stamp(0), agent)
	parent := "null"
	for n := range 2 * turns {
		role, text := "user", fmt.Sprintf("which port has importer %d of %s in session %d", 7000+n, agent, number)
		if n%2 == 1 {
			role, text = "assistant", fmt.Sprintf("importer %d of %s listens on port %d", 7000+n-1, agent, 9000+n)
		}
		fmt.Fprintf(&log, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"%s","message":{"role":"%s","content":[{"type":"text","text":"%s"}],"usage":{"input":160000,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":160002},"stopReason":"stop"}}`+"\n", n, parent, stamp(n), role, text)
		parent = fmt.Sprintf(`"%08x"`, n)
	}
	path := filepath.Join(h.dir, ".pi", "agent", "sessions", "--repo-"+agent+"--", at.UTC().Format("2006-01-02T15-04-05-000Z")+"_"+id+".jsonl")
	if runtime == "openclaw" {
		path = filepath.Join(h.dir, ".openclaw", "agents", agent, "sessions", id+".jsonl")
		index := fmt.Sprintf(`{"agent:%s:main":{"sessionId":"%s","updatedAt":%d,"sessionFile":"%s","contextTokens":200000}}`, agent, id, at.UnixMilli(), path)
		h.write(filepath.Join(filepath.Dir(path), "sessions.json"), []byte(index))
	}
	h.write(path, log.Bytes())
	if err := os.Chtimes(path, at, at); err != nil {
		h.t.Fatal(err)
	}
}

// grow adds an answer to the sessions of pi of an agent.
func (h *historyHome) grow(agent string) {
	h.t.Helper()
	for _, path := range h.glob(".pi", "agent", "sessions", "--repo-"+agent+"--", "*.jsonl") {
		h.edit(path, func(text []byte) []byte {
			last := bytes.Clone(text[len(withoutLastLine(text)):])
			return append(text, bytes.Replace(last, []byte(`"id":"0000000`), []byte(`"id":"0000001`), 1)...)
		})
		at := time.Now().Add(-2 * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h *historyHome) write(path string, text []byte) {
	h.t.Helper()
	_ = os.Chmod(path, 0o600) // archives are read-only
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *historyHome) read(path string) []byte {
	h.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	return text
}

// remove removes files and directories, and reports whether there were any.
func (h *historyHome) remove(paths ...string) (any bool) {
	h.t.Helper()
	for _, path := range paths {
		_, err := os.Lstat(path)
		any = any || err == nil
		if err := os.RemoveAll(path); err != nil {
			h.t.Fatal(err)
		}
	}
	return any
}

func (h *historyHome) glob(pattern ...string) []string {
	found, err := filepath.Glob(filepath.Join(append([]string{h.dir}, pattern...)...))
	if err != nil {
		h.t.Fatal(err)
	}
	return found
}

// one picks one of some paths, "" if there are none.
func (h *historyHome) one(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return paths[h.r.IntN(len(paths))]
}

// copyHome makes a copy of a directory with the times of its files.
func copyHome(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, below), 0o700)
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(filepath.Join(to, below), text, info.Mode().Perm()), os.Chtimes(filepath.Join(to, below), info.ModTime(), info.ModTime()))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// home names a directory as the home of what is run.
func (h *historyHome) home(dir string) {
	h.dir = dir
	h.t.Setenv("HOME", dir)
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "OPENCLAW_STATE_DIR", "PI_CODING_AGENT_DIR", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME"} {
		h.t.Setenv(name, "")
	}
}

// prepare lives two days: sessions are archived, compacted, pinned, forgotten, deleted,
// brought back.
func (h *historyHome) prepare(root string) {
	h.home(filepath.Join(root, "home"))
	for n, agent := range []string{"a1", "a2", "a3"} {
		h.talk("openclaw", agent, n, 6, 2*time.Hour)
		h.talk("pi", agent, 10+n, 4, 3*time.Hour)
		h.talk("pi", agent, 20+n, 4, 60*24*time.Hour)
	}
	h.must("archive", "--all", "--remember")
	h.must("compact", "--all", "--force")
	h.must("pin", "5f0c1c2e-6d0a-4f57-9d2b-10")
	h.must("memory", "forget", "--agent", "a3", "--yes")
	h.must("clean", "--max-age", "30d", "--force", "--yes")
	h.day1 = filepath.Join(root, "day1")
	copyHome(h.t, h.dir, h.day1)
	h.talk("openclaw", "a4", 4, 6, 2*time.Hour)
	h.talk("pi", "a4", 14, 4, 3*time.Hour)
	h.must("compact", "--all", "--force")
	h.must("pin", "5f0c1c2e-6d0a-4f57-9d2b-14")
	h.talk("pi", "a5", 15, 4, 3*time.Hour)
	h.must("archive", "--all", "--remember")
	h.grow("a5")
	h.must("archive", "--all", "--remember")
	h.must("archives", "prune", "--superseded", "--yes", "--grace", "30d")
	if len(h.glob(".local", "share", "sessctl", "archives", "superseded", "*")) != 1 {
		h.t.Fatal("no archive is superseded")
	}
	h.must("archives", "verify")
	heads := h.glob(".local", "state", "sessctl", "heads", "*.head")
	if len(heads) != 1 {
		h.t.Fatalf("the last head is in %q", heads)
	}
	h.kept = filepath.Join(root, "kept.head")
	h.write(h.kept, h.read(heads[0]))
}

// noticed is who says that the history is not what it was, "" for nobody.
func (h *historyHome) noticed() string {
	proof := h.dir + ".proof"
	for _, ask := range [][]string{
		{"prove", "--head", h.kept, "--output", proof, "--force"}, {"prove", "--check", proof, "--head", h.kept},
		{"archives", "verify"}, {"memory", "verify"}, {"doctor"},
	} {
		if h.run(ask...) != 0 {
			return strings.Join(ask[:2], " ")
		}
	}
	return ""
}

// archives are the files of archives, and entries those of the catalogue.
func (h *historyHome) archives() []string {
	return append(h.glob(".openclaw", "session_archive", "*", "*.jsonl"), h.glob(".local", "share", "sessctl", "archive", "*", "*", "*.jsonl*")...)
}

// trashed are the logs that clean deleted.
func (h *historyHome) trashed() []string {
	return h.glob(".pi", "agent", "sessions", "*", ".sessctl-trash", "*")
}

// trashRecords say what is in the trash.
func (h *historyHome) trashRecords() []string {
	return h.glob(".local", "share", "sessctl", "trash", "*", "*.json")
}

func (h *historyHome) entries() []string {
	return h.glob(".local", "share", "sessctl", "archives", "*.json")
}

func (h *historyHome) receipts() []string {
	return h.glob(".local", "share", "sessctl", "receipts", "*.json")
}

// document reads a file of JSON.
func (h *historyHome) document(path string) map[string]any {
	document := map[string]any{}
	_ = json.Unmarshal(h.read(path), &document)
	return document
}

// edit changes a file, if there is one.
func (h *historyHome) edit(path string, change func([]byte) []byte) bool {
	before, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	after := change(bytes.Clone(before))
	if bytes.Equal(before, after) {
		return false
	}
	h.write(path, after)
	return true
}

// replaced is an edit that puts one text for another everywhere.
func replaced(from, to string) func([]byte) []byte {
	return func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(from), []byte(to)) }
}

func withoutLastLine(text []byte) []byte {
	return text[:bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n')+1]
}

// flipped changes one byte.
func (h *historyHome) flipped(text []byte) []byte {
	if len(text) > 0 {
		text[h.r.IntN(len(text))] ^= byte(1 + h.r.IntN(255))
	}
	return text
}

// exchange exchanges the content of two files.
func (h *historyHome) exchange(paths []string) bool {
	if len(paths) < 2 {
		return false
	}
	i := h.r.IntN(len(paths))
	j := (i + 1 + h.r.IntN(len(paths)-1)) % len(paths)
	x, y := h.read(paths[i]), h.read(paths[j])
	if bytes.Equal(x, y) {
		return false
	}
	h.write(paths[i], y)
	h.write(paths[j], x)
	return true
}

// dropTraces removes an agent's sessions and everything that names them.
func (h *historyHome) dropTraces(agent string) bool {
	gone := false
	for _, path := range append(h.entries(), h.receipts()...) {
		if document := h.document(path); document["agent"] == agent {
			if file, _ := document["path"].(string); file != "" {
				h.remove(file)
			}
			gone = h.remove(path)
		}
	}
	h.remove(append(h.glob(".openclaw", "agents", agent), h.glob(".pi", "agent", "sessions", "--repo-"+agent+"--")...)...)
	h.edit(h.data("audit.jsonl"), func(text []byte) (kept []byte) {
		for line := range bytes.Lines(text) {
			if !bytes.Contains(line, []byte(`"`+agent+`"`)) {
				kept = append(kept, line...)
			}
		}
		return kept
	})
	h.remove(h.data("memory"), h.data("verified.jsonl"))
	return gone
}

// back puts parts of the home back to the day before.
func (h *historyHome) back(parts ...string) bool {
	for _, part := range parts {
		h.remove(filepath.Join(h.dir, part))
		if _, err := os.Stat(filepath.Join(h.day1, part)); err == nil {
			h.copyPart(part)
		}
	}
	return true
}

func (h *historyHome) copyPart(part string) {
	from, to := filepath.Join(h.day1, part), filepath.Join(h.dir, part)
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		copyHome(h.t, from, to)
		return
	}
	h.write(to, h.read(from))
}

// leavesAnew makes another ledger of other leaves, signed with the key of the first one
// or, without it, with a new one.
func (h *historyHome) leavesAnew(withKey bool, change func([]ledger.Leaf) []ledger.Leaf) bool {
	dir := h.data("ledger")
	var leaves []ledger.Leaf
	log := ledger.Open(dir, nil)
	if err := log.Leaves(h.t.Context(), 0, func(_ int64, f ledger.Leaf) error { leaves = append(leaves, f); return nil }); err != nil || len(leaves) < 4 {
		return false // it was damaged before
	}
	key := map[string][]byte{}
	for _, name := range []string{"key", "verifier"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil && withKey {
			key[name] = text
		}
	}
	h.remove(dir)
	for name, text := range key {
		h.write(filepath.Join(dir, name), text)
	}
	if err := log.Append(h.t.Context(), change(leaves)...); err != nil {
		h.t.Fatal(err)
	}
	if _, err := log.Seal(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	return true
}

// some is a leaf by its number.
func (h *historyHome) some(leaves []ledger.Leaf) int { return h.r.IntN(len(leaves)) }

// memorySQL changes the memory.
func (h *historyHome) memorySQL(statement string) bool {
	db, err := sql.Open("sqlite", h.data("memory", "memory.db"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	done, err := db.ExecContext(h.t.Context(), statement)
	if err != nil {
		return false
	}
	n, err := done.RowsAffected()
	return err == nil && n > 0
}

const (
	dataPart = ".local/share/sessctl/"
	stores   = ".openclaw .pi"
)

// rewritings are the ways to rewrite a history. Each reports whether it changed
// something: what it wants may be gone by another.
var rewritings = map[string]func(h *historyHome) bool{
	"a byte of an archive": func(h *historyHome) bool { return h.edit(h.one(h.archives()), h.flipped) },
	"the last line of an archive cut": func(h *historyHome) bool {
		return h.edit(h.one(h.glob(".openclaw", "session_archive", "*", "*.jsonl")), withoutLastLine)
	},
	"an archive emptied":        func(h *historyHome) bool { return h.edit(h.one(h.archives()), func([]byte) []byte { return nil }) },
	"an archive's file removed": func(h *historyHome) bool { p := h.one(h.archives()); return p != "" && h.remove(p) },
	"two archives exchanged":    func(h *historyHome) bool { return h.exchange(h.archives()) },
	"an archive and its entry removed": func(h *historyHome) bool {
		p := h.one(h.entries())
		if p == "" {
			return false
		}
		file, _ := h.document(p)["path"].(string)
		return h.remove(p, file)
	},
	"an entry removed":               func(h *historyHome) bool { p := h.one(h.entries()); return p != "" && h.remove(p) },
	"all entries removed":            func(h *historyHome) bool { return h.remove(h.entries()...) },
	"two entries exchanged":          func(h *historyHome) bool { return h.exchange(h.entries()) },
	"an entry of another":            func(h *historyHome) bool { return h.edit(h.one(h.entries()), replaced(`"a1"`, `"a2"`)) },
	"a forged archive entered":       func(h *historyHome) bool { return h.forge() },
	"a receipt removed":              func(h *historyHome) bool { p := h.one(h.receipts()); return p != "" && h.remove(p) },
	"all receipts removed":           func(h *historyHome) bool { return h.remove(h.receipts()...) },
	"catalogue and receipts removed": func(h *historyHome) bool { return h.remove(h.data("archives"), h.data("receipts")) },
	"two receipts exchanged":         func(h *historyHome) bool { return h.exchange(h.receipts()) },
	"the tokens of a receipt":        func(h *historyHome) bool { return h.edit(h.one(h.receipts()), replaced("160002", "1602")) },
	"the agent of a receipt":         func(h *historyHome) bool { return h.edit(h.one(h.receipts()), replaced(`"a2"`, `"a1"`)) },
	"the session of a receipt":       func(h *historyHome) bool { return h.edit(h.one(h.receipts()), replaced("9d2b-0", "9d2b-9")) },
	"an agent with all its traces":   func(h *historyHome) bool { return h.dropTraces([]string{"a1", "a2", "a4"}[h.r.IntN(3)]) },
	"a session replaced by a forged one": func(h *historyHome) bool {
		if !h.dropTraces("a4") {
			return false
		}
		h.talk("openclaw", "a4", 4, 5, 2*time.Hour)
		h.run("compact", "--all", "--force")
		return true
	},
	"everything as yesterday":         func(h *historyHome) bool { return h.back(append(strings.Fields(stores), ".local")...) },
	"the data directory as yesterday": func(h *historyHome) bool { return h.back(dataPart) },
	"all but the ledger as yesterday": func(h *historyHome) bool {
		return h.back(dataPart+"archives", dataPart+"receipts", dataPart+"archive", dataPart+"audit.jsonl", dataPart+"pinned.json")
	},
	"the catalogue as yesterday": func(h *historyHome) bool { return h.back(dataPart + "archives") },
	"the receipts as yesterday":  func(h *historyHome) bool { return h.back(dataPart + "receipts") },
	"the ledger as yesterday":    func(h *historyHome) bool { return h.back(dataPart + "ledger") },
	"the pins as yesterday":      func(h *historyHome) bool { return h.back(dataPart + "pinned.json") },
	"the pins removed":           func(h *historyHome) bool { return h.remove(h.data("pinned.json")) },
	"the pins {}": func(h *historyHome) bool {
		return h.edit(h.data("pinned.json"), func([]byte) []byte { return []byte("{}\n") })
	},
	"the pins null": func(h *historyHome) bool {
		return h.edit(h.data("pinned.json"), func([]byte) []byte { return []byte("null\n") })
	},
	"the pin of another": func(h *historyHome) bool { return h.edit(h.data("pinned.json"), replaced("9d2b-10", "9d2b-11")) },
	"what was forgotten removed": func(h *historyHome) bool {
		return h.remove(h.glob(".local", "share", "sessctl", "memory-forgotten*")...)
	},
	"memory and what was forgotten removed": func(h *historyHome) bool { return h.remove(h.glob(".local", "share", "sessctl", "memory*")...) },
	"what was forgotten brought back": func(h *historyHome) bool {
		gone := h.remove(h.glob(".local", "share", "sessctl", "memory*")...)
		h.run("memory", "reindex", "--from-archives")
		return gone
	},
	"the memory removed": func(h *historyHome) bool { return h.remove(h.data("memory")) },
	"the importance of records": func(h *historyHome) bool {
		return h.memorySQL("UPDATE record_rows SET importance = 0.9 WHERE importance = 0.25")
	},
	"records of the memory removed": func(h *historyHome) bool { return h.memorySQL("DELETE FROM record_rows WHERE rowid % 3 = 0") },
	"the audit log removed":         func(h *historyHome) bool { return h.remove(h.data("audit.jsonl")) },
	"the audit log emptied":         func(h *historyHome) bool { return h.edit(h.data("audit.jsonl"), func([]byte) []byte { return nil }) },
	"the audit log is noise": func(h *historyHome) bool {
		return h.edit(h.data("audit.jsonl"), func(text []byte) []byte {
			for i := range text {
				text[i] = byte(h.r.IntN(256))
			}
			return text
		})
	},
	"the last line of the audit log": func(h *historyHome) bool { return h.edit(h.data("audit.jsonl"), withoutLastLine) },
	"the agent of the audit log": func(h *historyHome) bool {
		return h.edit(h.data("audit.jsonl"), replaced(`"--repo-a1--"`, `"--repo-a2--"`))
	},
	"a file of the trash cut":          func(h *historyHome) bool { return h.edit(h.one(h.trashed()), withoutLastLine) },
	"a byte of a file of the trash":    func(h *historyHome) bool { return h.edit(h.one(h.trashed()), h.flipped) },
	"a file of the trash removed":      func(h *historyHome) bool { p := h.one(h.trashed()); return p != "" && h.remove(p) },
	"two files of the trash exchanged": func(h *historyHome) bool { return h.exchange(h.trashed()) },
	"a record of the trash removed":    func(h *historyHome) bool { p := h.one(h.trashRecords()); return p != "" && h.remove(p) },
	"all records of the trash removed": func(h *historyHome) bool { return h.remove(h.data("trash")) },
	"a byte of a record of the trash":  func(h *historyHome) bool { return h.edit(h.one(h.trashRecords()), h.flipped) },
	"the hash of a record of the trash": func(h *historyHome) bool {
		return h.edit(h.one(h.trashRecords()), func(text []byte) []byte {
			return regexp.MustCompile(`"sha256": *"[0-9a-f]{8}`).ReplaceAll(text, []byte(`"sha256": "01234567`))
		})
	},
	"how long something waits in the trash": func(h *historyHome) bool {
		return h.edit(h.one(h.trashRecords()), func(text []byte) []byte {
			return regexp.MustCompile(`"until": *"20..`).ReplaceAll(text, []byte(`"until": "2019`))
		})
	},
	"a byte of the audit log": func(h *historyHome) bool { return h.edit(h.data("audit.jsonl"), h.flipped) },
	"the paths of the audit log": func(h *historyHome) bool {
		return h.edit(h.data("audit.jsonl"), replaced(`/sessions/`, `/session/`))
	},
	"two records of the trash exchanged": func(h *historyHome) bool { return h.exchange(h.trashRecords()) },
	"what is superseded removed":         func(h *historyHome) bool { return h.remove(h.data("archives", "superseded")) },
	"what is superseded emptied": func(h *historyHome) bool {
		return h.edit(h.one(h.glob(".local", "share", "sessctl", "archives", "superseded", "*")), func([]byte) []byte { return nil })
	},
	"the ledger begun anew": func(h *historyHome) bool { return h.run("doctor", "--new-ledger", "a reason") == 0 },
	"the ledger begun anew after yesterday": func(h *historyHome) bool {
		return h.back(dataPart) && h.run("doctor", "--new-ledger", "a backup was put back") == 0
	},
	"a ledger that was never anew": func(h *historyHome) bool {
		kept := h.read(h.kept)
		return h.leavesAnew(false, func(l []ledger.Leaf) []ledger.Leaf {
			return append(ledger.BegunAfter(time.Now(), "a reason", kept), l[h.some(l):]...)
		})
	},
	"the ledger removed": func(h *historyHome) bool { return h.remove(h.data("ledger")) },
	"a byte of the leaves": func(h *historyHome) bool {
		return h.edit(h.one(h.glob(".local", "share", "sessctl", "ledger", "leaves-*")), h.flipped)
	},
	"the last leaf": func(h *historyHome) bool {
		return h.edit(h.one(h.glob(".local", "share", "sessctl", "ledger", "leaves-*")), withoutLastLine)
	},
	"the leaves emptied": func(h *historyHome) bool {
		return h.edit(h.one(h.glob(".local", "share", "sessctl", "ledger", "leaves-*")), func([]byte) []byte { return nil })
	},
	"a ledger without one leaf": func(h *historyHome) bool {
		return h.leavesAnew(true, func(l []ledger.Leaf) []ledger.Leaf { i := h.some(l); return slices.Delete(l, i, i+1) })
	},
	"a ledger with another leaf": func(h *historyHome) bool {
		return h.leavesAnew(true, func(l []ledger.Leaf) []ledger.Leaf { l[h.some(l)].At -= 86_400_000; return l })
	},
	"a ledger in another order": func(h *historyHome) bool {
		return h.leavesAnew(true, func(l []ledger.Leaf) []ledger.Leaf { i := h.some(l[1:]); l[i], l[i+1] = l[i+1], l[i]; return l })
	},
	"a ledger with one leaf more before": func(h *historyHome) bool {
		return h.leavesAnew(true, func(l []ledger.Leaf) []ledger.Leaf {
			extra := l[h.some(l)]
			extra.Session = "never"
			return slices.Insert(l, h.some(l), extra)
		})
	},
	"a ledger of a new key": func(h *historyHome) bool {
		return h.leavesAnew(false, func(l []ledger.Leaf) []ledger.Leaf { return l })
	},
	"a shorter ledger": func(h *historyHome) bool {
		return h.leavesAnew(true, func(l []ledger.Leaf) []ledger.Leaf { return l[:1+h.some(l[1:])] })
	},
	"an agent with all its traces and leaves": func(h *historyHome) bool {
		return h.dropTraces("a2") && h.leavesAnew(true, func(l []ledger.Leaf) []ledger.Leaf {
			return slices.DeleteFunc(l, func(f ledger.Leaf) bool { return f.Agent == "a2" })
		})
	},
}

// forge alters an archive of OpenClaw and makes its entry and receipt fit.
func (h *historyHome) forge() bool {
	for _, path := range h.entries() {
		document := h.document(path)
		file, _ := document["path"].(string)
		if document["compression"] != "none" || !h.edit(file, replaced("port 90", "port 91")) {
			continue
		}
		before, _ := document["sha256"].(string)
		after := fmt.Sprintf("%x", sha256.Sum256(h.read(file)))
		for _, p := range append(h.entries(), h.receipts()...) {
			h.edit(p, replaced(before, after))
		}
		return true
	}
	return false
}

// TestRewrittenHistory rewrites a history at random, in one way or in several, and
// somebody who has only the last head must notice each time. SESSCTL_REWRITINGS is how
// often; SESSCTL_LONG does it 10,000 times.
func TestRewrittenHistory(t *testing.T) {
	root, err := os.MkdirTemp(scratch.Dir(), "sessctl-history-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	h := &historyHome{t: t, r: rand.New(rand.NewPCG(1, 2))}
	h.prepare(root)
	base := filepath.Join(root, "base")
	copyHome(t, h.dir, base)
	h.notRewritten(base)
	kinds := slices.Sorted(maps.Keys(rewritings))
	runs, done, by := rewritingRuns(t), 0, map[string]int{}
	for n := 0; done < runs; n++ {
		h.again(base)
		var did []string
		for _, i := range append([]int{n % len(kinds)}, h.more(len(kinds))...) {
			if !slices.Contains(did, kinds[i]) && rewritings[kinds[i]](h) { // exchanged twice is as it was
				did = append(did, kinds[i])
			}
		}
		if len(did) > 0 {
			done++
			who := h.noticed()
			by[who]++
			if who == "" {
				t.Errorf("run %d: nobody notices: %s", n, strings.Join(did, "; "))
			}
		}
	}
	t.Logf("%d rewritings of %d kinds; noticed by %v", done, len(kinds), by)
}

// more are further ways for a mixture: none in half of the runs, else one or two.
func (h *historyHome) more(kinds int) (more []int) {
	for range max(0, h.r.IntN(6)-3) {
		more = append(more, h.r.IntN(kinds))
	}
	return more
}

// notRewritten holds that nobody raises an alarm without a rewriting: for the home as it
// is, with other times, and with more history behind the head.
func (h *historyHome) notRewritten(base string) {
	for name, live := range map[string]func(){
		"as it is":  func() {},
		"touched":   func() { _ = os.Chtimes(h.data("audit.jsonl"), time.Now(), time.Now()) },
		"no cache":  func() { h.remove(filepath.Join(h.dir, ".cache")) },
		"unpinned":  func() { h.must("pin", "--remove", "5f0c1c2e-6d0a-4f57-9d2b-14") },
		"undeleted": func() { h.must("clean", "--undelete", "all") },
		"forgotten": func() { h.must("memory", "forget", "--agent", "a2", "--yes") },
		"grown": func() {
			h.talk("openclaw", "a5", 5, 6, 2*time.Hour)
			h.must("compact", "--all", "--force")
		},
		"rebuilt": func() { h.must("memory", "reindex", "--from-archives") },
	} {
		h.again(base)
		live()
		if who := h.noticed(); who != "" {
			h.t.Errorf("%s: %s raises an alarm, and nothing was rewritten", name, who)
		}
	}
}

// again makes the home what it was: at its place, for what is recorded names it.
func (h *historyHome) again(base string) {
	h.remove(h.dir, h.dir+".proof")
	copyHome(h.t, base, h.dir)
}

// rewritingRuns is how often a history is rewritten.
func rewritingRuns(t *testing.T) int {
	if given := os.Getenv("SESSCTL_REWRITINGS"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	switch {
	case tier.Long():
		return 10_000
	case tier.Smoke():
		return 60
	}
	return 300
}
