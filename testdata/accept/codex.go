package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// playCodexCompacted restores a thread that Codex has compacted by itself, after
// its rollout was deleted: Codex resumes it from the compaction, and what it sends
// is what replay-context said that it would.
func playCodexCompacted(ctx context.Context, s *stage) {
	c := newCodex(s, "work", "model_auto_compact_token_limit = 250\n")
	c.turn(ctx, "Plan the bakery week, heron-basin-4711")
	for _, say := range []string{"Which supplier has the best rye, wren-copse?", "Who opens on Saturday, finch-lane?", "Who closes, otter-weir?"} {
		c.turn(ctx, say, "resume", "--last")
	}
	rollouts := c.rollouts()
	same(s, "there is one thread", len(rollouts), 1)
	before, err := os.ReadFile(rollouts[0])
	s.must("read the rollout", err)
	same(s, "Codex has compacted it", bytes.Contains(before, []byte(`"type":"compacted"`)), true)

	_, err = s.output(ctx, s.home, s.sessctl, "archive", "--all", "--remember")
	s.must("archive it", err)
	archives := s.archives(ctx)
	same(s, "it is in the archive", len(archives), 1)
	same(s, "what was said before the compaction is remembered", s.recalls(ctx, "heron-basin-4711"), true)
	s.must("delete the rollout", os.Remove(rollouts[0]))
	_, err = s.output(ctx, s.home, s.sessctl, "restore", archives[0])
	s.must("restore it", err)
	now, err := os.ReadFile(rollouts[0])
	same(s, "it comes back as it was", err == nil && bytes.Equal(now, before), true)
	replayed, err := s.output(ctx, s.home, s.sessctl, "replay-context", "--file", rollouts[0], "--format", "text")
	s.must("replay it", err)

	c.turn(ctx, "And what did we plan, newt-hollow?", "-c", "model_auto_compact_token_limit=100000", "resume", "--last")
	same(s, "Codex resumes it with what followed the compaction", c.sent("otter-weir", "newt-hollow"), true)
	same(s, "in the same rollout", len(c.rollouts()), 1)
	users := c.context()
	same(s, "it sends more than the new turn", len(users) > 1, true)
	for _, text := range users {
		if !strings.Contains(text, "newt-hollow") && !strings.Contains(string(replayed), strings.TrimSpace(text)) {
			s.fail("what Codex sends is replayed", fmt.Sprintf("%.200q is not", text))
			return
		}
	}
	s.pass("what Codex sends is replayed")
}

// codex is a home with the real Codex.
type codex struct {
	*stage
	dir    string
	before int // requests before the last turn
}

// newCodex makes a working directory with a name, and a configuration with these
// further lines.
func newCodex(s *stage, name, further string) *codex {
	c := &codex{stage: s, dir: filepath.Join(s.home, name)}
	home := filepath.Join(s.home, ".codex")
	s.must("make a working directory", errors.Join(os.MkdirAll(c.dir, 0o700), os.MkdirAll(home, 0o700)))
	config := fmt.Sprintf("model = %q\nmodel_provider = \"mock\"\napproval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\ncheck_for_update_on_startup = false\n"+further+"\n"+
		"[model_providers.mock]\nname = \"Mock\"\nbase_url = %q\nwire_api = \"responses\"\nrequires_openai_auth = false\n", modelName, s.model.url())
	s.must("write a configuration", os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600))
	return c
}

// turn lets Codex take one turn.
func (c *codex) turn(ctx context.Context, say string, args ...string) {
	c.before, _ = c.model.requests()
	_, err := c.output(ctx, c.dir, filepath.Join(c.runtime.bin, "codex"), append([]string{"exec", "--skip-git-repo-check"}, append(args, say)...)...)
	c.must("a turn of codex", err)
}

// sent reports whether one request of the last turn had all these words.
func (c *codex) sent(words ...string) bool {
	return slices.ContainsFunc(c.model.since(c.before), func(r request) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !r.has(word) })
	})
}

// context is what people said, and summaries, in the first request of the last
// turn, without what Codex says of the machine and of its rules.
func (c *codex) context() (said []string) {
	for _, m := range c.model.since(c.before)[0].said {
		if m.role == "user" && !strings.HasPrefix(strings.TrimSpace(m.text), "<") && !strings.HasPrefix(m.text, "# AGENTS.md") {
			_, summary, intro := strings.Cut(m.text, "Here is the summary produced by the other language model")
			if intro { // Codex introduces it; the replay says [Summary]
				m.text = summary[strings.Index(summary, "\n")+1:]
			}
			said = append(said, m.text)
		}
	}
	return said
}

// rollouts are the logs of threads.
func (c *codex) rollouts() []string {
	found, err := filepath.Glob(filepath.Join(c.home, ".codex", "sessions", "*", "*", "*", "rollout-*.jsonl"))
	c.must("look for rollouts", err)
	return found
}
