//go:build linux && amd64

package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/crashloop"
	"github.com/sessctl/sessctl/internal/fakeobjects"
)

// Home is a home directory with one session, as a command finds it.
type Home struct {
	Dir     string // absolute, without links; HOME and the data directory are below it
	Program string // the built sessctl
	Command Command
	Lines   []string // of the session, in order
	archive string   // id of the newest archive that was made before
	receipt string   // id of the newest receipt
	entries []string // of the index, that its runtime has added since
	next    successor
	covered string                        // where a program that was built with CoverageFlags says what it executes; "" for another
	twice   bool                          // the command is run twice again, even where once has left nothing to do
	before  []string                      // what memory had before a compaction that is undone
	texts   map[string][2]string          // of a runtime's settings, before the command and after it: "" is no file
	shown   map[string]string             // what install would write, by manager and time
	storage *fakeobjects.Server           // of the archives that are off-site; nil for none
	stored  map[string]fakeobjects.Object // what it has when the command starts

	shared *sharedServer // that hosts of a fleet share; nil for none

	superseded string // id of an archive with whose bytes a later one begins
}

func (h *Home) layout() layout { return layouts()[h.Command.Runtime] }

// Log is the path of the session's log.
func (h *Home) Log() string { return filepath.Join(h.Dir, "home", h.layout().log) }

// Sessions is the directory of the log.
func (h *Home) Sessions() string { return filepath.Dir(h.Log()) }

// index is the path of the runtime's index, or "".
func (h *Home) index() string {
	if h.layout().index == "" {
		return ""
	}
	return filepath.Join(h.Sessions(), h.layout().index)
}

// Data is the program's own directory.
func (h *Home) Data() string { return filepath.Join(h.Dir, "data/sessctl") }

// build writes the files of the runtime and lets the command prepare the rest.
func (h *Home) build() error {
	h.Lines = h.layout().lines()
	if h.index() != "" {
		if err := writeAged(h.index(), sessionIndex); err != nil {
			return err
		}
	}
	if err := writeAged(h.Log(), h.source()); err != nil {
		return err
	}
	if h.Command.Prepare == nil {
		return nil
	}
	if err := h.Command.Prepare(h); err != nil {
		return err
	}
	if h.storage != nil {
		h.stored = h.storage.Objects()
	}
	h.archive, h.receipt = newest(filepath.Join(h.Data(), "archives")), newest(filepath.Join(h.Data(), "receipts"))
	if h.archive == "" {
		h.archive = newest(filepath.Join(h.Data(), "trash/archives"))
	}
	return nil
}

// serversAsBefore gives the storage and the shared memory what they had when the
// command starts.
func (h *Home) serversAsBefore() error {
	if h.storage != nil {
		h.storage.Replace(h.stored)
	}
	if h.shared != nil {
		return h.shared.asBefore()
	}
	return nil
}

// newest is the name, without its ending, of the last document of a directory.
func newest(dir string) string {
	names, _ := filepath.Glob(filepath.Join(dir, "*.json")) // the pattern is ours
	if len(names) == 0 {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(names[len(names)-1]), ".json")
}

// args are those of the command, for this home.
func (h *Home) args() []string {
	args := slices.Clone(h.Command.Args)
	for i := range args {
		args[i] = strings.NewReplacer("$ARCHIVE", h.archive, "$RECEIPT", h.receipt, "$DIR", h.Dir, "$LOG", h.Log()).Replace(args[i])
	}
	return args
}

// source is the log as the agent has written it.
func (h *Home) source() string { return strings.Join(h.Lines, "\n") + "\n" }

func writeAged(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	return age(path)
}

// age makes a file look as if nobody had touched it for two hours, so that no
// quiet period protects it.
func age(path string) error {
	old := time.Now().Add(-2 * time.Hour)
	return os.Chtimes(path, old, old)
}

func (h *Home) env() []string {
	env := []string{
		"HOME=" + filepath.Join(h.Dir, "home"), "XDG_DATA_HOME=" + filepath.Join(h.Dir, "data"),
		"PATH=" + os.Getenv("PATH"), "TMPDIR=" + filepath.Dir(h.Dir), // where nobody runs a gateway
	}
	if h.storage != nil {
		env = append(env, "SESSCTL_ARCHIVE_ENDPOINT="+h.storage.URL, "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b")
	}
	if h.shared != nil {
		env = append(env, h.shared.env()...)
	}
	if h.covered != "" {
		env = append(env, coverageDir+"="+h.covered)
	}
	for _, v := range h.Command.Env {
		env = append(env, strings.ReplaceAll(v, "$DIR", h.Dir))
	}
	return env
}

