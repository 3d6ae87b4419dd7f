package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// openCode is a home with the real OpenCode, or with Kilo, which is OpenCode
// under another name.
type openCode struct {
	*stage
	program string // "opencode" or "kilo"
	data    string // where its database lies
	dir     string
}

func playOpenCode(ctx context.Context, s *stage) { shrinkOpenCode(ctx, newOpenCode(s, "opencode")) }

func playKilo(ctx context.Context, s *stage) { shrinkOpenCode(ctx, newOpenCode(s, "kilo")) }

func newOpenCode(s *stage, program string) *openCode {
	o := &openCode{stage: s, program: program, dir: filepath.Join(s.home, "work"), data: filepath.Join(s.home, ".local", "share", program)}
	config := filepath.Join(s.home, ".config", program)
	s.must("make directories", errors.Join(os.MkdirAll(o.dir, 0o700), os.MkdirAll(config, 0o700)))
	text, err := json.Marshal(object{
		"autoupdate": false, "share": "disabled", "model": "mock/" + modelName, "small_model": "mock/" + modelName,
		"permission": object{"bash": "allow", "read": "allow"},
		"provider": object{"mock": object{
			"npm": "@ai-sdk/openai-compatible", "name": "Mock", "options": object{"baseURL": s.model.url(), "apiKey": "none"},
			"models": object{modelName: object{"name": "Mock", "tool_call": true, "attachment": true, "modalities": object{"input": []string{"text", "image"}, "output": []string{"text"}}, "limit": object{"context": 60000, "output": 4000}}},
		}},
	})
	s.must("write a configuration", err)
	s.must("write a configuration", os.WriteFile(filepath.Join(config, program+".json"), text, 0o600))
	return o
}

// shrinkOpenCode tries what docs/shrink.md says: a database that was made small
// gives the program the same session as before, a session that was removed is
// put back so that it goes on where it was, and a program that has the database
// open is not disturbed.
func shrinkOpenCode(ctx context.Context, o *openCode) {
	first := o.begin(ctx, "Plan the bakery week, heron-basin-4711")
	o.turn(ctx, first, "Count.\nCALL bash {\"command\": \"seq 1 300; echo wren-copse\", \"description\": \"count\"}")
	o.turn(ctx, first, "Which supplier has the best rye?")
	second := o.begin(ctx, "Who opens on Saturday, finch-lane-99?")
	o.turn(ctx, second, "And who closes?")
	sizes := o.sizes(ctx)
	same(o.stage, "sizes has both sessions", len(sizes), 2)
	same(o.stage, "the context of the first is what the model counted", sizes[first], 312)

	const next = "And what did we plan, newt-hollow?"
	o.beside(ctx)
	before := o.asked(ctx, first, next)
	done := o.shrink(ctx, "journal,vacuum")
	same(o.stage, "the journal is trimmed", done.exit == 0 && done.removed("events") > 0, true)
	same(o.stage, "the trimmed session is asked about with the same request", o.asked(ctx, first, next), before)

	o.query(ctx, "UPDATE session SET time_updated = time_updated - 259200000 WHERE id = '"+second+"'")
	o.query(ctx, "UPDATE session SET time_created = time_created - 259200000 WHERE id = '"+second+"'")
	before = o.asked(ctx, second, next)
	done = o.shrink(ctx, "sessions,journal,vacuum", "--older-than", "1d")
	same(o.stage, "the old session is removed", done.exit == 0 && done.removed("sessions") == 1, true)
	same(o.stage, o.program+" lists the other one only", fmt.Sprint(o.listed(ctx, first), o.listed(ctx, second)), "true false")
	same(o.stage, "memory finds what it said", o.recalls(ctx, "finch-lane-99"), true)
	_, err := o.output(ctx, o.home, o.sessctl, "restore", second)
	o.must("restore it", err)
	same(o.stage, o.program+" lists it again", o.listed(ctx, second), true)
	same(o.stage, "the restored session is asked about with the same request", o.asked(ctx, second, next), before)
	_, err = o.output(ctx, o.home, o.sessctl, "archives", "verify")
	same(o.stage, "nothing is damaged", err, nil)
}

// shrunk is the part of `sessctl shrink --json` that is looked at.
type shrunk struct {
	exit      int
	Databases []struct {
		Removed map[string]int `json:"removed"`
	} `json:"databases"`
}

func (s shrunk) removed(what string) int {
	if len(s.Databases) != 1 {
		return 0
	}
	return s.Databases[0].Removed[what]
}

// shrink runs sessctl when nobody has used the sessions for a moment.
func (o *openCode) shrink(ctx context.Context, what string, args ...string) (doc shrunk) {
	time.Sleep(shortQuiet)
	c := o.command(ctx, o.home, o.sessctl, slices.Concat([]string{"shrink", "--json", "--quiet-period", shortQuiet.String()}, strings.Split(what, ","), args)...)
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		doc.exit, err = exit.ExitCode(), nil
	}
	o.must("run sessctl", err)
	if doc.exit == 0 {
		o.must("read what sessctl printed", json.Unmarshal(out, &doc))
	}
	return doc
}

