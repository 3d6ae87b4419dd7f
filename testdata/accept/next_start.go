package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// After every switch the runtime's own next start, as its user makes it, finds a
// session, or sessctl has said that it leaves none. TestNextStart of internal/e2e holds
// the same for what it takes for the start of every runtime; here the real ones start.

// nextStart starts a runtime after its session was switched. It has found a session if
// it goes on with a log that was there before: the path of that is returned, "" if it
// began another, or did not start.
func (s *stage) nextStart(done outcome, logs func() []string, start func() error) (found string) {
	before := map[string]int64{}
	for _, log := range logs() {
		before[log] = sizeOf(log)
	}
	err := start()
	for _, log := range logs() {
		if was, there := before[log]; there && err == nil && sizeOf(log) != was {
			found = log
		}
	}
	said := ""
	if len(done.Sessions) == 1 {
		said = done.Sessions[0].NextStart
	}
	switch {
	case found == "" && said == "":
		s.fail("the next start", "it finds no session, and nobody has said so")
	case found != "" && said != "":
		s.fail("the next start", "it finds "+filepath.Base(found)+", and it was said: "+said)
	case found == "":
		s.pass("the next start finds no session, as was said: " + said)
	default:
		s.pass("the next start finds a session")
	}
	return found
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}

// switchByPlan compacts the one session that the arguments mean, and holds that the plan
// said the same of the next start as the run.
func (s *stage) switchByPlan(ctx context.Context, args ...string) outcome {
	time.Sleep(shortQuiet)
	args = append(args, "--quiet-period", shortQuiet.String())
	plan, done := s.compact(ctx, append(args, "--dry-run")...), s.compact(ctx, args...)
	if len(plan.Sessions) != 1 || len(done.Sessions) != 1 {
		s.fail("one session is switched", strings.Join(args, " "))
		panic(errGivenUp)
	}
	same(s, "the plan says of the next start what the run says", plan.Sessions[0].NextStart, done.Sessions[0].NextStart)
	return done
}

// strategic are the options of a strategy.
func strategic(strategy string) []string {
	if strategy == "overlay" {
		return []string{"--strategy", strategy, "--keep-recent-tokens", "25"}
	}
	return []string{"--strategy", strategy}
}

func playPiNextStartRotate(ctx context.Context, s *stage)  { playPiNextStart(ctx, s, "rotate") }
func playPiNextStartOverlay(ctx context.Context, s *stage) { playPiNextStart(ctx, s, "overlay") }

// playPiNextStart goes on with the newest session (`pi -c`), beside an older one.
func playPiNextStart(ctx context.Context, s *stage, strategy string) {
	p := twoSessionsOfPi(ctx, s)
	log := newestLog(p.logs())
	done := s.switchByPlan(ctx, append(strategic(strategy), "--session", idOfPi(log))...)
	s.became("the newest session is switched", done, "compacted")
	found := s.nextStart(done, p.logs, func() error { return p.begin(ctx, "Who closes?", "-c") })
	same(s, "that in its place", found, log)
}

// playPiNextStartOlder goes on with an older session by its id, as `pi --session` does.
func playPiNextStartOlder(ctx context.Context, s *stage) {
	p := twoSessionsOfPi(ctx, s)
	logs := p.logs()
	older := logs[0]
	if older == newestLog(logs) {
		older = logs[1]
	}
	done := s.switchByPlan(ctx, "--session", idOfPi(older), "--strategy", "rotate")
	s.became("the older session is rotated", done, "compacted")
	s.nextStart(done, p.logs, func() error { return p.begin(ctx, "More about taxes", "--session", idOfPi(older)) })
}

func twoSessionsOfPi(ctx context.Context, s *stage) *pi {
	p := newPi(s)
	p.turn(ctx, "Last month, about taxes. "+strings.Repeat("The office wants the receipts of spring and of summer. ", 100))
	p.turn(ctx, "Which of them are paid?", "-c")
	time.Sleep(1100 * time.Millisecond) // pi names logs by the millisecond, and goes by their times
	p.turn(ctx, "Today, about bread. "+strings.Repeat("The mill sends spelt on Monday and rye on Thursday. ", 100))
	p.turn(ctx, "Which supplier has the best rye?", "-c")
	p.turn(ctx, "Who opens on Saturday?", "-c")
	same(s, "there are two sessions", len(p.logs()), 2)
	if len(p.logs()) != 2 {
		panic(errGivenUp)
	}
	return p
}

// begin is a turn that may fail.
func (p *pi) begin(ctx context.Context, say string, args ...string) error {
	args = append([]string{"--provider", "mock", "--model", modelName}, append(args, "-p", say)...)
	_, err := p.output(ctx, p.dir, filepath.Join(p.runtime.bin, "pi"), args...)
	return err
}