// Run runs the program undisturbed and returns its exit code and what it said.
func (h *Home) Run(args ...string) (int, string, error) {
	cmd := exec.Command(h.Program, args...)
	cmd.Env, cmd.Dir = h.env(), h.Dir
	if h.Command.Input != "" {
		cmd.Stdin = strings.NewReader(h.Command.Input)
	}
	var out []byte
	err := h.Command.Lacking.On(func() (err error) {
		out, err = cmd.CombinedOutput()
		return err
	})
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), string(out), nil
	}
	return 0, string(out), err
}

// must runs the program and returns an error unless it exits with one of codes.
func (h *Home) must(codes []int, args ...string) error {
	code, out, err := h.Run(args...)
	if err != nil {
		return err
	}
	for _, ok := range codes {
		if code == ok {
			return nil
		}
	}
	return fmt.Errorf("%s: exit %d: %s", strings.Join(args, " "), code, strings.TrimSpace(out))
}

// trace runs the command under the harness.
func (h *Home) trace(reads bool, decide func(crashloop.Call) crashloop.Fault) (crashloop.Outcome, error) {
	time.Sleep(h.Command.Rested)
	o := crashloop.Options{
		Args: append([]string{h.Program}, h.args()...), Env: h.env(), Dir: h.Dir, Under: h.Dir, Input: h.Command.Input, Reads: reads, Decide: decide, Lacking: h.Command.Lacking,
	}
	if h.shared != nil {
		o.Sockets, o.Beside = true, h.shared.data()
	}
	return crashloop.Run(o)
}

// ageLogs makes every log of the home look untouched.
func (h *Home) ageLogs() error {
	return h.eachFile(func(path string) error {
		if isLog(filepath.Base(path)) {
			return age(path)
		}
		return nil
	})
}

// eachFile calls fn with every regular file of the home.
func (h *Home) eachFile(fn func(path string) error) error {
	return filepath.WalkDir(h.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return fn(path)
	})
}

// Session is the id of the session in every home.
const Session = "5f0c1c2e-6d0a-4f57-9d2b-0c8e1f1a2b3c"

// Chunks is how many chunks the session makes: 24 messages, four a block, and
// each block a little longer than a chunk.
const Chunks = 12

// layout is where a runtime keeps a session, and in what form.
type layout struct {
	log   string // below the home directory
	index string // beside the log; "" for none
	// header is the first line, message one message, turn two of them.
	header  string
	message func(i int, text string) string
	tail    int // lines that the runtime's own compaction keeps: five turns and a damaged line
	// intact says that no line is damaged: trim leaves a log alone that has one.
	intact bool
}

const (
	openclawLog  = ".openclaw/agents/a/sessions/" + Session + ".jsonl"
	piLog        = ".pi/agent/sessions/--work-a--/2026-03-01T10-00-00-000Z_" + Session + ".jsonl"
	agentLog     = ".agent/sessions/" + agentSession + "/session.jsonl"
	agentSession = "01JKTS6Q2N8R3Z5V7W9XYB4CDE"
	annabelleLog = ".annabelle/sessions/a/8304042211.jsonl"
	copilotLog   = ".copilot/session-state/" + Session + "/events.jsonl"
	qwenLog      = ".qwen/projects/-work-a/chats/" + Session + ".jsonl"
	ompLog       = ".omp/agent/sessions/-work-a/2026-03-01T10-00-00-000Z_" + Session + ".jsonl"
	claudeLog    = ".claude/projects/-work-a/" + Session + ".jsonl"
	macstatsLog  = ".mac-stats/session/session-memory-8304042211-20260301-100000-importer.md"

	macstatsFresh = "## Assistant\n\n" // of a session in which nothing has been said

	piHeader        = `{"type":"session","version":3,"id":"` + Session + `","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/repo/a"}`
	copilotHeader   = `{"type":"session.start","data":{"sessionId":"` + Session + `","version":1,"context":{"cwd":"/home/lea/a"}},"id":"00","timestamp":"2026-03-01T10:00:00.000Z","parentId":null}`
	annabelleHeader = `{"type":"header","chatId":"8304042211","agentId":"a","createdAt":"2026-03-01T10:00:00.000Z","version":1}`
)

