package smallpackages_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// adapter is a store as far as a clean asks it anything.
type adapter struct {
	session.Store
	busy       string            // id of a session that somebody uses
	companions map[string]string // a path that belongs to a session, by its id
	asked      int               // how often it was asked for what belongs to sessions
}

func (a *adapter) Capabilities() session.Capabilities {
	return session.Capabilities{Traits: session.Traits{Formats: []session.Format{session.FormatUnknown}}, Liveness: a, Family: a}
}

func (a *adapter) Tail(context.Context, session.Ref) (session.Tail, error) {
	return session.Tail{}, nil
}

func (a *adapter) Scan(context.Context, io.Reader, session.ScanOptions, func(*session.Message) error) (session.Scan, error) {
	return session.Scan{}, nil
}

func (a *adapter) Busy(_ context.Context, q session.BusyQuestion) error {
	if q.Ref.ID == a.busy {
		return &session.BusyError{Path: q.Ref.Path, Reason: "somebody uses it"}
	}
	return nil
}

func (a *adapter) Companions(_ context.Context, refs []session.Ref) []session.Companions {
	a.asked++
	all := make([]session.Companions, len(refs))
	for i, ref := range refs {
		if path := a.companions[ref.ID]; path != "" {
			all[i].Paths = []string{path}
		}
	}
	return all
}

// room is a directory of sessions, an archive and a clean of both.
type room struct {
	t        *testing.T
	dir      string
	adapter  *adapter
	archives *archive.Store
	clean    retention.Clean
	sessions []retention.Session

	remembered []string
	forgetful  error // why nothing can be remembered
}

