package smallpackages_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

var errGone = errors.New("it is not there, or has other bytes")

// offSiteHome is a store of archives and what object storage has of them.
type offSiteHome struct {
	*archive.Store
	t      *testing.T
	dir    string
	now    time.Time
	whole  map[string]bool // by id: a copy is there, and whole
	rotten map[string]bool // by id: its bytes are others, its checksum is as before
	cached map[string]bool // by id: it was fetched once, and is kept
	texts  map[string][]byte
	looked int
}

func newOffSiteHome(t *testing.T) *offSiteHome {
	t.Helper()
	dir := t.TempDir()
	h := &offSiteHome{t: t, dir: dir, now: retentionNow, whole: map[string]bool{}, rotten: map[string]bool{}, cached: map[string]bool{}, texts: map[string][]byte{}}
	var err error
	h.Store, err = archive.Open(filepath.Join(dir, "data", "archives"), archive.Options{
		Dir: func(archive.Meta) string { return filepath.Join(dir, "data", "archive") },
		Fetch: func(_ context.Context, e archive.Entry) (*os.File, error) {
			if !h.whole[e.ID] && !h.cached[e.ID] {
				return nil, errGone
			}
			path := filepath.Join(t.TempDir(), e.ID)
			return os.Open(path + h.written(path, h.texts[e.ID]))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *offSiteHome) written(path string, text []byte) string {
	if err := os.WriteFile(path, text, 0o600); err != nil {
		h.t.Error(err)
	}
	return ""
}

// put archives a session of so many lines, made so long ago.
func (h *offSiteHome) put(session string, lines int, age time.Duration) archive.Entry {
	h.t.Helper()
	text := []byte(strings.Repeat("a line of "+session+"\n", lines))
	e, err := h.Put(h.t.Context(), archive.Meta{Runtime: "pi", Agent: "a", Session: session, Source: session + ".jsonl"}, bytes.NewReader(text), int64(len(text)), h.now.Add(-age))
	if err != nil {
		h.t.Fatal(err)
	}
	h.texts[e.ID] = text
	return e
}

// recorded says in the catalogue that a copy is off-site; whether it is, whole says.
func (h *offSiteHome) recorded(e archive.Entry, whole bool) {
	h.t.Helper()
	h.whole[e.ID] = whole
	if _, err := h.NoteRemote(h.t.Context(), e, archive.Remote{URL: "s3://b/" + e.ID, SHA256: e.StoredSHA256, Bytes: e.StoredBytes, CheckedAt: h.now}); err != nil {
		h.t.Fatal(err)
	}
}

// log is a log that has the bytes of an archive.
func (h *offSiteHome) log(e archive.Entry) []session.Ref {
	path := filepath.Join(h.dir, e.Session+".jsonl")
	h.written(path, h.texts[e.ID])
	return []session.Ref{{Runtime: e.Runtime, Agent: e.Agent, ID: e.Session, Path: path, Bytes: e.Bytes}}
}

func (h *offSiteHome) prune(change func(*retention.Prune)) *retention.PrunePlan {
	h.t.Helper()
	p := h.rules()
	change(&p)
	plan, err := p.Plan(h.t.Context())
	if err == nil {
		err = errors.Join(p.Recover(h.t.Context()), p.Execute(h.t.Context(), plan))
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return plan
}

func (h *offSiteHome) rules() retention.Prune {
	return retention.Prune{
		Archives: h.Store, Trash: retention.Trash{Dir: filepath.Join(h.dir, "data", "trash")}, Audit: retention.Audit{Path: filepath.Join(h.dir, "data", "audit.jsonl")},
		Now: func() time.Time { return h.now }, MaxAge: retention.Never, Keep: 3, LocalKeep: 30 * 24 * time.Hour, Rule: "archives prune",
		OffSite: func(_ context.Context, e archive.Entry) (archive.Remote, error) {
			h.looked++
			if !h.whole[e.ID] || e.Remote == nil {
				return archive.Remote{}, errGone
			}
			r := *e.Remote
			r.CheckedAt = h.now
			return r, nil
		},
		ReadOffSite: func(_ context.Context, e archive.Entry) error {
			if !h.whole[e.ID] || h.rotten[e.ID] {
				return errGone
			}
			return nil
		},
	}
}

// safe reports whether the bytes of an archive are in a file that is no trash, or
// in an archive that is whole off-site and known to the catalogue.
func (h *offSiteHome) safe(id string) bool {
	for other, text := range h.texts {
		if _, err := h.Get(h.t.Context(), other); err == nil && h.whole[other] && bytes.HasPrefix(text, h.texts[id]) {
			return true
		}
	}
	found := false
	_ = filepath.WalkDir(filepath.Join(h.dir, "data", "archive"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == retention.DirName {
			return filepath.SkipDir
		}
		if text, err := os.ReadFile(path); err == nil && bytes.HasPrefix(text, h.texts[id]) {
			found = true
		}
		return nil
	})
	return found
}

// The file of an archive that is off-site goes, into the trash first; the archive
// stays in the catalogue and is read from the storage; it can be brought back.
func TestRetentionLocalKeep(t *testing.T) {
	const day = 24 * time.Hour
	h := newOffSiteHome(t)
	old, young, unsent, lost := h.put("old", 5, 31*day), h.put("young", 5, 29*day), h.put("unsent", 5, 31*day), h.put("lost", 5, 31*day)
	h.recorded(old, true)
	h.recorded(young, true)
	h.recorded(lost, false)
	_ = unsent
	plan := h.prune(func(*retention.Prune) {})
	var going []string
	for _, a := range plan.Archives {
		if a.Verdict.Goes {
			going = append(going, a.Entry.Session)
		} else if a.Verdict.Reason == "" {
			t.Errorf("%s stays, and nothing says why", a.Entry.Session)
		}
	}
	if !slices.Equal(going, []string{"old"}) || h.looked != 2 {
		t.Fatalf("%v go, the storage was asked %d times", going, h.looked)
	}
	if h.Here(old) || !h.Here(young) || !h.Here(unsent) || !h.Here(lost) {
		t.Error("other files are here than should be")
	}
	r, err := h.OpenEntry(t.Context(), old)
	if err != nil {
		entered, _ := h.Get(t.Context(), old.ID)
		r, err = h.OpenEntry(t.Context(), entered)
	}
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); err != nil || !bytes.Equal(text, h.texts[old.ID]) {
		t.Errorf("read %d bytes, %v", len(text), err)
	}
	r.Close()

	p := h.rules()
	items, err := p.Trash.List()
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	if deleted, err := p.Audit.DeletedArchives(); err != nil || len(deleted) != 0 {
		t.Errorf("the archive counts as deleted: %v", err)
	}
	if _, err := p.Undelete(t.Context(), items[0].ID); err != nil || !h.Here(old) {
		t.Errorf("it was not brought back: %v", err)
	}
}

// What has left the disk is removed from the trash only while its copy is whole.
func TestRetentionLocalKeepPurge(t *testing.T) {
	const day = 24 * time.Hour
	h := newOffSiteHome(t)
	e := h.put("s", 5, 31*day)
	h.recorded(e, true)
	h.prune(func(p *retention.Prune) { p.Grace = 7 * day })
	h.now = h.now.Add(8 * day)
	h.whole[e.ID] = false // somebody has removed it
	if plan := h.prune(func(*retention.Prune) {}); len(plan.Purge) != 1 || plan.Purge[0].Goes {
		t.Fatalf("%+v", plan.Purge)
	}
	h.whole[e.ID] = true
	if plan := h.prune(func(*retention.Prune) {}); len(plan.Purge) != 1 || !plan.Purge[0].Goes {
		t.Fatalf("%+v", plan.Purge)
	}
	if !h.safe(e.ID) {
		t.Error("it is lost")
	}
}

// A copy that was whole when the plan was made and is gone when it is executed keeps
// the file in the trash.
func TestRetentionLocalKeepPurgeLooksAgain(t *testing.T) {
	const day = 24 * time.Hour
	h := newOffSiteHome(t)
	e := h.put("s", 5, 31*day)
	h.recorded(e, true)
	h.prune(func(p *retention.Prune) { p.Grace = 7 * day })
	h.now = h.now.Add(8 * day)
	p := h.rules()
	plan, err := p.Plan(t.Context())
	if err != nil || len(plan.Purge) != 1 || !plan.Purge[0].Goes {
		t.Fatalf("%+v: %v", plan.Purge, err)
	}
	h.whole[e.ID] = false // while the user was asked
	if err := p.Execute(t.Context(), plan); err == nil {
		t.Error("a copy that is gone is not told")
	}
	if _, err := os.Stat(plan.Purge[0].Item.To); err != nil {
		t.Errorf("the last copy was removed: %v", err)
	}
}

// The file in the trash is not removed because of a copy of it that was fetched and
// is kept, or because of a log, which its runtime removes when it likes.
func TestRetentionLocalKeepPurgeLeansOnTheStorage(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		change func(h *offSiteHome, e archive.Entry, p *retention.Prune)
		goes   bool
	}{
		"fetched":          {func(h *offSiteHome, e archive.Entry, _ *retention.Prune) { h.cached[e.ID] = true }, false},
		"fetched, no look": {func(h *offSiteHome, e archive.Entry, p *retention.Prune) { h.cached[e.ID], p.OffSite = true, nil }, false},
		"in the log":       {func(h *offSiteHome, e archive.Entry, p *retention.Prune) { p.Logs = h.log(e) }, false},
		"a longer archive": {func(h *offSiteHome, _ archive.Entry, _ *retention.Prune) { h.put("s", 6, 0) }, false}, // show could not read the entry any more
		"archived again":   {func(h *offSiteHome, _ archive.Entry, _ *retention.Prune) { h.put("s", 5, 0) }, true},
		"rotten":           {func(h *offSiteHome, e archive.Entry, _ *retention.Prune) { h.whole[e.ID], h.rotten[e.ID] = true, true }, false}, // its checksum is answered as before
		"whole again":      {func(h *offSiteHome, e archive.Entry, _ *retention.Prune) { h.whole[e.ID] = true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newOffSiteHome(t)
			e := h.put("s", 5, 31*day)
			h.recorded(e, true)
			h.prune(func(p *retention.Prune) { p.Grace = 0 })
			h.now = h.now.Add(time.Hour)
			h.whole[e.ID] = false // somebody has removed it
			plan := h.prune(func(p *retention.Prune) { c.change(h, e, p) })
			if len(plan.Purge) != 1 || plan.Purge[0].Goes != c.goes {
				t.Errorf("%+v", plan.Purge)
			}
		})
	}
}

// An archive in the trash whose bytes a longer one has, which is only off-site, is
// removed for good only if that one is seen to be whole there.
func TestRetentionPurgeLooksAtTheCopy(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		change func(h *offSiteHome, longer archive.Entry, p *retention.Prune)
		goes   bool
	}{
		"whole":   {func(*offSiteHome, archive.Entry, *retention.Prune) {}, true},
		"gone":    {func(h *offSiteHome, longer archive.Entry, _ *retention.Prune) { h.whole[longer.ID] = false }, false},
		"rotten":  {func(h *offSiteHome, longer archive.Entry, _ *retention.Prune) { h.rotten[longer.ID] = true }, false},
		"no look": {func(_ *offSiteHome, _ archive.Entry, p *retention.Prune) { p.OffSite = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newOffSiteHome(t)
			h.put("s", 5, 100*day)
			longer := h.put("s", 8, 99*day)
			h.prune(func(p *retention.Prune) { p.LocalKeep, p.MaxAge, p.Keep, p.Grace = 0, 90*day, 1, 2*day })
			h.recorded(longer, true)
			h.prune(func(p *retention.Prune) { p.Grace = 30 * day })
			if h.Here(longer) {
				t.Fatal("the longer one did not leave the disk")
			}
			h.now = h.now.Add(3 * day)
			h.cached[longer.ID] = true
			plan := h.prune(func(p *retention.Prune) { c.change(h, longer, p) })
			if len(plan.Purge) != 1 || plan.Purge[0].Goes != c.goes {
				t.Errorf("%+v", plan.Purge)
			}
		})
	}
}

// By age, too, a copy that is off-site is another copy; without one the last stays.
func TestRetentionPruneCountsOffSite(t *testing.T) {
	const day = 24 * time.Hour
	h := newOffSiteHome(t)
	sent, unsent := h.put("sent", 5, 100*day), h.put("unsent", 5, 100*day)
	h.recorded(sent, true)
	plan := h.prune(func(p *retention.Prune) { p.LocalKeep, p.MaxAge, p.Keep = 0, 90*day, 0 })
	if h.Here(sent) || !h.Here(unsent) || len(plan.Waiting) > 0 {
		t.Fatalf("%+v", plan)
	}
	if _, err := h.Get(t.Context(), sent.ID); err != nil {
		t.Error("the catalogue does not know it any more:", err)
	}
	if plan := h.prune(func(p *retention.Prune) { p.MaxAge, p.Keep = 90*day, 0 }); plan.Archives[0].Verdict.Goes || plan.Archives[1].Verdict.Goes {
		t.Errorf("what is only off-site goes once more: %+v", plan.Archives)
	}
}

// Whatever there is, and whatever the storage has or says: nothing that had a
// verified copy is without one, however often archives are pruned, and whatever
// grace there is.
func TestRetentionNeverTheLastVerifiedCopy(t *testing.T) {
	const day = 24 * time.Hour
	rounds := 25
	if tier.Long() {
		rounds = 500
	}
	for seed := range uint64(rounds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 15))
			h := newOffSiteHome(t)
			var all []archive.Entry
			for range 1 + random.IntN(6) {
				e := h.put(fmt.Sprintf("s%d", random.IntN(3)), 1+random.IntN(4), time.Duration(random.IntN(120))*day)
				if random.IntN(3) > 0 {
					h.recorded(e, random.IntN(4) > 0)
					h.cached[e.ID] = random.IntN(2) == 0
				}
				all = append(all, e)
			}
			for _, e := range all {
				switch random.IntN(8) {
				case 0: // it has rotted
					_ = os.Chmod(e.Path, 0o600)
					h.written(e.Path, []byte("rot"))
				case 1: // it was lost
					_ = os.Remove(e.Path)
				}
			}
			before := map[string]bool{}
			for _, e := range all {
				before[e.ID] = h.safe(e.ID)
			}
			for range 4 {
				h.now = h.now.Add(time.Duration(random.IntN(20)) * day)
				h.prune(func(p *retention.Prune) {
					p.Grace, p.Keep, p.Force = time.Duration(random.IntN(3))*day, random.IntN(3), random.IntN(2) == 0
					if random.IntN(2) == 0 {
						p.MaxAge = 60 * day
					}
					if random.IntN(4) == 0 {
						p.OffSite = nil // no storage is configured
					}
				})
			}
			for id, was := range before {
				if was && !h.safe(id) {
					t.Errorf("archive %s is lost", id)
				}
			}
		})
	}
}
