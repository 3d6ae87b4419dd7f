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
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/pi"
)

// ground is a compactor over a real store, with an archive and a memory that
// are fakes.
type ground struct {
	*compact.Compactor
	t       *testing.T
	store   session.Store
	archive *archive
	mind    *mind
	dir     string // of the logs
	live    string // path of the log
	log     string // what is in it
	clock   time.Time
}

var bothRuntimes = []string{session.RuntimeOpenClaw, session.RuntimePi}

// newGround makes a store of a runtime with one session that was quiet for
// two hours.
func newGround(t *testing.T, runtime string, system durable.System) *ground {
	t.Helper()
	root := t.TempDir()
	g := &ground{
		t: t, archive: &archive{copies: map[string]string{}}, mind: &mind{records: map[string]compact.Record{}},
		log: newLog(6), clock: time.Now(),
	}
	if runtime == session.RuntimePi {
		g.store = pi.Open(root).WithSystem(system)
		g.dir = filepath.Join(root, "--work--")
		g.live = filepath.Join(g.dir, "2026-03-01T10-00-00-000Z_s1.jsonl")
	} else {
		g.store = openclaw.Open(root, openclaw.Options{System: system, LockDirs: []string{t.TempDir()}})
		g.dir = filepath.Join(root, "agents", "a", "sessions")
		g.live = filepath.Join(g.dir, "s1.jsonl")
		g.write(filepath.Join(g.dir, "sessions.json"), `{"agent:a:main": {"sessionId": "s1", "updatedAt": 1772359300000}}`, 2*time.Hour)
	}
	g.write(g.live, g.log, 2*time.Hour)
	data, ids := t.TempDir(), 0
	g.Compactor = &compact.Compactor{
		Archiver: g.archive, Rememberer: g.mind, Embedder: g.mind, System: system,
		Journal: compact.Journal{Dir: filepath.Join(data, "journal")}, Receipts: compact.Receipts{Dir: filepath.Join(data, "receipts")},
		NewID: func() string { ids++; return fmt.Sprintf("id%03d", ids) },
		Now:   func() time.Time { return g.clock },
	}
	return g
}

func (g *ground) policy() compact.Policy {
	return compact.Policy{Limits: compact.Limits{Threshold: compact.Threshold{Tokens: 150_000}}, Force: true, Strategy: session.StrategyRotate, Quiet: time.Minute}
}

func (g *ground) write(path, text string, age time.Duration) {
	g.t.Helper()
	must(g.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(g.t, os.WriteFile(path, []byte(text), 0o600))
	g.age(path, age)
}

func (g *ground) age(path string, age time.Duration) {
	g.t.Helper()
	must(g.t, os.Chtimes(path, g.clock.Add(-age), g.clock.Add(-age)))
}

// ref finds a session as the command line does.
func (g *ground) ref(path string) session.Ref {
	g.t.Helper()
	listing, err := g.store.List(context.Background())
	must(g.t, err)
	for _, ref := range listing.Refs {
		if ref.Path == path {
			return ref
		}
	}
	g.t.Fatalf("%s is not listed", path)
	return session.Ref{}
}

// compact runs the whole of it for one log.
func (g *ground) compact(path string) compact.Result {
	g.t.Helper()
	plan, err := compact.NewPlan(context.Background(), g.store, g.ref(path), g.policy(), g.clock)
	must(g.t, err)
	if plan.Outcome != compact.Planned {
		return plan.Result()
	}
	result, err := g.Execute(context.Background(), g.store, plan, g.policy())
	must(g.t, err)
	return result
}

// settle is what the next run does, after some time.
func (g *ground) settle(after time.Duration) {
	g.t.Helper()
	must(g.t, g.trySettle(after))
}

func (g *ground) trySettle(after time.Duration) error {
	g.clock = g.clock.Add(after)
	_, err := g.Settle(context.Background(), func(runtime, root string) (session.Store, bool) {
		return g.store, runtime == g.store.Runtime() && root == g.store.Root()
	}, g.policy())
	return err
}

// kept returns the path of the one log that was moved aside, "" if there is none.
func (g *ground) kept() string {
	g.t.Helper()
	var found []string
	for _, mark := range []string{".reset.", ".rotated."} {
		names, err := filepath.Glob(g.live + mark + "*")
		must(g.t, err)
		found = append(found, names...)
	}
	if len(found) > 1 {
		g.t.Fatalf("several old logs: %v", found)
	}
	return strings.Join(found, "")
}

// freshLog is what the last compaction left at the log's place.
func (g *ground) freshLog() string {
	g.t.Helper()
	receipts, err := g.Receipts.List()
	must(g.t, err)
	if fresh := receipts[len(receipts)-1].Rotation.Fresh; fresh != "" {
		return fresh
	}
	return "nothing"
}

func (g *ground) read(path string) string {
	g.t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "nothing"
	}
	must(g.t, err)
	return string(text)
}

// archived reports whether a copy holds exactly this text.
func (g *ground) archived(text string) bool {
	for _, c := range g.archive.copies {
		if c == text {
			return true
		}
	}
	return false
}

// remembered reports whether a text is in memory.
func (g *ground) remembered(part string) bool {
	for text := range g.mind.records {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// unsettled are the entries of the journal.
func (g *ground) unsettled() []compact.Intent {
	g.t.Helper()
	all, err := g.Journal.List()
	must(g.t, err)
	return all
}
