package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// playGateway tries the rotation of a session while OpenClaw's gateway runs:
// the gateway must be asked, and never while a turn goes on.
func playGateway(ctx context.Context, s *stage) {
	o := newOpenClaw(s)
	o.startGateway(ctx)
	o.ask(ctx, "Plan the bakery week")
	o.ask(ctx, "Which supplier has the best rye?")
	same(s, "two turns are one session", s.users(), 2)
	o.patch(ctx, "Week plan")
	old := o.entry()
	before, err := os.ReadFile(o.log(old.SessionID))
	s.must("read the log", err)
	time.Sleep(shortQuiet)

	quiet := []string{"--agent", o.agent, "--quiet-period", shortQuiet.String()}
	with := func(more ...string) []string { return append(more, quiet...) }
	same(s, "--gateway never leaves it alone: exit 75", s.compact(ctx, with("--gateway", "never")...).exit, 75)
	same(s, "so does a strategy the gateway does not have", s.compact(ctx, with("--strategy", "overlay")...).exit, 75)
	plan := s.compact(ctx, with("--dry-run")...)
	s.became("a dry run plans", plan, "planned")
	same(s, "to go through the gateway", plan.via(), "gateway")
	same(s, "the index is as it was", o.entry(), old)
	copied := filepath.Join(s.home, "copy")
	s.must("copy the state", os.CopyFS(filepath.Join(copied, "agents"), os.DirFS(filepath.Join(s.home, ".openclaw", "agents"))))
	time.Sleep(shortQuiet)
	other := s.compact(ctx, with("--dry-run", "--only-store", "openclaw="+copied)...)
	same(s, "another state directory has no gateway", other.via(), "files")

	done := s.compact(ctx, quiet...)
	s.became("an idle session is rotated", done, "compacted")
	same(s, "through the gateway", done.via(), "gateway")
	same(s, "every line is in the archive", contains(done.archive(), before), true)
	same(s, "nothing is left to settle", len(s.journal()), 0)
	fresh := o.entry()
	same(s, "the index names another session", fresh.SessionID != old.SessionID, true)
	same(s, "the label is kept", fresh.Label, "Week plan")
	o.ask(ctx, "Plan the next week")
	same(s, "the next turn is fresh", s.users(), 1)
	same(s, "under the gateway's id", o.entry().SessionID, fresh.SessionID)
	o.checkClosed(old.SessionID, before)
	o.playDuringTurn(ctx, quiet)
}

// playDuringTurn lets sessctl run into a turn that takes its time: until all is
// looked at, which is longer than sessctl waits for the end of one (openclaw.wait).
func (o *openClaw) playDuringTurn(ctx context.Context, quiet []string) {
	running := o.entry().SessionID
	turn := make(chan error, 1)
	n, _ := o.model.requests()
	go func() { turn <- o.turn(ctx, "slow270 Who opens on Saturday?") }()
	o.must("wait for the turn to begin", o.wait(ctx, func() bool { now, _ := o.model.requests(); return now > n }))
	same(o.stage, "during a turn the session is busy: exit 75", o.compact(ctx, quiet...).exit, 75)
	rows, err := o.call(ctx, "sessions.list", object{"agentId": o.agent, "search": o.key()})
	same(o.stage, "the gateway itself says that a turn goes on", err == nil && strings.Contains(string(rows), `"hasActiveRun": true`), true)
	same(o.stage, "the turn is still the model's", len(turn), 0)
	o.model.hurry()
	err = <-turn
	o.must("the turn ends with its answer", err)
	o.pass("the turn ends with its answer")
	same(o.stage, "in the same session", o.entry().SessionID, running)
	o.ask(ctx, "And who closes?")
	same(o.stage, "which goes on", o.users(), 3)
	o.checkOthers(ctx, quiet)
}

// checkOthers stops the gateway: the files are changed again.
func (o *openClaw) checkOthers(ctx context.Context, quiet []string) {
	o.stopAll()
	time.Sleep(shortQuiet)
	same(o.stage, "without the gateway --gateway require changes nothing", o.compact(ctx, append([]string{"--gateway", "require"}, quiet...)...).exit, 1)
	plan := o.compact(ctx, append([]string{"--dry-run"}, quiet...)...)
	same(o.stage, "and auto changes the files", plan.via(), "files")
}

// via is the way of the only session.
func (o outcome) via() string {
	if len(o.Sessions) != 1 {
		return ""
	}
	return o.Sessions[0].Via
}

// journal lists what sessctl has not settled yet.
func (s *stage) journal() []string {
	found, _ := filepath.Glob(filepath.Join(s.home, ".local", "share", "sessctl", "journal", "*.json"))
	return found
}

// startGateway starts the gateway and waits until it is ready.
func (o *openClaw) startGateway(ctx context.Context) {
	log, err := os.Create(filepath.Join(o.home, "gateway.log"))
	o.must("make a log for the gateway", err)
	defer log.Close()
	c := o.command(ctx, o.workspace, filepath.Join(o.runtime.bin, "openclaw"), "gateway", "run")
	c.Stdout, c.Stderr = log, log
	o.start(c)
	o.must("wait for the gateway", o.wait(ctx, func() bool {
		said, _ := os.ReadFile(log.Name())
		return strings.Contains(string(said), "[gateway] ready")
	}))
}

// wait waits for something to come true.
func (s *stage) wait(ctx context.Context, happened func() bool) error {
	const patience = 3 * time.Minute // of which a busy machine needs one for a gateway to start
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if happened() {
			return nil
		}
	}
	return errors.New("it did not happen within " + patience.String())
}

// ask lets OpenClaw take one turn through the gateway.
func (o *openClaw) ask(ctx context.Context, say string) {
	o.must("a turn of openclaw", o.turn(ctx, say))
}

// callPatience is for a gateway whose hooks sessctl answers on a loaded machine, in
// milliseconds; OpenClaw's own is 10 seconds.
const callPatience = "90000"

// call calls a method of the gateway.
func (o *openClaw) call(ctx context.Context, method string, parameters object) ([]byte, error) {
	encoded, err := json.Marshal(parameters)
	if err != nil {
		return nil, err
	}
	out, err := o.output(ctx, o.workspace, filepath.Join(o.runtime.bin, "openclaw"), "gateway", "call", method, "--params", string(encoded), "--json", "--timeout", callPatience)
	if err != nil {
		err = fmt.Errorf("%w%s", err, lastLines(string(out))) // with --json the reason is on stdout
	}
	return out, err
}

// patch gives the session a label, as a client does.
func (o *openClaw) patch(ctx context.Context, label string) {
	_, err := o.call(ctx, "sessions.patch", object{"key": o.key(), "label": label})
	o.must("set the label", err)
}