func layouts() map[string]layout {
	return map[string]layout{
		"openclaw":  {log: openclawLog, index: "sessions.json", header: piHeader, message: piMessage},
		"pi":        {log: piLog, header: piHeader, message: piMessage},
		"agent":     {log: agentLog, message: agentMessage},
		"annabelle": {log: annabelleLog, header: annabelleHeader, message: annabelleTurn, tail: 6},
		"macstats":  {log: macstatsLog, message: macstatsMessage},
		"qwen":      {log: qwenLog, message: qwenMessage, intact: true},
		"omp":       {log: ompLog, header: ompSlot(), message: ompMessage, intact: true},
		"claude":    {log: claudeLog, message: claudeMessage},
		"copilot":   {log: copilotLog, header: copilotHeader, message: copilotMessage},
	}
}

const sessionIndex = `{
  "agent:a:main": {
    "sessionId": "` + Session + `",
    "updatedAt": 1772359300000,
    "label": "desk",
    "contextTokens": 200000,
    "totalTokens": 160000,
    "totalTokensFresh": true
  },
` + otherEntry + `
}
`

// otherEntry belongs to another session: nothing may change a byte of it.
const otherEntry = `  "agent:a:cron:daily": { "sessionId": "00000000-0000-4000-8000-000000000001", "updatedAt": 1 }`

// lines is a small session, long enough that a summary is shorter. Two of its
// lines are the same, and damaged, as agents leave them, unless it is intact:
// archives keep bytes, not meanings.
func (l layout) lines() []string {
	var lines []string
	if l.header != "" {
		lines = append(lines, l.header)
	}
	for i := range 24 {
		if line := l.message(i, text(i)); line != "" {
			lines = append(lines, strings.Split(line, "\n")...)
		}
		if !l.intact && (i == 7 || i == 15) {
			lines = append(lines, `{"type":"message","id":"torn`)
		}
	}
	return lines
}

// late is what an agent writes while sessctl is at work: the end of a turn.
func (l layout) late() []string { return strings.Split(l.message(25, "one more thing"), "\n") }

func text(i int) string {
	return fmt.Sprintf("message %d about the importer: port %d. ", i, 7000+i) + strings.Repeat(fmt.Sprintf("The importer moved for reason %d, which nobody disputes. ", i), 15)
}

func clock(i int) string { return fmt.Sprintf("2026-03-01T10:%02d:00.000Z", i) }

// piMessage is a message of pi and OpenClaw: one entry of a tree.
func piMessage(i int, text string) string {
	parent := "null"
	if i > 0 {
		parent = fmt.Sprintf(`"%08x"`, 0xa0000000+min(i, 24)-1)
	}
	body := fmt.Sprintf(`"role":"user","content":[{"type":"text","text":"%s"}]`, text)
	if i%2 == 1 {
		body = fmt.Sprintf(`"role":"assistant","content":[{"type":"text","text":"%s"}],"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":%d},"stopReason":"stop"`, text, 100+i)
	}
	return fmt.Sprintf(`{"type":"message","id":"%08x","parentId":%s,"timestamp":"%s","message":{%s}}`, 0xa0000000+i, parent, clock(i), body)
}

func agentMessage(i int, text string) string {
	role := "user"
	if i%2 == 1 {
		role = "assistant"
	}
	return fmt.Sprintf(`{"recordType":"message","schemaVersion":1,"seq":%d,"role":"%s","content":[{"type":"text","text":"%s"}],"timestamp":"%s"}`, i+1, role, text, clock(i))
}

// claudeMessage is a record of Claude Code.
func claudeMessage(i int, said string) string {
	parent, role := "null", "user"
	if i > 0 {
		parent = fmt.Sprintf(`"%08x-0000-4000-8000-000000000000"`, min(i, 24)-1)
	}
	if i%2 == 1 {
		role = "assistant"
	}
	return fmt.Sprintf(`{"type":"%s","uuid":"%08x-0000-4000-8000-000000000000","parentUuid":%s,"sessionId":"%s","timestamp":"%s","message":{"role":"%s","content":[{"type":"text","text":"%s"}]}}`, role, i, parent, Session, clock(i), role, said)
}

// copilotMessage is a record of Copilot CLI; before the 17th message stand those of
// a compaction of its own, which the program does not need all of to go on.
func copilotMessage(i int, said string) string {
	record := func(kind, data string) string {
		return fmt.Sprintf(`{"type":"%s","data":{%s},"id":"%02d-%s","timestamp":"%s","parentId":"00"}`, kind, data, i, kind, clock(i))
	}
	kind := "user.message"
	if i%2 == 1 {
		kind = "assistant.message"
	}
	lines := record(kind, `"content":"`+said+`"`)
	if i == copilotCut {
		const attempt = `"compactionAttemptId":"one"`
		lines = strings.Join([]string{
			record("session.compaction_start", attempt), record("model.messages_snapshot", `"messages":[{"role":"user","content":"the whole request"}]`),
			record("session.compaction_complete", attempt+`,"success":true`), lines,
		}, "\n")
	}
	return lines
}