// beside starts the program as a server and lets sessctl try meanwhile.
func (o *openCode) beside(ctx context.Context) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	o.must("find a port", err)
	port := listener.Addr().(*net.TCPAddr).Port
	o.must("find a port", listener.Close())
	server := o.called(ctx, "serve", "--port", fmt.Sprint(port))
	o.start(server)
	o.must("wait for the server", answers(ctx, fmt.Sprintf("http://127.0.0.1:%d/session", port)))
	events := o.query(ctx, "SELECT count(*) FROM event")
	done := o.shrink(ctx, "sessions,journal,vacuum", "--older-than", "1d")
	same(o.stage, "while the program runs it is busy", done.exit, 75)
	same(o.stage, "and nothing is removed", o.query(ctx, "SELECT count(*) FROM event"), events)
	o.stop(server)
}

// answers waits until a server answers. It may take a connection before it is
// ready, and never answer that one.
func answers(ctx context.Context, url string) (err error) {
	client := http.Client{Timeout: 5 * time.Second}
	for range 120 {
		var request *http.Request
		if request, err = http.NewRequestWithContext(ctx, http.MethodGet, url, nil); err != nil {
			return err
		}
		var reply *http.Response
		if reply, err = client.Do(request); err == nil {
			return reply.Body.Close()
		}
		time.Sleep(500 * time.Millisecond)
	}
	return err
}

// asked is the request that a turn in a session makes, with times masked. The
// database is put back as it was: nothing has been asked.
func (o *openCode) asked(ctx context.Context, id, say string) string {
	kept := o.data + ".kept"
	o.must("keep the database", os.CopyFS(kept, os.DirFS(o.data)))
	n, _ := o.model.requests()
	o.turn(ctx, id, say)
	o.must("put the database back", errors.Join(os.RemoveAll(o.data), os.Rename(kept, o.data)))
	requests := slices.DeleteFunc(o.model.since(n), func(r request) bool { return !r.has(say) || len(r.said) == 1 })
	if len(requests) != 1 {
		o.fail("a turn is one request", fmt.Sprint(len(requests)))
		panic(errGivenUp)
	}
	return moments.ReplaceAllString(fmt.Sprintf("%q", append(requests[0].said, message{"system", requests[0].told})), "TIME")
}

// moments are dates and times of day as they stand in a request.
var moments = regexp.MustCompile(`\d{4}-\d\d-\d\d|\d\d:\d\d(:\d\d)?(\.\d+)?|1[78]\d{11}`)

// begin takes the first turn of a session and returns its id.
func (o *openCode) begin(ctx context.Context, say string) string {
	o.turn(ctx, "", say)
	return strings.TrimSpace(o.query(ctx, "SELECT id FROM session WHERE parent_id IS NULL ORDER BY time_created DESC, id LIMIT 1"))
}

// turn lets the program take one turn.
func (o *openCode) turn(ctx context.Context, id, say string) {
	args := []string{"run", "--model", "mock/" + modelName}
	switch id {
	case "":
	case "-c": // the last one
		args = append(args, id)
	default:
		args = append(args, "--session", id)
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	words := []string{say}
	if o.program == "kilo" { // it puts quotes around a text with spaces, and none around words
		words = strings.Split(say, " ")
	}
	out, err := o.called(ctx, append(args, words...)...).CombinedOutput()
	if err != nil {
		o.fail("a turn of "+o.program, err.Error()+": "+lastLines(string(out)))
		panic(errGivenUp)
	}
}

// called is the program with arguments, without a network.
func (o *openCode) called(ctx context.Context, args ...string) *exec.Cmd {
	c := o.command(ctx, o.dir, filepath.Join(o.runtime.bin, o.program), args...)
	for _, name := range []string{"AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD"} {
		c.Env = append(c.Env, "OPENCODE_DISABLE_"+name+"=1", "KILO_DISABLE_"+name+"=1")
	}
	c.Env = append(c.Env, "KILO_TELEMETRY=0", "DO_NOT_TRACK=1")
	return c
}

// query asks the database by the program's own means.
func (o *openCode) query(ctx context.Context, sql string) string {
	out, err := o.called(ctx, "db", sql, "--format", "tsv").Output()
	o.must("ask the database", err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1] // the first names the columns
}

func (o *openCode) listed(ctx context.Context, id string) bool {
	out, err := o.called(ctx, "session", "list").Output()
	o.must("list sessions", err)
	return strings.Contains(string(out), id)
}

// sizes are the context tokens of the sessions.
func (o *openCode) sizes(ctx context.Context) map[string]int {
	out, err := o.output(ctx, o.home, o.sessctl, "sizes", "--json")
	o.must("ask for the sizes", err)
	var doc struct {
		Sessions []struct {
			Session string `json:"session"`
			Tokens  int    `json:"tokens"`
		} `json:"sessions"`
	}
	o.must("read what sessctl printed", json.Unmarshal(out, &doc))
	tokens := map[string]int{}
	for _, s := range doc.Sessions {
		tokens[s.Session] = s.Tokens
	}
	return tokens
}
