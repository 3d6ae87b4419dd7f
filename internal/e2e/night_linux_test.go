package e2e_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/tier"
)

// nights is how often the unit's command runs: a night, every fifteen minutes or
// so.
const nights = 30

// TestNight is a night on a machine with two agents of OpenClaw, a pi and a
// Claude Code. A schedule is installed, the command of its unit runs thirty times
// while sessions grow, and in the end every line is where it belongs, a receiver
// has heard of each event once, and metrics and the API tell the same.
func TestNight(t *testing.T) {
	tier.SkipUnlessLong(t, "it takes half a minute")
	n := newNight(t)
	n.install()
	began := time.Now()
	for hour := range nights {
		n.grow(hour)
		n.unit(hour)
	}
	t.Logf("%d runs of the unit's command took %s, %s each", nights, time.Since(began).Round(time.Millisecond), (time.Since(began) / nights).Round(time.Millisecond))
	n.linesAreKept()
	n.everyRunIsRecorded()
	n.everyEventCameOnce()
	n.metricsAreAccepted()
	n.answersByHTTP()
}

// night is the machine.
type night struct {
	t       *testing.T
	program string
	home    string
	env     []string // of the unit
	command []string // of the unit
	said    []string // a word for each turn, which no other turn has
	events  receiver
	grown   map[string]*grownLog
}

// grownLog is a session that grows.
type grownLog struct {
	log    string
	last   string // id of its last record
	tokens int
}

func newNight(t *testing.T) *night {
	n := &night{t: t, program: buildProgram(t), home: t.TempDir(), grown: map[string]*grownLog{}}
	for _, from := range []string{"sample", "claude"} {
		if err := os.CopyFS(n.home, os.DirFS(filepath.Join(module, "testdata", from))); err != nil {
			t.Fatal(err)
		}
	}
	n.events.seen = map[string][]string{}
	server := httptest.NewServer(&n.events)
	t.Cleanup(server.Close)
	n.env = []string{"HOME=" + n.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.Getenv("TMPDIR"), "SESSCTL_ARCHIVE_COMPRESSION=none"}
	n.write(".config/sessctl/config.yaml", "events:\n  webhooks:\n    - {name: night, url: "+server.URL+"/hook, secret_file: "+filepath.Join(n.home, "secret")+"}\n")
	n.write("secret", strings.Repeat("s", 40))
	n.age()
	return n
}

// receiver is a webhook: it notes the type of each event by its id.
type receiver struct {
	sync.Mutex
	seen map[string][]string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	var event struct{ ID, Type, SpecVersion string }
	body, err := io.ReadAll(q.Body)
	if err != nil || json.Unmarshal(body, &event) != nil || event.SpecVersion != "1.0" || q.Header.Get("X-Sessctl-Signature") == "" {
		http.Error(w, "no signed event", http.StatusBadRequest)
		return
	}
	r.Lock()
	defer r.Unlock()
	r.seen[event.ID] = append(r.seen[event.ID], event.Type)
}

