package smallpackages_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/scratch"
	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/retention"
)

// growing is a session that grows, and its archives.
type growing struct {
	*archive.Store
	t     *testing.T
	dir   string
	now   time.Time
	text  []byte
	words *rand.Rand
	made  []archive.Entry
}

func newGrowing(t *testing.T) *growing {
	t.Helper()
	dir, err := os.MkdirTemp(scratch.Dir(), "growing")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	g := &growing{t: t, dir: dir, now: retentionNow, words: rand.New(rand.NewPCG(1, 2))}
	g.Store, err = archive.Open(filepath.Join(g.dir, "archives"), archive.Options{
		Dir: func(archive.Meta) string { return filepath.Join(g.dir, "archive") }, Compression: archive.CompressionZstd,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// grow adds so many bytes to the session.
func (g *growing) grow(size int) {
	for end := len(g.text) + size; len(g.text) < end; {
		g.text = fmt.Appendf(g.text, "{\"role\":\"user\",\"content\":\"word%d of turn %d says %x\"}\n", g.words.IntN(500), g.words.IntN(50), g.words.Uint64())
	}
}

// keep archives the session as it is.
func (g *growing) keep() archive.Entry {
	g.t.Helper()
	g.now = g.now.Add(time.Second)
	e, err := g.Put(g.t.Context(), archive.Meta{Runtime: "pi", Agent: "a", Session: "grows", Source: "grows.jsonl"}, bytes.NewReader(g.text), int64(len(g.text)), g.now)
	if err != nil {
		g.t.Fatal(err)
	}
	g.made = append(g.made, e)
	return e
}

func (g *growing) rules() *retention.Prune {
	return &retention.Prune{
		Archives: g.Store, Trash: retention.Trash{Dir: filepath.Join(g.dir, "trash")}, Audit: retention.Audit{Path: filepath.Join(g.dir, "audit.jsonl")},
		Now: func() time.Time { return g.now }, MaxAge: retention.Never, Keep: 3, Grace: 7 * 24 * time.Hour, Rule: "test",
	}
}

// supersede removes what the newest archives begin with, and returns how many went.
func (g *growing) supersede(change func(*retention.Prune)) int {
	g.t.Helper()
	p := g.rules()
	change(p)
	gone, err := p.Supersede(g.t.Context(), g.now.Add(-48*time.Hour))
	if err != nil {
		g.t.Fatal(err)
	}
	return len(gone)
}

// stored are the bytes of all files of archives, those in the trash too.
func (g *growing) stored() (sum int64) {
	err := filepath.WalkDir(filepath.Join(g.dir, "archive"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		sum += info.Size()
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return sum
}

// reads is the session of an archive, as it is read by its id.
func (g *growing) reads(id string) []byte {
	g.t.Helper()
	e, err := g.Get(g.t.Context(), id)
	if err != nil {
		g.t.Fatal(err)
	}
	r, err := g.OpenEntry(g.t.Context(), e)
	if err != nil {
		g.t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err := errors.Join(err, g.Verify(g.t.Context(), e)); err != nil {
		g.t.Fatal(err)
	}
	return text
}

// A year of a session that is archived each night takes no more than its last copy, and
// every archive of it can be read by its id to the last.
func TestRetentionYearOfOneSession(t *testing.T) {
	g := newGrowing(t)
	g.grow(20 << 10)
	days := 365
	if tier.Smoke() {
		days = 40
	}
	var whole int64
	for range days {
		g.now = g.now.Add(24 * time.Hour)
		g.grow(1 << 10)
		whole += g.keep().StoredBytes
		g.supersede(func(*retention.Prune) {})
	}
	last := g.made[len(g.made)-1]
	t.Logf("the last copy has %d bytes, the year %d (%.2f times); whole copies were %d (%.0f times)", last.StoredBytes,
		g.stored(), float64(g.stored())/float64(last.StoredBytes), whole, float64(whole)/float64(last.StoredBytes))
	if float64(g.stored()) > 1.2*float64(last.StoredBytes) {
		t.Error("the year takes more than its last copy")
	}
	if all, err := g.List(t.Context(), archive.Filter{}); err != nil || len(all) != 1 {
		t.Error(all, err)
	}
	if all, err := g.Superseded(t.Context()); err != nil || len(all) != days-1 {
		t.Error(len(all), err)
	}
	for _, e := range g.made {
		if !bytes.Equal(g.reads(e.ID), g.text[:e.Bytes]) {
			t.Errorf("archive %s is not what it was", e.ID)
		}
	}
}

// What a later archive does not begin with stays, and so does what is needed, and what
// is damaged. A later one that is damaged supersedes nothing.
func TestRetentionSupersedes(t *testing.T) {
	nothing := func(*retention.Prune) {}
	t.Run("only beginnings", func(t *testing.T) {
		g := newGrowing(t)
		g.grow(2000)
		g.keep()
		g.text = append([]byte("cut\n"), g.text...)
		g.keep()
		if gone := g.supersede(nothing); gone != 0 {
			t.Error(gone, "went")
		}
	})
	t.Run("needed", func(t *testing.T) {
		g := newGrowing(t)
		for range 3 {
			g.grow(2000)
			g.keep()
		}
		if gone := g.supersede(func(p *retention.Prune) { p.Needed = func(archive.Entry) string { return "pinned" } }); gone != 0 {
			t.Error(gone, "went")
		}
		if gone := g.supersede(nothing); gone != 2 {
			t.Error(gone, "went")
		}
	})
	for which, gone := range map[int]int{0: 1, 2: 1} { // of three: the first stays; the second leans on none, the first on the second
		t.Run(fmt.Sprint("damaged ", which), func(t *testing.T) {
			g := newGrowing(t)
			for range 3 {
				g.grow(2000)
				g.keep()
			}
			text, err := os.ReadFile(g.made[which].Path)
			if err != nil {
				t.Fatal(err)
			}
			text[len(text)/2] ^= 1
			if err := os.WriteFile(g.made[which].Path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if n := g.supersede(nothing); n != gone {
				t.Error(n, "went")
			}
			for i, e := range g.made {
				if i != which && !bytes.Equal(g.reads(e.ID), g.text[:e.Bytes]) {
					t.Error("it is not what it was:", i)
				}
			}
		})
	}
}

// Archives with which a later one begins do not count for the half that one run of
// archives prune takes, and of the others only the oldest go.
func TestRetentionPruneSupersededCountsForNoLimit(t *testing.T) {
	g := newGrowing(t)
	for range 11 {
		g.now = g.now.Add(24 * time.Hour)
		g.grow(1000)
		g.keep()
	}
	p := g.rules()
	p.MaxAge, p.Keep = 3*24*time.Hour, 1
	g.now = g.now.Add(24 * time.Hour)
	plan, err := p.Plan(t.Context())
	if err == nil {
		err = p.Execute(t.Context(), plan)
	}
	if err != nil || len(plan.Waiting) > 0 {
		t.Fatal(plan.Waiting, err)
	}
	if all, err := g.List(t.Context(), archive.Filter{}); err != nil || len(all) != 2 {
		t.Error(len(all), err)
	}
	for _, e := range g.made {
		if !bytes.Equal(g.reads(e.ID), g.text[:e.Bytes]) {
			t.Error("it is not what it was:", e.ID)
		}
	}
}
