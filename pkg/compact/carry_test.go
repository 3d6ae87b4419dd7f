package compact_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// lateGround is a session that was rotated while a program held its log open,
// as can happen where there are no leases.
type lateGround struct {
	*ground
	held  *os.File
	old   string // path of the receipt
	fresh string // path of the log of the session that followed
	told  []compact.LateProof
}

func newLateGround(t *testing.T, runtime string) *lateGround {
	t.Helper()
	l := &lateGround{ground: newGround(t, runtime, durable.System{NoLeases: true})}
	var err error
	l.held, err = os.OpenFile(l.live, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	t.Cleanup(func() { l.held.Close() })
	result := l.compact(l.live)
	if result.Outcome != compact.Compacted {
		t.Fatalf("result %+v", result)
	}
	l.old = result.Receipt
	l.Late = func(_ session.Rotation, p compact.LateProof) { l.told = append(l.told, p) }
	return l
}

// says adds a line to the old log.
func (l *lateGround) says(text string) {
	l.t.Helper()
	_, err := l.held.WriteString(text)
	must(l.t, err)
	l.log += text
}

const freshTurn = `{"type":"message","id":"f0000001","parentId":null,"message":{"role":"user","content":"hello"}}` + "\n" +
	`{"type":"message","id":"f0000002","parentId":"f0000001","message":{"role":"assistant","stopReason":"stop","content":"hello again"}}` + "\n"

// begins lets the runtime begin the session that follows.
func (l *lateGround) begins() {
	l.t.Helper()
	receipt, err := l.Receipts.Read(l.old)
	must(l.t, err)
	id := receipt.NewID
	l.fresh = filepath.Join(l.dir, id+".jsonl")
	if receipt.Rotation.Fresh != "" { // it is there already, at the old one's place
		l.fresh = l.live
	}
	l.write(l.fresh, fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2036-03-01T10:00:00.000Z","cwd":"/work"}`+"\n", id)+freshTurn, time.Hour)
}

// proof is what the receipt says.
func (l *lateGround) proof() compact.LateProof {
	l.t.Helper()
	receipt, err := l.Receipts.Read(l.old)
	must(l.t, err)
	if receipt.LateLines == nil {
		l.t.Fatal("the receipt says nothing of late lines")
	}
	return *receipt.LateLines
}

// wantCarried checks that the fresh log ends in these records, the first of
// which hangs on what was there, and nothing else was added.
func (l *lateGround) wantCarried(before string, records ...string) {
	l.t.Helper()
	want := before
	parent := `"parentId":"f0000002"`
	for _, r := range records {
		want += strings.Replace(r, `"parentId":null`, parent, 1)
		parent = `"parentId":"` + r[strings.Index(r, `"id":"`)+6:][:8] + `"`
	}
	if got := l.read(l.fresh); got != want {
		l.t.Fatalf("the session that followed is\n%s\nwant\n%s", got, want)
	}
}

func eachLate(t *testing.T, try func(t *testing.T, l *lateGround)) {
	for _, runtime := range bothRuntimes {
		t.Run(runtime, func(t *testing.T) { try(t, newLateGround(t, runtime)) })
	}
}

// Where a rotation leaves a fresh log, that is the session that has followed.
func TestLateLinesGoIntoTheFreshLog(t *testing.T) {
	l := newLateGround(t, session.RuntimePi)
	before := l.read(l.live)
	l.says(said(1))
	for range 2 {
		l.settle(time.Hour)
	}
	if got := l.read(l.live); got != before+said(1) || before != l.freshLog() {
		t.Fatalf("the session that followed is\n%s", got)
	}
	if p := l.proof(); p.Waiting || p.Carried != 1 || p.Into != l.live || len(l.told) != 1 || !l.archived(l.log) {
		t.Fatalf("%+v, told %v", p, l.told)
	}
}

// Late lines wait until a session has followed, are carried into it once, and
// what comes later still is carried too.
func TestLateLinesAreCarriedOnce(t *testing.T) {
	eachLate(t, func(t *testing.T, l *lateGround) {
		waits := 0
		if l.store.Runtime() == session.RuntimePi {
			l.begins()
		}
		before := l.read(l.fresh)
		l.says(said(1))
		if l.fresh == "" {
			waits = 1
			for range 2 {
				l.settle(time.Hour)
			}
			if p := l.proof(); !p.Waiting || p.Carried != 0 || len(l.told) != 1 || !l.archived(l.log) {
				t.Fatalf("before a session has followed: %+v, told %v", p, l.told)
			}
			l.begins()
			before = l.read(l.fresh)
		}
		for range 2 {
			l.settle(time.Hour)
		}
		l.wantCarried(before, said(1))
		if p := l.proof(); p.Waiting || p.Carried != 1 || p.Into != l.fresh || p.Reason != "" || p.Bytes != int64(len(said(1))) || len(l.told) != waits+1 {
			t.Fatalf("%+v, told %v", p, l.told)
		}
		l.age(l.fresh, time.Hour)
		l.says(said(2) + "damaged\n")
		l.settle(time.Hour)
		l.wantCarried(before, said(1), said(2))
		if p := l.proof(); p.Carried != 2 || p.LeftOut != 1 {
			t.Fatalf("%+v", p)
		}
		must(t, l.held.Close())
		l.settle(48 * time.Hour)
		if left := l.unsettled(); len(left) > 0 {
			t.Fatalf("left %+v", left)
		}
	})
}

// While the session that followed is in use nothing is appended to it, and the
// old log stays, longer than the grace period.
func TestLateLinesWaitForABusySession(t *testing.T) {
	for name, use := range map[string]func(l *lateGround){
		"changed just now": func(l *lateGround) { l.age(l.fresh, 0) },
		"unanswered": func(l *lateGround) {
			l.write(l.fresh, l.read(l.fresh)+`{"type":"message","id":"f0000003","parentId":"f0000002","message":{"role":"user","content":"and?"}}`+"\n", time.Hour)
		},
		"torn": func(l *lateGround) { l.write(l.fresh, l.read(l.fresh)+`{"type":"mess`, time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			eachLate(t, func(t *testing.T, l *lateGround) {
				l.says(said(1))
				must(t, l.held.Close())
				l.begins()
				use(l)
				before := l.read(l.fresh)
				l.settle(0)
				l.wantCarried(before)
				if p := l.proof(); !p.Waiting || p.Reason == "" {
					t.Fatalf("%+v", p)
				}
				if name == "changed just now" {
					return
				}
				l.settle(48 * time.Hour)
				l.wantCarried(before)
				if l.read(l.kept()) != l.log || len(l.unsettled()) != 1 {
					t.Fatal("the old log is not kept")
				}
				l.settle(compact.CarryPatience)
				if p := l.proof(); p.Waiting || p.Carried != 0 || p.Reason == "" || len(l.unsettled()) > 0 {
					t.Fatalf("after a week: %+v", p)
				}
			})
		})
	}
}

// dying is a store whose process dies in the middle of a change.
type dying struct {
	session.Carrier
	before bool // nothing of it was done
	part   int  // of the record's bytes are not there
}

func (d *dying) Shorten(ctx context.Context, s session.Shortening) error {
	if d.before {
		return errStopped
	}
	if err := d.Carrier.Shorten(ctx, s); err != nil {
		return err
	}
	return errors.Join(os.Truncate(s.Live, s.Snapshot.Size+int64(len(s.Record)-d.part)), errStopped)
}

var errStopped = errors.New("killed")

// A run that dies anywhere between the plan and the note that it is done is
// repeated, and carries nothing twice.
func TestLateLinesAreCarriedOnceWhateverDies(t *testing.T) {
	for name, c := range map[string]struct {
		dying
		gone     string // that the agent has said when the next run comes
		replaced bool   // by the agent: the same text in another file
	}{
		"before it is appended":              {dying: dying{before: true}},
		"before, and the agent went on":      {dying: dying{before: true}, gone: strings.ReplaceAll(said(7), "null", `"f0000002"`)},
		"after it":                           {},
		"after it, and the agent went on":    {gone: strings.ReplaceAll(said(7), "null", `"b0000002"`)},
		"after it, and the log was replaced": {replaced: true},
		"in the middle of the write":         {dying: dying{part: 20}},
		"with all but the line feed written": {dying: dying{part: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			eachLate(t, func(t *testing.T, l *lateGround) {
				l.says(said(1) + said(2))
				must(t, l.held.Close())
				l.begins()
				before := l.read(l.fresh)
				whole := l.store
				c.Carrier = whole.Capabilities().Carrier
				l.store = &mortal{Store: whole, dying: &c.dying}
				if err := l.trySettle(time.Hour); !errors.Is(err, errStopped) {
					t.Fatalf("error %v", err)
				}
				l.store = whole
				if left := l.unsettled(); len(left) != 1 || left[0].Late == nil || left[0].Late.Plan == nil {
					t.Fatalf("the plan is not in the journal: %+v", left)
				}
				now := l.read(l.fresh) + c.gone
				if c.replaced {
					must(t, os.Rename(l.fresh, filepath.Join(t.TempDir(), "old")))
				}
				l.write(l.fresh, now, time.Hour)
				l.age(l.fresh, 0)
				for range 3 {
					l.settle(time.Hour)
				}
				after := l.read(l.fresh)
				if !strings.HasPrefix(after, before) || strings.Count(after, "one more thing 1") != 1 || strings.Count(after, "one more thing 2") != 1 || strings.Count(after, "\n") != strings.Count(before+c.gone, "\n")+2 {
					t.Fatalf("the session that followed is\n%s", after)
				}
				if p := l.proof(); p.Waiting || p.Carried != 2 {
					t.Fatalf("%+v", p)
				}
			})
		})
	}
}

// mortal is a store with another Shorten.
type mortal struct {
	session.Store
	dying *dying
}

func (m *mortal) Capabilities() session.Capabilities {
	c := m.Store.Capabilities()
	c.Carrier, c.Shortener = m.dying, m.dying
	return c
}

// What cannot be carried stays in archive and memory, and the receipt says why.
func TestLateLinesThatCannotBeCarried(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(l *lateGround)
		want string
	}{
		"rewritten": {func(l *lateGround) {
			l.log = strings.Replace(l.log, "message number 3", "message number X", 1) + said(1)
			must(l.t, os.WriteFile(l.kept(), []byte(l.log), 0o600))
		}, "rewritten"},
		"too much": {func(l *lateGround) { l.says(strings.Replace(said(1), "thing", strings.Repeat("thing ", 100_000), 1)) }, "too many"},
		"another format": {func(l *lateGround) {
			l.says(said(1))
			l.write(l.fresh, strings.Replace(l.read(l.fresh), `"version":3`, `"version":2`, 1), time.Hour)
		}, "version 2"},
	} {
		t.Run(name, func(t *testing.T) {
			eachLate(t, func(t *testing.T, l *lateGround) {
				l.begins()
				c.do(l)
				must(t, l.held.Close())
				before := l.read(l.fresh)
				l.settle(time.Hour)
				if p := l.proof(); p.Waiting || p.Carried != 0 || !strings.Contains(p.Reason, c.want) || l.read(l.fresh) != before {
					t.Fatalf("%+v", p)
				}
				if !l.archived(l.log) {
					t.Fatal("it is not archived")
				}
				l.settle(48 * time.Hour)
				if len(l.unsettled()) > 0 {
					t.Fatal("it is not settled")
				}
			})
		})
	}
}

// A line that is never finished is left out when nobody can finish it.
func TestHalfALateLine(t *testing.T) {
	eachLate(t, func(t *testing.T, l *lateGround) {
		l.begins()
		before := l.read(l.fresh)
		l.says(said(1) + `{"type":"mess`)
		l.settle(time.Hour)
		l.wantCarried(before, said(1))
		if p := l.proof(); p.LeftOut != 0 {
			t.Fatalf("given up while it may be finished: %+v", p)
		}
		l.settle(48 * time.Hour)
		l.wantCarried(before, said(1))
		if p := l.proof(); p.LeftOut != 1 || p.Carried != 1 || !l.archived(l.log) || len(l.unsettled()) > 0 {
			t.Fatalf("%+v", p)
		}
	})
}
