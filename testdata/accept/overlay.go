package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"time"
)

// playOverlay tries a summary that is appended to a session of OpenClaw.
func playOverlay(ctx context.Context, s *stage) {
	o := newOpenClaw(s)
	o.local(ctx, "Plan the bakery week. "+strings.Repeat("The mill sends spelt on Monday and rye on Thursday. ", 100))
	for _, say := range []string{"Which supplier has the best rye?", "Who opens on Saturday?"} {
		o.local(ctx, say)
	}
	same(s, "three turns are one session", s.users(), 3)
	id := o.entry().SessionID
	before, err := os.ReadFile(o.log(id))
	s.must("read the log", err)
	time.Sleep(shortQuiet)
	done := s.compact(ctx, "--agent", o.agent, "--strategy", "overlay", "--keep-recent-tokens", "25", "--quiet-period", shortQuiet.String())
	s.became("older turns are summed up", done, "compacted")
	appended, err := os.ReadFile(o.log(id))
	s.must("read the log", err)
	same(s, "every byte that was there stays", bytes.HasPrefix(appended, before), true)
	same(s, "every line is in the archive", contains(done.archive(), before), true)

	o.local(ctx, "Who closes?")
	// the summary, one kept turn and the new one
	same(s, "the next turn sees the summary for what was said", s.users(), 3)
	same(s, "under the same id", o.entry().SessionID, id)
	same(s, "the runtime keeps the record", contains(o.log(id), appended[len(before):]), true)
}