// copilotCut is the message before which the session was compacted.
const copilotCut = 16

// qwenMessage is a record of Qwen Code; before the 17th message stands a
// compression, which has all that the program needs of what was before.
func qwenMessage(i int, said string) string {
	record := func(id, parent, kind, rest string) string {
		return fmt.Sprintf(`{"uuid":"%s","parentUuid":%s,"sessionId":"%s","timestamp":"%s","type":"%s",%s}`, id, parent, Session, clock(i), kind, rest)
	}
	kind, provenance, role := "user", "real_user", "user"
	if i%2 == 1 {
		kind, provenance, role = "assistant", "assistant_output", "model"
	}
	parent := "null"
	if i > 0 {
		parent = `"` + qwenID(min(i, 24)-1) + `"`
	}
	compressed := ""
	if i == qwenCut {
		const id = "c0000000-0000-4000-8000-000000000000"
		compressed = record(id, parent, "system", `"subtype":"chat_compression","systemPayload":{"compressedHistory":[{"role":"user","parts":[{"text":"<summary>the importer</summary>"}]}]}`) + "\n"
		parent = `"` + id + `"`
	}
	return compressed + record(qwenID(i), parent, kind, fmt.Sprintf(`"provenance":"%s","message":{"role":"%s","parts":[{"text":"%s"}]}`, provenance, role, said))
}

// qwenCut is the message before which the session was compressed.
const qwenCut = 16

func qwenID(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", i) }

// ompSlot is the first line of a log of oh-my-pi.
func ompSlot() string {
	const from, to = `{"type":"title","v":1,"title":"","updatedAt":"2026-03-01T10:00:00.000Z","pad":"`, `"}`
	return from + strings.Repeat(" ", 255-len(from)-len(to)) + to
}

// ompMessage is a record of oh-my-pi; before the first one stand the header and its
// model, and before the 17th a compaction that keeps the two before it.
func ompMessage(i int, said string) string {
	const model, squeezed = "b0000000", "c0000000"
	record := func(id, parent, rest string) string {
		return fmt.Sprintf(`{"type":%s,"id":"%s","parentId":%s,"timestamp":"%s"}`, rest, id, parent, clock(i))
	}
	line, before := piMessage(i, said), ""
	switch i {
	case 0:
		before = piHeader + "\n" + record(model, "null", `"model_change","model":"mock/large"`) + "\n"
		line = strings.Replace(line, `"parentId":null`, `"parentId":"`+model+`"`, 1)
	case ompCut:
		before = record(squeezed, `"`+ompID(ompCut-1)+`"`, `"compaction","summary":"The importer.","firstKeptEntryId":"`+ompID(ompCut-2)+`","tokensBefore":100`) + "\n"
		line = strings.Replace(line, `"parentId":"`+ompID(ompCut-1), `"parentId":"`+squeezed, 1)
	}
	return before + line
}

// ompCut is the message before which the session was compacted.
const ompCut = 16

func ompID(i int) string { return fmt.Sprintf("%08x", 0xa0000000+i) }

// annabelleTurn has two messages: every second one makes a line.
func annabelleTurn(i int, said string) string {
	if i%2 == 0 {
		return ""
	}
	return fmt.Sprintf(`{"type":"turn","user":"%s","assistant":"%s","timestamp":"%s","toolsUsed":[],"tokens":{"prompt":1500,"completion":100}}`, text(i-1), said, clock(i))
}

// macstatsMessage is a part of a Markdown document. What is learned from it is
// a line of its own.
func macstatsMessage(i int, said string) string {
	if i == 25 {
		return "## Assistant \n\n" + said + "\n" // the late one's lines are told from the others
	}
	if i%2 == 1 {
		return "## Assistant\n\n" + said + "\n"
	}
	return fmt.Sprintf("## User\n\nYou must never forget rule %d.\n%s\n", i, said)
}

// compacted is a home whose session was compacted and settled.
func compacted(h *Home) error {
	for range 2 {
		if err := errors.Join(h.dayLater(), h.must([]int{0}, "compact", "--agent", "a", "--force", "--strategy", "rotate")); err != nil {
			return err
		}
	}
	return h.nothingLeft(true)
}

// forgotten is such a home without its memory.
func forgotten(h *Home) error {
	if err := compacted(h); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(h.Data(), "memory"))
}