func newRoom(t *testing.T) *room {
	t.Helper()
	dir := t.TempDir()
	archives, err := archive.Open(filepath.Join(dir, "catalogue"), archive.Options{
		Dir: func(archive.Meta) string { return filepath.Join(dir, "archive") }, Compression: archive.CompressionNone, ToolVersion: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &room{t: t, dir: dir, archives: archives, adapter: &adapter{companions: map[string]string{}}}
	r.clean = retention.Clean{
		Archives: archives, Copy: r.copy, Remember: r.remember, Trash: retention.Trash{Dir: filepath.Join(dir, "trash")}, Audit: retention.Audit{Path: filepath.Join(dir, "audit.jsonl")},
		Now: func() time.Time { return retentionNow }, MaxAge: 7 * 24 * time.Hour, Grace: 7 * 24 * time.Hour, Rule: "test", Force: true,
	}
	return r
}

func (r *room) path(name string) string { return filepath.Join(r.dir, "sessions", name) }

// file makes a file that is so many days old.
func (r *room) file(name string, days int) string {
	path, at := r.path(name), retentionNow.AddDate(0, 0, -days)
	write(r.t, path, "what "+name+" says\n")
	if err := os.Chtimes(path, at, at); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// session makes a log that is so many days old.
func (r *room) session(id string, days int) {
	path := r.file(id+".jsonl", days)
	info, err := os.Stat(path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.sessions = append(r.sessions, retention.Session{Adapter: r.adapter, Ref: session.Ref{
		Runtime: "test", Agent: "a", ID: id, Store: r.path(""), Path: path, Kind: session.KindLive, ModTime: info.ModTime(), Bytes: info.Size(),
	}})
}

func (r *room) copy(ctx context.Context, ref session.Ref) (archive.Entry, error) {
	text, err := os.ReadFile(ref.Path)
	if err != nil {
		return archive.Entry{}, err
	}
	meta := archive.Meta{Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID, Source: ref.Path, Kind: string(ref.Kind), Reason: "test"}
	return r.archives.Put(ctx, meta, strings.NewReader(string(text)), int64(len(text)), retentionNow)
}

// remember notes which logs were remembered, or fails as it is told to.
func (r *room) remember(_ context.Context, log retention.Session, e archive.Entry) error {
	r.remembered = append(r.remembered, log.ID+" "+e.Session)
	return r.forgetful
}

func (r *room) plan() *retention.CleanPlan {
	r.t.Helper()
	plan, err := r.clean.Plan(context.Background(), r.sessions)
	if err != nil {
		r.t.Fatal(err)
	}
	return plan
}

// names are the files beside the trash, of which the names do not matter.
func (r *room) names() (names []string) {
	entries, err := os.ReadDir(r.path(""))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func reasons(plan *retention.CleanPlan) map[string]string {
	got := map[string]string{}
	for _, s := range plan.Sessions {
		got[s.ID] = s.Verdict.Reason
		if s.Verdict.Goes {
			got[s.ID] = fmt.Sprintf("goes with %d files", len(s.Files))
		}
	}
	return got
}

func TestRetentionClean(t *testing.T) {
	ctx := context.Background()
	r := newRoom(t)
	for id, days := range map[string]int{"new": 0, "old": 30, "used": 30, "grows": 30, "young": 3} {
		r.session(id, days)
	}
	r.adapter.busy, r.adapter.companions["old"] = "used", r.file("old.side", 30)
	plan := r.plan()
	want := map[string]string{
		"new": "among the newest of its agent", "young": "not old enough", "used": "busy: somebody uses it",
		"old": "goes with 2 files", "grows": "goes with 1 files",
	}
	if diff := cmp.Diff(want, reasons(plan)); diff != "" {
		t.Fatal(diff)
	}
	if n := len(r.names()); n != 6 {
		t.Fatalf("the plan has changed something: %d files", n)
	}
	write(t, r.path("grows.jsonl"), "what grows.jsonl says\nand one line more\n")
	result, err := r.clean.Execute(ctx, plan)
	if err != nil || result.Busy != 1 || result.Failed != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	if diff := cmp.Diff([]string{"grows.jsonl", "new.jsonl", "used.jsonl", "young.jsonl"}, r.names()); diff != "" {
		t.Error(diff)
	}
	want["grows"] = "busy: 18 bytes were added to it"
	if diff := cmp.Diff(want, reasons(plan)); diff != "" {
		t.Error(diff)
	}
	entries, err := r.archives.List(ctx, archive.Filter{})
	if err != nil || len(entries) != 3 {
		t.Errorf("%d archives, %v", len(entries), err)
	}
	lines, err := r.clean.Audit.Lines()
	if err != nil || len(lines) != 2 || lines[1].Path != r.path("old.jsonl") || lines[1].Action != retention.ActionTrash || lines[1].Archive == "" {
		t.Errorf("the log goes last: %+v, %v", lines, err)
	}
}

// What was deleted comes back, but not over another file; what has waited long
// enough goes for good, but not without its archive.
func TestRetentionCleanUndeletesAndPurges(t *testing.T) {
	ctx := context.Background()
	r := newRoom(t)
	for id, days := range map[string]int{"new": 0, "one": 30, "two": 30, "three": 30} {
		r.session(id, days)
	}
	if _, err := r.clean.Execute(ctx, r.plan()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.clean.Trashed("nobody"); !errors.Is(err, retention.ErrNotInTrash) {
		t.Error(err)
	}
	undelete := func(id string) error {
		items, err := r.clean.Trashed(id)
		if err != nil || len(items) != 1 {
			t.Fatalf("%s: %v, %v", id, items, err)
		}
		return r.clean.Undelete(items[0])
	}
	if err := undelete("one"); err != nil {
		t.Error(err)
	}
	write(t, r.path("two.jsonl"), "another")
	if err := undelete("two"); !errors.Is(err, fs.ErrExist) {
		t.Error("a file that is there was replaced:", err)
	}
	entries, err := r.archives.List(ctx, archive.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Session == "three" {
			write(t, e.Path, "damaged")
		}
	}
	r.clean.Now = func() time.Time { return retentionNow.Add(2 * 7 * 24 * time.Hour) }
	r.sessions = nil
	result, err := r.clean.Execute(ctx, r.plan())
	if err != nil || result.Failed != 1 || len(result.Kept) != 1 || filepath.Base(result.Kept[0].Item.From) != "three.jsonl" {
		t.Errorf("%+v, %v", result, err)
	}
	items, err := r.clean.Trash.List()
	if err != nil || len(items) != 1 || items[0].ID != result.Kept[0].Item.ID {
		t.Errorf("%+v, %v", items, err)
	}
}

// A log that is made again and deleted again within a second waits beside the first.
func TestRetentionCleanTwiceInASecond(t *testing.T) {
	r := newRoom(t)
	for i := range 2 {
		r.clean.Now = func() time.Time { return retentionNow.Add(time.Duration(i) * time.Millisecond) }
		r.sessions = nil
		r.session("new", 0)
		r.session("one", 30+i)
		if result, err := r.clean.Execute(t.Context(), r.plan()); err != nil || result.Failed != 0 {
			t.Fatalf("deletion %d: %+v, %v", i+1, result, err)
		}
	}
	items, err := r.clean.Trash.List()
	if err != nil || len(items) != 2 {
		t.Errorf("the trash has %+v (%v), want both", items, err)
	}
}

// A file that a killed run has recorded and not moved was not deleted.
func TestRetentionCleanRecovers(t *testing.T) {
	r := newRoom(t)
	path := r.file("one.jsonl", 30)
	item := retention.Item{ID: "one", Kind: "session", From: path, To: retention.Place(path, "one"), At: retentionNow, Until: retentionNow}
	if err := errors.Join(r.clean.Trash.Put(item), r.clean.Recover()); err != nil {
		t.Fatal(err)
	}
	if items, err := r.clean.Trash.List(); err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	if err := errors.Join(r.clean.Trash.TakeBack(item), r.clean.Recover()); err != nil {
		t.Fatal(err)
	}
	if items, err := r.clean.Trash.List(); err != nil || len(items) != 0 {
		t.Error(items, err)
	}
	if diff := cmp.Diff([]string{"one.jsonl"}, r.names()); diff != "" {
		t.Error(diff)
	}
}

func TestRetentionPrune(t *testing.T) {
	ctx := context.Background()
	r := newRoom(t)
	put := func(session, text string, days int) archive.Entry {
		t.Helper()
		meta := archive.Meta{Runtime: "test", Agent: "a", Session: session, Source: r.path(session + ".jsonl"), Kind: "live", Reason: "test"}
		e, err := r.archives.Put(ctx, meta, strings.NewReader(text), int64(len(text)), retentionNow.AddDate(0, 0, -days))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	older, only, inLog := put("one", "a\n", 40), put("two", "b\n", 40), put("three", "what three.jsonl says\n", 40)
	put("one", "a\nb\n", 1)
	r.session("three", 1)
	p := retention.Prune{
		Archives: r.archives, Trash: retention.Trash{Dir: filepath.Join(r.dir, "trash", "archives")}, Audit: r.clean.Audit, Now: r.clean.Now,
		MaxAge: 7 * 24 * time.Hour, Grace: 7 * 24 * time.Hour, Rule: "test", Logs: []session.Ref{r.sessions[0].Ref},
	}
	verdict := func(e archive.Entry) retention.Verdict {
		t.Helper()
		plan, err := p.Plan(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range plan.Archives {
			if a.Entry.ID == e.ID {
				return a.Verdict
			}
		}
		t.Fatalf("no verdict on %s", e.ID)
		return retention.Verdict{}
	}
	for _, e := range []archive.Entry{older, inLog} {
		if v := verdict(e); !v.Goes {
			t.Errorf("%+v stays", v)
		}
	}
	if v := verdict(only); v.Goes {
		t.Errorf("the only copy goes: %+v", v)
	}
	p.Leaving = map[string]bool{r.path("three.jsonl"): true}
	if v := verdict(inLog); v.Goes {
		t.Errorf("its log leaves too: %+v", v)
	}
	p.Remembered = func(context.Context, archive.Entry) (bool, error) { return false, nil }
	if v := verdict(only); v.Goes {
		t.Errorf("memory does not have it: %+v", v)
	}
	p.Remembered = func(context.Context, archive.Entry) (bool, error) { return false, retention.ErrNotRemembered }
	if v := verdict(only); v.Goes || v.Reason != "the only copy, and memory does not have what it says" {
		t.Errorf("there is no memory: %+v", v)
	}
	p.Remembered = nil
	plan, err := p.Plan(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Execute(ctx, plan); err != nil {
		t.Fatal(err)
	}
	if e, err := r.archives.Get(ctx, older.ID); err != nil || e.SupersededBy == "" || e.Path == older.Path || r.archives.Verify(ctx, e) != nil {
		t.Error("it cannot be read in the later one:", e, err)
	}
	if deleted, err := p.Audit.DeletedArchives(); err != nil || len(deleted) != 1 || deleted[older.ID].IsZero() {
		t.Error(deleted, err)
	}
	if _, err := p.Undelete(ctx, older.ID); err != nil {
		t.Fatal(err)
	}
	if e, err := r.archives.Get(ctx, older.ID); err != nil || r.archives.Verify(ctx, e) != nil {
		t.Error(e, err)
	}
	if deleted, err := p.Audit.DeletedArchives(); err != nil || len(deleted) != 0 {
		t.Error(deleted, err)
	}
}

// A companion that has a second name somewhere goes like any other, and for good
// in the end. The other name stays.
func TestRetentionCleanOfAFileWithTwoNames(t *testing.T) {
	ctx := context.Background()
	r := newRoom(t)
	r.session("new", 0)
	r.session("old", 30)
	side, second := r.file("old.side", 30), filepath.Join(t.TempDir(), "second")
	if err := os.Link(side, second); err != nil {
		t.Skip("no hard links:", err)
	}
	r.adapter.companions["old"] = side
	for _, at := range []time.Time{retentionNow, retentionNow.Add(2 * 7 * 24 * time.Hour)} {
		r.clean.Now = func() time.Time { return at }
		if result, err := r.clean.Execute(ctx, r.plan()); err != nil || result.Busy+result.Failed+len(result.Kept) > 0 {
			t.Fatalf("%+v, %v", result, err)
		}
		r.sessions = r.sessions[:1]
	}
	if items, err := r.clean.Trash.List(); err != nil || len(items) > 0 {
		t.Errorf("still in the trash: %+v, %v", items, err)
	}
	if _, err := os.Lstat(second); err != nil {
		t.Error(err)
	}
}

// A record whose disk is not mounted stays until one can look.
func TestRetentionPurgeWaitsForADirectoryThatIsAway(t *testing.T) {
	r := newRoom(t)
	r.session("old", 30)
	r.session("new", 0)
	if _, err := r.clean.Execute(t.Context(), r.plan()); err != nil {
		t.Fatal(err)
	}
	r.clean.Now = func() time.Time { return retentionNow.Add(30 * 24 * time.Hour) }
	r.sessions = nil
	away := r.path("") + ".away"
	if err := os.Rename(r.path(""), away); err != nil {
		t.Fatal(err)
	}
	if err := r.clean.Recover(); err != nil {
		t.Fatal(err)
	}
	result, err := r.clean.Execute(t.Context(), r.plan())
	if items, listErr := r.clean.Trash.List(); err != nil || listErr != nil || result.Failed != 0 || len(result.Kept) != 1 || len(items) != 1 {
		t.Fatalf("%+v, %v; the trash has %v, %v", result, err, items, listErr)
	}
	if err := os.Rename(away, r.path("")); err != nil {
		t.Fatal(err)
	}
	result, err = r.clean.Execute(t.Context(), r.plan())
	if items, listErr := r.clean.Trash.List(); err != nil || listErr != nil || len(result.Kept) != 0 || len(items) != 0 {
		t.Fatalf("%+v, %v; the trash has %v, %v", result, err, items, listErr)
	}
}

// Nothing leaves for good before the audit log says so.
func TestRetentionPurgeTellsTheAuditLogFirst(t *testing.T) {
	r := newRoom(t)
	r.session("old", 30)
	r.session("new", 0)
	if _, err := r.clean.Execute(t.Context(), r.plan()); err != nil {
		t.Fatal(err)
	}
	items, err := r.clean.Trash.List()
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	r.clean.Now = func() time.Time { return retentionNow.Add(30 * 24 * time.Hour) }
	r.sessions, r.clean.Audit.Path = nil, r.dir // a directory: nothing can be appended to it
	if _, err := r.clean.Execute(t.Context(), r.plan()); err == nil {
		t.Error("the audit log could not be written, and nobody was told")
	}
	if _, err := os.Stat(items[0].To); err != nil {
		t.Error("removed without a line in the audit log:", err)
	}
}

// What belongs to the sessions of a store is asked for once, however many there
// are: a store then reads a directory once for all that lie in it.
func TestRetentionCompanionsAreAskedForTogether(t *testing.T) {
	r := newRoom(t)
	for i := range 40 {
		r.session(fmt.Sprintf("s%02d", i), 30+i)
	}
	p, err := r.clean.Plan(t.Context(), r.sessions)
	if err != nil || len(p.Going()) != 39 || r.adapter.asked != 1 {
		t.Errorf("%d go, asked %d times: %v", len(p.Going()), r.adapter.asked, err)
	}
}

// What goes is remembered first, its companions are not; what cannot be
// remembered stays.
func TestRetentionCleanRemembersFirst(t *testing.T) {
	r := newRoom(t)
	r.session("new", 1)
	r.session("old", 30)
	r.adapter.companions["old"] = r.file("old.trace", 30)
	r.forgetful = errors.New("memory is damaged")
	plan := r.plan()
	result, err := r.clean.Execute(t.Context(), plan)
	if diff := cmp.Diff([]string{"new.jsonl", "old.jsonl", "old.trace"}, r.names()); err != nil || result.Failed != 1 || diff != "" {
		t.Error(err, result, diff)
	}
	if got := reasons(plan)["old"]; !strings.Contains(got, "cannot be remembered: memory is damaged") {
		t.Error(got)
	}
	r.forgetful, r.remembered = nil, nil
	if result, err = r.clean.Execute(t.Context(), r.plan()); err != nil || result.Failed != 0 {
		t.Error(err, result)
	}
	if diff := cmp.Diff([]string{"old old"}, r.remembered); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"new.jsonl"}, r.names()); diff != "" {
		t.Error(diff)
	}
}

// One run takes at most half of an agent's sessions, the oldest, and the next ones go
// on until only the newest is left. Force takes all, but nothing that was used within
// a day.
func TestRetentionCleanMovesOn(t *testing.T) {
	r := newRoom(t)
	r.clean.Force = false
	for i, agent := range []string{"a", "a", "a", "a", "b", "b", "b", "b"} {
		id := fmt.Sprintf("%s%d", agent, i)
		r.session(id, []int{1, 30, 40, 50, 1, 2, 3, 40}[i])
		r.sessions[i].Agent = agent
	}
	plan := r.plan()
	got := reasons(plan)
	if diff := cmp.Diff([]retention.Waiting{{Owner: "test a", Count: 1}}, plan.Waiting); diff != "" || got["a3"] != "goes with 1 files" || got["a2"] != "goes with 1 files" || got["a1"] != session.ReasonKeepHalf.Text() || got["b7"] != "goes with 1 files" {
		t.Error(diff, got)
	}
	r.clean.Force = true
	if plan := r.plan(); len(plan.Waiting) > 0 || reasons(plan)["a1"] != "goes with 1 files" {
		t.Error(plan.Waiting, reasons(plan))
	}
	r.clean.Force = false
	r.sessions = append(r.sessions[:2:2], r.sessions[4:]...) // as after the first run
	if plan := r.plan(); len(plan.Waiting) > 0 || reasons(plan)["a1"] != "goes with 1 files" {
		t.Error("the second run does not go on:", plan.Waiting, reasons(plan))
	}
	r.clean.Force, r.clean.MaxAge = true, time.Hour
	r.file("b5.jsonl", 0)
	if got := reasons(r.plan()); got["b5"] != "b5.jsonl was changed within a day" {
		t.Error(got)
	}
}
