package scriptcmd

import (
	"slices"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sessctl/sessctl/internal/fakeagentdb"
)

// agentdb FILE [live] [later] [cold] [damaged] writes a database with
// OpenClaw's sessions; with live the last turn is only in the write-ahead log
// beside it, with later its schema is one of tomorrow, with cold a session is
// elsewhere, with damaged row 3 of the current session cannot be decompressed.
func agentDB(ts *testscript.TestScript, neg bool, args []string) {
	story := fakeagentdb.Story(slices.Contains(args, "live"))
	if slices.Contains(args, "later") {
		story.Version = 24
	}
	if slices.Contains(args, "cold") {
		story.Cold = []string{"7b3a9d64-52c1-4f0e-8a77-0c5de1f20d77"}
	}
	for i := range story.Rows {
		if r := &story.Rows[i]; slices.Contains(args, "damaged") && r.Packed != nil {
			r.Packed = r.Packed[:len(r.Packed)/2]
		}
	}
	ts.Check(fakeagentdb.Write(ts.MkAbs(args[0]), story))
}