// damaged is such a home whose memory is no database.
func damaged(h *Home) error {
	if err := compacted(h); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(h.Data(), "memory/memory.db"), []byte(strings.Repeat("no database ", 1000)), 0o600)
}

// grown is a home whose session was archived when it was only a header.
func grown(h *Home) error {
	if err := writeAged(h.Log(), h.layout().header+"\n"); err != nil {
		return err
	}
	if err := h.must([]int{0}, "archive", "--runtime", "pi", "--agent", "work-a"); err != nil {
		return err
	}
	if err := writeAged(h.Log(), h.source()); err != nil {
		return err
	}
	if n, err := count(filepath.Join(h.Data(), "archives")); err != nil || n != 1 {
		return fmt.Errorf("%d archives, want 1 (%v)", n, err)
	}
	return nil
}

// oldArchives is a home with archives of the session as it grew, the older one
// made years ago.
func oldArchives(h *Home) error {
	for _, lines := range []int{len(h.Lines) / 2, len(h.Lines)} {
		if err := writeAged(h.Log(), strings.Join(h.Lines[:lines], "\n")+"\n"); err != nil {
			return err
		}
		if err := h.must([]int{0}, "archive", "--agent", "a"); err != nil {
			return err
		}
		if lines < len(h.Lines) {
			if err := h.backdate(); err != nil {
				return err
			}
		}
	}
	return nil
}

// backdate makes every archive of the catalogue one of the year 2020.
func (h *Home) backdate() error {
	names, err := filepath.Glob(filepath.Join(h.Data(), "archives", "*.json"))
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		const made = `"created_at": "`
		at := bytes.Index(text, []byte(made))
		if at < 0 {
			return fmt.Errorf("%s does not say when it was made: %s", name, text)
		}
		copy(text[at+len(made):], "2020")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// inUse makes a session look as if somebody had used it ten minutes ago.
func inUse(h *Home) error {
	now := time.Now().Add(-10 * time.Minute)
	return os.Chtimes(h.Log(), now, now)
}

// older is the path of an older session of the same conversation.
func (h *Home) older() string {
	return strings.Replace(h.Log(), "20260301-", "20260228-", 1)
}

// hasOlder lets the conversation have an older session with the same messages.
func hasOlder(h *Home) error {
	if err := writeAged(h.older(), h.source()); err != nil {
		return err
	}
	before := time.Now().Add(-5 * time.Hour)
	return os.Chtimes(h.older(), before, before)
}

// cameLate is a home whose session was rotated, whose old log a slow writer has
// added to since, and in which the session that follows has begun.
func cameLate(h *Home) error {
	agent := map[string]string{"openclaw": "a", "pi": "work-a", "agent": "agent"}[h.Command.Runtime]
	if err := h.must([]int{0}, "compact", "--runtime", h.Command.Runtime, "--force", "--strategy", "rotate", "--agent", agent); err != nil {
		return err
	}
	old, err := filepath.Glob(h.Log() + ".r*.20*") // .reset. or .rotated.
	if err != nil || len(old) != 1 {
		return fmt.Errorf("the old log is one of %v (%v)", old, err)
	}
	h.Lines = append(h.Lines, h.layout().late()...)
	if err := writeAged(old[0], h.source()); err != nil {
		return err
	}
	h.next, err = h.begins()
	return err
}

// dayLater lets the time go by for which an old log is watched where nobody
// can ask who has it open: what the journal says was done now was done
// yesterday. Where there are leases it does nothing.
func (h *Home) dayLater() error {
	if !h.Command.Lacking.Leases {
		return nil
	}
	names, err := filepath.Glob(filepath.Join(h.Data(), "journal", "*.json"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := yesterday(name); err != nil {
			return err
		}
	}
	return nil
}

func yesterday(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var intent map[string]json.RawMessage
	if err := json.Unmarshal(text, &intent); err != nil {
		return err
	}
	var rotation map[string]json.RawMessage
	if err := json.Unmarshal(intent["rotation"], &rotation); err != nil {
		return err
	}
	if rotation["at"], err = json.Marshal(time.Now().Add(-25 * time.Hour)); err != nil {
		return err
	}
	if intent["rotation"], err = json.Marshal(rotation); err != nil {
		return err
	}
	if text, err = json.Marshal(intent); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}
