package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// playStopped tries the rotation of a session of OpenClaw while no gateway
// runs.
func playStopped(ctx context.Context, s *stage) {
	o := newOpenClaw(s)
	o.local(ctx, "Plan the bakery week")
	o.local(ctx, "Which supplier has the best rye?")
	same(s, "two turns are one session", s.users(), 2)
	o.set("label", "Week plan")
	o.set("thinkingLevel", "low")
	old := o.entry()
	before, err := os.ReadFile(o.log(old.SessionID))
	s.must("read the log", err)

	same(s, "a log that was just written is busy: exit 75", s.compact(ctx, "--agent", o.agent).exit, 75)
	time.Sleep(shortQuiet)
	done := s.compact(ctx, "--agent", o.agent, "--quiet-period", shortQuiet.String())
	s.became("an idle session is rotated", done, "compacted")
	same(s, "every line is in the archive", contains(done.archive(), before), true)
	fresh := o.entry()
	same(s, "the index names another session", fresh.SessionID != old.SessionID, true)

	o.local(ctx, "Plan the next week")
	same(s, "the next turn is fresh", s.users(), 1)
	same(s, "under our id", o.entry().SessionID, fresh.SessionID)
	same(s, "the label is kept", o.entry().Label, "Week plan")
	same(s, "the user's settings are kept", o.entry().ThinkingLevel, "low")
	o.checkClosed(old.SessionID, before)
	o.local(ctx, "And the week after?")
	same(s, "which the runtime continues", s.users(), 2)
}

// playUndo takes a rotation back: the runtime must go on with the old session.
func playUndo(ctx context.Context, s *stage) {
	o := newOpenClaw(s)
	o.local(ctx, "Plan the bakery week")
	old, before := o.entry().SessionID, o.fields()
	time.Sleep(shortQuiet)
	done := s.compact(ctx, "--agent", o.agent, "--quiet-period", shortQuiet.String())
	s.became("an idle session is rotated", done, "compacted")
	receipt := strings.TrimSuffix(filepath.Base(done.receipt()), ".json")
	_, err := s.output(ctx, s.home, s.sessctl, "undo", receipt, "--quiet-period", "1ms")
	s.must("take it back", err)
	after := o.fields()
	delete(before, "updatedAt")
	delete(after, "updatedAt")
	same(s, "the entry is as it was", fmt.Sprint(after), fmt.Sprint(before))
	o.local(ctx, "Which supplier has the best rye?")
	same(s, "after undo the runtime goes on with the old session", s.users(), 2)
	same(s, "under its old id", o.entry().SessionID, old)
}

// openClaw is a state directory with the real OpenClaw.
type openClaw struct {
	*stage
	agent     string
	workspace string
	port      int
}

// gatewayToken is the secret of the gateway.
const gatewayToken = "accept"

func newOpenClaw(s *stage) *openClaw {
	o := &openClaw{stage: s, agent: "coordinator", workspace: filepath.Join(s.home, "workspace"), port: s.freePort()}
	s.must("make a workspace", os.MkdirAll(o.workspace, 0o700))
	s.must("make a state directory", os.MkdirAll(filepath.Join(s.home, ".openclaw"), 0o700))
	s.must("write a configuration", writeFile(filepath.Join(s.home, ".openclaw", "openclaw.json"), o.configuration()))
	return o
}

func (s *stage) freePort() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.must("find a free port", err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (o *openClaw) configuration() object {
	provider := object{
		"baseUrl": o.model.url(), "apiKey": "none", "api": "openai-completions",
		"models": []object{{
			"id": modelName, "name": "Mock", "reasoning": false, "input": []string{"text", "image"}, "contextWindow": 200_000,
			"maxTokens": 8192, "cost": object{"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
		}},
	}
	defaults := object{
		"workspace": o.workspace, "skipBootstrap": true, "model": object{"primary": "mock/" + modelName},
		"heartbeat": object{"every": "0m"}, "memorySearch": object{"enabled": false},
	}
	if o.runtime.npm.version != packages()[runtimeOpenClaw].version {
		delete(defaults, "memorySearch") // it has another place, and is off
	}
	return object{
		"gateway": object{"mode": "local", "port": o.port, "bind": "loopback", "auth": object{"mode": "token", "token": gatewayToken},
			"http": object{"endpoints": object{"chatCompletions": object{"enabled": true}}}},
		"agents": object{
			"defaults": defaults,
			"list":     []object{{"id": o.agent, "default": true}},
		},
		"models":  object{"mode": "merge", "providers": object{"mock": provider}},
		"logging": object{"file": filepath.Join(o.home, "openclaw.log")},
	}
}

// sessions is the sessions directory of the agent.
func (o *openClaw) sessions() string {
	return filepath.Join(o.home, ".openclaw", "agents", o.agent, "sessions")
}

func (o *openClaw) log(id string) string { return filepath.Join(o.sessions(), id+".jsonl") }

// local lets OpenClaw take one turn without a gateway.
func (o *openClaw) local(ctx context.Context, say string, args ...string) {
	o.must("a turn of openclaw", o.turn(ctx, say, append(args, "--local")...))
}

// turn lets OpenClaw take one turn: through the gateway, or with --local in a
// process of its own.
func (o *openClaw) turn(ctx context.Context, say string, args ...string) error {
	args = append([]string{"agent", "--agent", o.agent, "--message", say, "--json"}, args...)
	out, err := o.output(ctx, o.workspace, filepath.Join(o.runtime.bin, "openclaw"), args...)
	if err == nil && !strings.Contains(string(out), answer[0]) {
		err = fmt.Errorf("no answer of the model: %s", lastLines(string(out)))
	}
	return err
}

// entry is what is looked at of the main session's entry in the index.
type entry struct {
	SessionID     string `json:"sessionId"`
	Label         string `json:"label"`
	ThinkingLevel string `json:"thinkingLevel"`
}

func (o *openClaw) index() map[string]json.RawMessage {
	data, err := os.ReadFile(filepath.Join(o.sessions(), "sessions.json"))
	o.must("read the index", err)
	index := map[string]json.RawMessage{}
	o.must("read the index", json.Unmarshal(data, &index))
	return index
}

func (o *openClaw) key() string { return "agent:" + o.agent + ":main" }

func (o *openClaw) entry() (e entry) {
	o.must("read the index's entry", json.Unmarshal(o.index()[o.key()], &e))
	return e
}

// fields are those of the main session's entry.
func (o *openClaw) fields() object {
	fields := object{}
	o.must("read the index's entry", json.Unmarshal(o.index()[o.key()], &fields))
	return fields
}

// set gives the entry a setting, as a user would through a client. No gateway
// may be running.
func (o *openClaw) set(name, value string) {
	index, fields := o.index(), object{}
	o.must("read the index's entry", json.Unmarshal(index[o.key()], &fields))
	fields[name] = value
	changed := object{}
	for key, raw := range index {
		changed[key] = raw
	}
	changed[o.key()] = fields
	o.must("write the index", writeFile(filepath.Join(o.sessions(), "sessions.json"), changed))
}

// checkClosed checks where the log of a session is after it was rotated.
func (o *openClaw) checkClosed(id string, lines []byte) {
	closed, err := filepath.Glob(o.log(id) + ".reset.*")
	o.must("look for the old log", err)
	same(o.stage, "the old log is closed", len(closed), 1)
	same(o.stage, "with every line", len(closed) == 1 && contains(closed[0], lines), true)
	_, err = os.Lstat(o.log(id))
	same(o.stage, "the old log is not made again", os.IsNotExist(err), true)
}
