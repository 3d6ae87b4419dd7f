package compact_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// store is a runtime with one log and no index: rotating moves the log aside.
type store struct {
	dir    string
	busy   error
	plan   error
	rotate error
	tokens int64
	calls  []string
	before func() // before it reads a log
}

func (s *store) Runtime() string { return "test" }
func (s *store) Root() string    { return s.dir }

// ofPi are the traits of a store whose logs are those of pi.
var ofPi = session.Traits{Formats: []session.Format{session.FormatPi, session.FormatFragment}}

func (s *store) Capabilities() session.Capabilities {
	return session.Capabilities{Traits: ofPi, Strategies: []session.Strategy{session.StrategyRotate}, Liveness: s, Rotator: s, Disposer: s}
}

func (s *store) List(context.Context) (session.Listing, error) {
	return session.Listing{}, nil
}

func (s *store) Tail(context.Context, session.Ref) (session.Tail, error) {
	return session.Tail{Tokens: s.tokens, TokenSource: session.TokensFromUsage, Answered: true}, nil
}

func (s *store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	if s.before != nil {
		s.before()
	}
	return piformat.Scan(ctx, r, o, emit)
}

func (s *store) Busy(context.Context, session.BusyQuestion) error { return s.busy }

func (s *store) PlanRotation(_ context.Context, ref session.Ref, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	return session.Rotation{Runtime: "test", Agent: ref.Agent, Session: ref.ID, Store: s.dir, Live: ref.Path, Kept: ref.Path + ".kept", At: now, Snapshot: snap}, s.plan
}

func (s *store) Rotate(_ context.Context, r session.Rotation) error {
	s.calls = append(s.calls, "rotate")
	if s.rotate != nil {
		return s.rotate
	}
	info, err := os.Lstat(r.Live)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.Snapshot.Matches(info); err != nil {
		return err
	}
	return new(durable.Pins).MoveFile(r.Live, r.Kept)
}

// Dispose implements session.Disposer.
func (s *store) Dispose(_ context.Context, r session.Rotation) error {
	s.calls = append(s.calls, "dispose")
	return durable.RemoveFile(r.Kept)
}

// archive keeps copies in memory.
type archive struct {
	copies map[string]string
	cached string // id of the one that is only in a cache
	err    error
	lie    bool
	before func() // before it reads a log
}

func (a *archive) Put(_ context.Context, ref session.Ref, snap session.Snapshot, src io.Reader) (compact.Archived, error) {
	if a.err != nil {
		return compact.Archived{}, a.err
	}
	if a.before != nil {
		a.before()
	}
	text, err := io.ReadAll(src)
	if err == nil && int64(len(text)) < snap.Size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return compact.Archived{}, err
	}
	id := fmt.Sprintf("copy%d", len(a.copies))
	a.copies[id] = string(text)
	sum := fmt.Sprintf("%x", sha256.Sum256(text))
	if a.lie {
		sum = strings.Repeat("0", 64)
	}
	return compact.Archived{ID: id, Path: "/archive/" + id, SHA256: sum, Bytes: snap.Size}, nil
}

func (a *archive) Open(_ context.Context, x compact.Archived) (io.ReadCloser, error) {
	if _, ok := a.copies[x.ID]; !ok {
		return nil, errDisk
	}
	return io.NopCloser(strings.NewReader(a.copies[x.ID])), nil
}

func (a *archive) Lasts(_ context.Context, x compact.Archived) error {
	if _, ok := a.copies[x.ID]; !ok || x.ID == a.cached {
		return errDisk
	}
	return nil
}

func (a *archive) ModTime(context.Context, compact.Archived) (time.Time, error) {
	return time.Time{}, nil
}

// mind keeps records by text, all or nothing.
type mind struct {
	records map[string]compact.Record
	err     error
	midway  error // it takes no record after the first
	pending int
	embed   error
	during  func() // while it embeds
}

func (m *mind) Remember(_ context.Context, _ session.Ref, _ compact.Origin, records iter.Seq2[compact.Record, error]) (compact.Remembered, error) {
	var done compact.Remembered
	var taken []compact.Record
	for r, err := range records {
		if err != nil {
			return done, err
		}
		if m.midway != nil {
			return done, m.midway
		}
		taken = append(taken, r)
	}
	if m.err != nil {
		return done, m.err
	}
	for _, r := range taken {
		if _, ok := m.records[r.Text]; ok {
			done.Existing++
			continue
		}
		done.Stored++
		m.records[r.Text] = r
	}
	return done, nil
}

func (m *mind) EmbedPending(context.Context, session.Ref, func(done, total int64)) (int, error) {
	if m.during != nil {
		m.during()
	}
	return m.pending, m.embed
}

// workspace is a compactor over fakes and one real log.
type workspace struct {
	*compact.Compactor
	t       *testing.T
	store   *store
	archive *archive
	mind    *mind
	ref     session.Ref
	log     string
}

var errDisk = errors.New("disk on fire")

func newWorkspace(t *testing.T, messages int) *workspace {
	t.Helper()
	dir := t.TempDir()
	h := &workspace{
		t: t, store: &store{dir: dir, tokens: 160_000}, archive: &archive{copies: map[string]string{}},
		mind: &mind{records: map[string]compact.Record{}}, log: newLog(messages),
	}
	path := filepath.Join(dir, "s1.jsonl")
	if err := os.WriteFile(path, []byte(h.log), 0o600); err != nil {
		t.Fatal(err)
	}
	h.ref = session.Ref{Runtime: "test", Agent: "a", ID: "s1", Store: dir, Path: path, Kind: session.KindLive, Primary: true, Bytes: int64(len(h.log))}
	ids := 0
	h.Compactor = &compact.Compactor{
		Archiver: h.archive, Rememberer: h.mind, Embedder: h.mind,
		Journal: compact.Journal{Dir: filepath.Join(dir, "journal")}, Receipts: compact.Receipts{Dir: filepath.Join(dir, "receipts")},
		NewID: func() string { ids++; return fmt.Sprintf("id%03d", ids) },
		Now:   func() time.Time { return time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC) },
	}
	return h
}

// newLog is a pi log of version 3 with so many messages, each different.
func newLog(messages int) string {
	var b strings.Builder
	b.WriteString(`{"type":"session","version":3,"id":"s1","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/work"}` + "\n")
	parent := "null"
	for i := range messages {
		role := `"role":"user"`
		if i%2 == 1 {
			role = `"role":"assistant","stopReason":"stop"`
		}
		fmt.Fprintf(&b, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-03-01T10:00:01.000Z","message":{%s,"content":[{"type":"text","text":"message number %d"}]}}`+"\n", i, parent, role, i)
		parent = fmt.Sprintf(`"%08x"`, i)
	}
	return b.String()
}

func (h *workspace) policy() compact.Policy {
	return compact.Policy{Limits: compact.Limits{Threshold: compact.Threshold{Tokens: 150_000}}, Quiet: time.Minute}
}

func (h *workspace) newPlan(p compact.Policy) *compact.Plan {
	h.t.Helper()
	plan, err := compact.NewPlan(context.Background(), h.store, h.ref, p, h.Now())
	if err != nil {
		h.t.Fatal(err)
	}
	return plan
}

func (h *workspace) liveLog() string {
	text, _ := os.ReadFile(h.ref.Path)
	return string(text)
}

func (h *workspace) settle() error {
	_, err := h.Settle(context.Background(), func(runtime, root string) (session.Store, bool) {
		return h.store, runtime == "test" && root == h.store.dir
	}, h.policy())
	return err
}