// idOfPi is the id in the name of a log.
func idOfPi(log string) string {
	_, id, _ := strings.Cut(strings.TrimSuffix(filepath.Base(log), ".jsonl"), "_")
	return id
}

func newestLog(logs []string) (newest string) {
	var at time.Time
	for _, log := range logs {
		if info, err := os.Stat(log); err == nil && info.ModTime().After(at) {
			newest, at = log, info.ModTime()
		}
	}
	return newest
}

// playClaudeNextStart goes on with the last session (`claude --continue`).
func playClaudeNextStart(ctx context.Context, s *stage) {
	c := newClaude(s)
	c.turn(ctx, "Plan the bakery week, heron-basin")
	c.turn(ctx, "Which supplier has the best rye?", "--continue")
	done := s.switchByPlan(ctx, "--all")
	s.became("it is archived and remembered", done, "partial")
	found := s.nextStart(done, c.logs, func() error { c.turn(ctx, "Who opens on Saturday?", "--continue"); return nil })
	same(s, "the one that was compacted", len(c.logs()) == 1 && found == c.logs()[0], true)
	same(s, "with all of it", c.sent("heron-basin", "Who opens"), true)
}

// playCodexNextStart goes on with the last thread (`codex exec resume --last`).
func playCodexNextStart(ctx context.Context, s *stage) {
	c := newCodex(s, "work", "")
	c.turn(ctx, "Plan the bakery week, heron-basin")
	c.turn(ctx, "Which supplier has the best rye?", "resume", "--last")
	done := s.switchByPlan(ctx, "--all")
	s.became("it is archived and remembered", done, "partial")
	found := s.nextStart(done, c.rollouts, func() error { c.turn(ctx, "Who opens on Saturday?", "resume", "--last"); return nil })
	same(s, "the one that was compacted", len(c.rollouts()) == 1 && found == c.rollouts()[0], true)
	same(s, "with all of it", c.sent("heron-basin", "Who opens"), true)
}

// playOpenCodeNextStart goes on with the last session (`opencode run --continue`), when it
// was compacted and when its database was made smaller.
func playOpenCodeNextStart(ctx context.Context, s *stage) {
	o := newOpenCode(s, "opencode")
	first := o.begin(ctx, "Plan the bakery week, heron-basin-4711")
	time.Sleep(shortQuiet)
	done := s.compact(ctx, "--all", "--quiet-period", shortQuiet.String())
	s.became("it is archived and remembered", done, "partial")
	same(s, "nothing is said of the next start", done.Sessions[0].NextStart, "")
	o.goesOn(ctx, "after compact", first)
	shrunk := o.shrink(ctx, "journal,vacuum")
	same(s, "the journal is trimmed", shrunk.exit == 0 && shrunk.removed("events") > 0, true)
	o.goesOn(ctx, "after shrink", first)
}

func (o *openCode) goesOn(ctx context.Context, when, id string) {
	messages := func() string { return o.query(ctx, "SELECT COUNT(*) FROM message WHERE session_id = '"+id+"'") }
	before := messages()
	if err := o.called(ctx, "run", "--model", "mock/"+modelName, "--continue", "Who opens on Saturday?").Run(); err != nil {
		o.fail("the next start "+when, err.Error())
		return
	}
	same(o.stage, "the next start "+when+" goes on with that session", messages() != before, true)
	same(o.stage, "and begins no other", o.query(ctx, "SELECT COUNT(*) FROM session WHERE parent_id IS NULL"), "1")
}

func playOpenClawNextStartRotate(ctx context.Context, s *stage) {
	playOpenClawNextStart(ctx, s, "rotate")
}

func playOpenClawNextStartOverlay(ctx context.Context, s *stage) {
	playOpenClawNextStart(ctx, s, "overlay")
}

// playOpenClawNextStart sends the agent a message: it goes on with the session that the
// index names, whose log the first turn makes after a rotation.
func playOpenClawNextStart(ctx context.Context, s *stage, strategy string) {
	o := newOpenClaw(s)
	o.local(ctx, "Plan the bakery week. "+strings.Repeat("The mill sends spelt on Monday and rye on Thursday. ", 100))
	o.local(ctx, "Which supplier has the best rye?")
	o.local(ctx, "Who opens on Saturday?")
	was := o.entry().SessionID
	done := s.switchByPlan(ctx, append(strategic(strategy), "--agent", o.agent)...)
	s.became("it is switched", done, "compacted")
	named := o.entry().SessionID
	same(s, "another session is named only where the old one was put aside", named != was, strategy == "rotate")
	s.nextStart(done, func() []string { return []string{o.log(named)} }, func() error { o.local(ctx, "Who closes?"); return nil })
	same(s, "that which the index names", o.entry().SessionID, named)
}