func (n *night) write(path, text string) {
	n.t.Helper()
	path = filepath.Join(n.home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

func (n *night) read(path string) string {
	n.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(text)
}

// age lets the logs be older than any quiet period.
func (n *night) age() {
	long := time.Now().Add(-2 * time.Hour)
	for _, dir := range []string{".openclaw", ".pi", ".claude"} {
		err := filepath.WalkDir(filepath.Join(n.home, dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			return os.Chtimes(path, long, long)
		})
		if err != nil {
			n.t.Fatal(err)
		}
	}
}

// run runs the program and returns what it prints.
func (n *night) run(args ...string) string {
	n.t.Helper()
	c := exec.Command(n.program, args...)
	var out, errs bytes.Buffer
	c.Env, c.Stdout, c.Stderr = n.env, &out, &errs
	if err := c.Run(); err != nil {
		n.t.Fatalf("sessctl %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String()
}

// install installs the schedule, and takes the command and the variables of its
// unit.
func (n *night) install() {
	managers := filepath.Join(n.home, "managers")
	n.write("managers/none", "")
	n.env = append(n.env, "FAKE_MANAGERS="+managers)
	n.run("schedule", "install", "--user", "--manager", "systemd", "--program", n.program)
	unit := n.read(filepath.Join(n.home, ".config/systemd/user/sessctl-nightly.service"))
	exec := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindStringSubmatch(unit)
	if exec == nil || strings.ContainsAny(exec[1], `"\%`) {
		n.t.Fatalf("no command that this test can read: %s", unit)
	}
	n.command = strings.Fields(exec[1])
	for _, m := range regexp.MustCompile(`(?m)^Environment=(\S+)$`).FindAllStringSubmatch(unit, -1) {
		n.env = append(n.env, m[1])
	}
	n.t.Logf("the unit runs %s", exec[1])
}

// unit runs the unit's command, as its timer would. With --quiet it says nothing
// but what it has changed.
func (n *night) unit(hour int) {
	n.t.Helper()
	c := exec.Command(n.command[0], n.command[1:]...)
	c.Env = n.env
	out, err := c.CombinedOutput()
	if err != nil {
		n.t.Fatalf("run %d: %v\n%s", hour, err, out)
	}
}

// grow adds a turn to every session, and begins one where there is none.
func (n *night) grow(hour int) {
	for _, agent := range []string{"coordinator", "librarian"} {
		n.growOpenClaw(agent, hour)
	}
	if hour%2 == 0 {
		n.growPi(hour)
	}
	if hour%3 == 0 {
		n.growClaude(hour)
	}
	n.age()
}

// word is what a turn says and no other does.
func (n *night) word(who string, hour int) string {
	word := fmt.Sprintf("crate-%s-%d", who, hour)
	n.said = append(n.said, word)
	return word
}

// growOpenClaw is what OpenClaw does with a message to an agent: it goes into the
// session that the index names, or into a new one.
func (n *night) growOpenClaw(agent string, hour int) {
	dir, key := filepath.Join(n.home, ".openclaw/agents", agent, "sessions"), "agent:"+agent+":main"
	index := map[string]map[string]any{}
	if err := json.Unmarshal([]byte(n.read(filepath.Join(dir, "sessions.json"))), &index); err != nil {
		n.t.Fatal(err)
	}
	id, _ := index[key]["sessionId"].(string)
	s := n.grown[agent]
	if s == nil || s.log != filepath.Join(dir, id+".jsonl") || !there(s.log) {
		s = &grownLog{tokens: 20_000}
		if id == "" || !there(filepath.Join(dir, id+".jsonl")) {
			id = newID()
			n.append(filepath.Join(dir, id+".jsonl"), fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"%s","cwd":"/w"}`, id, timeOf(hour)))
		}
		s.log = filepath.Join(dir, id+".jsonl")
		n.grown[agent] = s
	}
	s.tokens += 25_000
	n.turn(s, n.word(agent, hour), hour)
	index[key] = map[string]any{"sessionId": id, "updatedAt": time.Now().UnixMilli(), "sessionFile": s.log, "contextTokens": 200000, "totalTokens": s.tokens}
	text, err := json.Marshal(index)
	if err != nil {
		n.t.Fatal(err)
	}
	n.write(filepath.Join(".openclaw/agents", agent, "sessions/sessions.json"), string(text))
}

// growPi adds a turn to the log of pi, which goes on after a compaction.
func (n *night) growPi(hour int) {
	logs, err := filepath.Glob(filepath.Join(n.home, ".pi/agent/sessions/*/*.jsonl"))
	if err != nil || len(logs) != 1 {
		n.t.Fatalf("logs of pi: %v, %v", logs, err)
	}
	s := n.grown["pi"]
	if s == nil {
		s = &grownLog{log: logs[0]}
		n.grown["pi"] = s
	}
	if lines := strings.Split(strings.TrimSpace(n.read(s.log)), "\n"); strings.Contains(lines[len(lines)-1], `"type":"compaction"`) {
		s.tokens = 0
	}
	s.tokens += 45_000
	n.turn(s, n.word("pi", hour), hour)
}

// turn adds a message and its answer to a log of OpenClaw or pi.
func (n *night) turn(s *grownLog, word string, hour int) {
	var last struct{ ID string }
	lines := strings.Split(strings.TrimSpace(n.read(s.log)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		n.t.Fatal(err)
	}
	parent := any(last.ID)
	if len(lines) == 1 {
		parent = nil // the header is nobody's parent
	}
	asked, answered := newID()[:8], newID()[:8]
	text := strings.Repeat("The crates stand in the hall and wait. ", 40)
	n.append(s.log, encode(n.t, map[string]any{"type": "message", "id": asked, "parentId": parent, "timestamp": timeOf(hour), "message": map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "text", "text": "Where is " + word + "? " + text}}}}))
	n.append(s.log, encode(n.t, map[string]any{"type": "message", "id": answered, "parentId": asked, "timestamp": timeOf(hour), "message": map[string]any{
		"role": "assistant", "content": []any{map[string]any{"type": "text", "text": "In row " + fmt.Sprint(hour) + ". " + text}}, "provider": "anthropic", "model": "claude-sonnet-4-5",
		"usage": map[string]any{"input": 4, "output": 60, "cacheRead": s.tokens - 64, "cacheWrite": 0, "totalTokens": s.tokens}, "stopReason": "stop"}}))
}

// growClaude adds a question to the session of Claude Code.
func (n *night) growClaude(hour int) {
	logs, err := filepath.Glob(filepath.Join(n.home, ".claude/projects/*/*.jsonl"))
	if err != nil || len(logs) != 1 {
		n.t.Fatalf("logs of Claude Code: %v, %v", logs, err)
	}
	s := n.grown["claude"]
	if s == nil {
		s = &grownLog{log: logs[0], last: "ad892d88-1e2b-48c9-a7e1-1b1e34b467dd"}
		n.grown["claude"] = s
	}
	id := newID()
	n.append(s.log, encode(n.t, map[string]any{
		"parentUuid": s.last, "isSidechain": false, "type": "user", "message": map[string]any{"role": "user", "content": "Where is " + n.word("claude", hour) + "?"},
		"uuid": id, "timestamp": timeOf(hour), "cwd": "/repo/bakery", "sessionId": strings.TrimSuffix(filepath.Base(s.log), ".jsonl"), "version": "2.1.197", "userType": "external",
	}))
	s.last = id
}

// timeOf is the time of a turn.
func timeOf(hour int) string {
	return time.Date(2026, 6, 1, 20, 0, 0, 0, time.UTC).Add(time.Duration(hour) * 15 * time.Minute).Format("2006-01-02T15:04:05.000Z")
}

// newID is an id as runtimes make them.
func newID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (n *night) append(path, line string) {
	n.t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := f.WriteString(line + "\n"); err != nil {
		n.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		n.t.Fatal(err)
	}
}

// linesAreKept looks for every turn in the archives, and in memory.
func (n *night) linesAreKept() {
	var listed struct {
		Archives []struct{ Path, Runtime string }
	}
	n.document(&listed, "archives", "list")
	var all strings.Builder
	count := map[string]int{}
	for _, a := range listed.Archives {
		all.WriteString(n.read(a.Path))
		count[a.Runtime]++
	}
	for _, word := range n.said {
		if !strings.Contains(all.String(), word+"?") {
			n.t.Errorf("%s is in no archive", word)
		}
	}
	for _, word := range []string{n.said[0], n.said[len(n.said)-1]} {
		var found struct{ Hits []struct{ Text string } }
		n.document(&found, "recall", "where is "+word, "--limit", "3")
		if !slices.ContainsFunc(found.Hits, func(h struct{ Text string }) bool { return strings.Contains(h.Text, word) }) {
			n.t.Errorf("recall does not find %s", word)
		}
	}
	n.t.Logf("%d turns were said; all are in %d archives: %v", len(n.said), len(listed.Archives), count)
	n.run("archives", "verify")
	n.run("doctor", "--quiet")
}

// document decodes what a command prints with --json.
func (n *night) document(into any, args ...string) {
	n.t.Helper()
	if err := json.Unmarshal([]byte(n.run(append(args, "--json")...)), into); err != nil {
		n.t.Fatal(args, err)
	}
}

type nightRuns struct {
	Runs []struct {
		Outcome string
		Seconds float64
		Steps   []struct {
			Step    string
			Changed int
		}
	}
}

func (n *night) everyRunIsRecorded() {
	var log nightRuns
	n.document(&log, "log", "--runs", "--limit", "0")
	changed, longest := map[string]int{}, 0.0
	for _, r := range log.Runs {
		longest = max(longest, r.Seconds)
		if r.Outcome != "ok" {
			n.t.Errorf("a run ended %s", r.Outcome)
		}
		for _, s := range r.Steps {
			changed[s.Step] += s.Changed
		}
	}
	if len(log.Runs) != nights || changed["compact"] < 6 || changed["archive"] < nights {
		n.t.Errorf("%d runs, which changed %v", len(log.Runs), changed)
	}
	n.t.Logf("%d runs changed %v; the longest took %.2f s", len(log.Runs), changed, longest)
}

// compactions are the receipts of sessions that were compacted.
func (n *night) compactions() (all int) {
	var log struct{ Entries []struct{ Action string } }
	n.document(&log, "log", "--limit", "0")
	for _, e := range log.Entries {
		if e.Action == "compacted" {
			all++
		}
	}
	return all
}

func (n *night) everyEventCameOnce() {
	n.events.Lock()
	defer n.events.Unlock()
	count := map[string]int{}
	for id, types := range n.events.seen {
		if len(types) != 1 {
			n.t.Errorf("the event %s came %d times: %v", id, len(types), types)
		}
		count[types[0]]++
	}
	if count["run.finished"] != nights || count["session.compacted"] != n.compactions() || count["session.compacted"] == 0 {
		n.t.Errorf("%v came; %d sessions were compacted", count, n.compactions())
	}
	n.t.Logf("events by type: %v", count)
}

func (n *night) metricsAreAccepted() {
	text := n.run("metrics")
	for _, line := range []string{
		`(?m)^sessctl_runs_total\{.*outcome="ok".*\} 30$`, `(?m)^sessctl_last_success_timestamp_seconds\{.*profile="nightly".*\} [1-9]`,
		`(?m)^sessctl_damaged_archives(\{.*\})? 0$`, `(?m)^sessctl_context_tokens\{.*agent="work-orders-api".*\} [1-9]`,
	} {
		if !regexp.MustCompile(line).MatchString(text) {
			n.t.Errorf("no metric like %s", line)
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		n.t.Log("promtool is not here: nobody else has looked at the metrics")
		return
	}
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = strings.NewReader(text)
	out, err := check.CombinedOutput()
	if err != nil {
		n.t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	n.t.Logf("promtool accepts %d lines of metrics", strings.Count(text, "\n"))
}

// answersByHTTP asks the API as docs/api.md does with curl.
func (n *night) answersByHTTP() {
	server := exec.Command(n.program, "serve", "--listen", "127.0.0.1:0")
	server.Env = n.env
	errs, err := server.StderrPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		n.t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	}()
	url := listening(n.t, errs)
	token := strings.TrimSpace(n.read(filepath.Join(n.home, ".local/share/sessctl/serve-token")))
	ask := func(path string, into any) {
		n.t.Helper()
		request, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, url+path, nil)
		if err != nil {
			n.t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			n.t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK || json.Unmarshal(body, into) != nil {
			n.t.Errorf("%s: %d, %v: %.300s", path, answer.StatusCode, err, body)
		}
	}
	var sizes struct{ Sessions []struct{ Agent string } }
	var log nightRuns
	var found struct{ Hits []struct{ Text string } }
	ask("/api/v1/sessions/sizes", &sizes)
	ask("/api/v1/runs?limit=100", &log)
	ask("/api/v1/recall?q=where+is+"+n.said[3], &found)
	if len(sizes.Sessions) < 3 || // an agent whose session was just put away has none
		len(log.Runs) != nights || len(found.Hits) == 0 {
		n.t.Errorf("%d sessions, %d runs, %d hits", len(sizes.Sessions), len(log.Runs), len(found.Hits))
	}
	n.t.Logf("the API tells of %d sessions, %d runs and %d hits", len(sizes.Sessions), len(log.Runs), len(found.Hits))
}

// listening is the address that a server says it listens on.
func listening(t *testing.T, errs io.Reader) string {
	t.Helper()
	var told []byte
	for buffer := make([]byte, 4096); ; {
		got, err := errs.Read(buffer)
		told = append(told, buffer[:got]...)
		if m := regexp.MustCompile(`listening on (http://\S+)\s`).FindSubmatch(told); m != nil {
			go func() { _, _ = io.Copy(io.Discard, errs) }()
			return string(m[1])
		}
		if err != nil {
			t.Fatalf("the server ended: %v\n%s", err, told)
		}
	}
}
