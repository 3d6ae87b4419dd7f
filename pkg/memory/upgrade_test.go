package memory_test

import (
	"archive/tar"
	"context"
	"database/sql"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/sessctl/sessctl/pkg/memory"
)

// olderMemory is a memory that version 2 made: two agents, 46 records with
// vectors, 45 of them of the pieces of four sessions, one that waits for its
// vector, a fact, and one that was forgotten. It also is one of version 1, if
// that is asked for.
func olderMemory(t *testing.T, version int) string {
	t.Helper()
	root := t.TempDir()
	f, err := os.Open(filepath.Join("testdata", "version-2.tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer unpacked.Close()
	for entries := tar.NewReader(unpacked); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(entries)
		path := filepath.Join(root, filepath.FromSlash(entry.Name))
		if entry.Typeflag == tar.TypeDir {
			err = errors.Join(err, os.MkdirAll(path, 0o700))
		} else {
			err = errors.Join(err, os.WriteFile(path, content, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(root, "memory")
	if version == 1 {
		alter(t, dir, "ALTER TABLE records DROP COLUMN sum; ALTER TABLE facts DROP COLUMN sum; DROP TABLE state; PRAGMA user_version=1")
	}
	return dir
}

// exported is all that a memory holds, by id.
func exported(t *testing.T, s *memory.Store) map[string]memory.Exported {
	t.Helper()
	all := map[string]memory.Exported{}
	damaged, err := s.Export(context.Background(), memory.ExportOptions{Vectors: true}, func(page []memory.Exported) error {
		for _, e := range page {
			e.Vector = slices.Clone(e.Vector)
			all[e.ID] = e
		}
		return nil
	})
	if damaged != 0 || err != nil {
		t.Fatal(damaged, err)
	}
	return all
}

// A memory of an earlier version is read as it is, and is brought up to date
// when it is opened to be changed: it has the same records, facts and vectors,
// nothing forgotten comes back, and it is shorter.
func TestUpgrade(t *testing.T) {
	ctx := context.Background()
	for version := 1; version <= 2; version++ {
		dir := olderMemory(t, version)
		old, err := memory.Open(ctx, dir, memory.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if said := problemsOf(t, old); said != "" || old.HasChecksums() != (version > 1) {
			t.Error(version, said)
		}
		want, found := exported(t, old), recall(t, old, memory.Query{Text: "xylograph"}).Hits
		if len(want) != 47 || len(found) == 0 {
			t.Fatalf("%d records, %d hits", len(want), len(found))
		}
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		if u := s.Upgraded(); u.From != version || u.Vectors != 45 || u.After >= u.Before*2/3 || (u.Summed == 47) != (version == 1) {
			t.Errorf("%+v", u)
		}
		if said := problemsOf(t, s); said != "" {
			t.Error(said)
		}
		got := exported(t, s)
		for id, e := range want {
			if d := cmp.Diff(e.Vector, got[id].Vector, cmp.Comparer(func(x, y float32) bool { return math.Abs(float64(x-y)) < 1e-3 })); d != "" {
				t.Fatalf("%s: %s", id, d)
			}
			e.Vector = got[id].Vector
			want[id] = e
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if hits := recall(t, s, memory.Query{Text: "xylograph"}).Hits; len(hits) != len(found) || hits[0].ID != found[0].ID {
			t.Errorf("%d hits, were %d", len(hits), len(found))
		}
		if facts, err := s.Facts(ctx, memory.FactFilter{}); err != nil || len(facts) != 1 || facts[0].Damaged {
			t.Error(facts, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "vectors", "*", "*.f32")); len(left) > 0 {
			t.Error(left)
		}
		if pending := embedAll(t, s, "b"); pending != 0 {
			t.Errorf("%d pending", pending)
		}
		gone := record(31, "a secret that goes")
		gone.ID, gone.Session = memory.RecordID("a", "s1", 31, "v", ""), "s1"
		if got := put(t, s, gone); got.Buried != 1 {
			t.Errorf("what was forgotten: %+v", got)
		}
		again := open(t, dir)
		if u := again.Upgraded(); u.From != 0 {
			t.Errorf("upgraded again: %+v", u)
		}
	}
}

// A memory that was brought up to date has the tables of one that is new.
func TestUpgradedTablesAreTheNewOnes(t *testing.T) {
	tables := func(dir string) (list []string) {
		db, err := sql.Open("sqlite", filepath.Join(dir, "memory.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		rows, err := db.Query("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY type, name")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			list = append(list, text)
		}
		return append(list, "state:", column(t, db, "SELECT count(*) FROM state WHERE name<>'work'"), "version:", column(t, db, "PRAGMA user_version"), "free:", column(t, db, "PRAGMA freelist_count"))
	}
	s, dir := newStore(t)
	putFacts(t, s, nil, storedFact("s1", "preference", "tea", 1))
	for version := 1; version <= 2; version++ {
		older := olderMemory(t, version)
		if err := open(t, older).Close(); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tables(dir), tables(older)); d != "" {
			t.Errorf("version %d: %s", version, d)
		}
	}
}

func column(t *testing.T, db *sql.DB, query string) (text string) {
	t.Helper()
	if err := db.QueryRow(query).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// Vectors that were lost before are pending afterwards; a run that was killed
// leaves files that the next one writes over.
func TestUpgradeOfDamage(t *testing.T) {
	dir := olderMemory(t, 2)
	files, err := filepath.Glob(filepath.Join(dir, "vectors", "*", "*.f32"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	raw[5*4096+9] ^= 1
	half := files[0][:len(files[0])-len("f32")] + "i8"
	if err := errors.Join(os.WriteFile(files[0], raw, 0o600), os.Remove(files[1]), os.WriteFile(half, raw, 0o600)); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if u := s.Upgraded(); u.Vectors != 22 {
		t.Errorf("%+v, want 22 vectors", u)
	}
	if said := problemsOf(t, s); said != "" {
		t.Error(said)
	}
	if pending := embedAll(t, s, "a") + embedAll(t, s, "b"); pending != 0 {
		t.Errorf("%d pending", pending)
	}
	if n := len(exported(t, s)); n != 47 {
		t.Errorf("%d records", n)
	}
}

// A full-text index that SQLite cannot even drop is damage like any other: the
// memory is set aside and made again from the archives.
func TestUpgradeOfDamagedWords(t *testing.T) {
	ctx := context.Background()
	s, dir := newStore(t)
	put(t, s, record(0, "the heron is codenamed xylograph"))
	if err := errors.Join(s.ToVersion4(ctx), s.Close()); err != nil {
		t.Fatal(err)
	}
	alter(t, dir, "DELETE FROM words_config")
	if _, err := memory.Open(ctx, dir, memory.Options{}); !errors.Is(err, memory.ErrCorrupt) {
		t.Errorf("opened: %v", err)
	}
	moved, problems, err := memory.SetAsideDamaged(ctx, nil, dir, time.Now())
	if err != nil || moved == "" || len(problems) == 0 {
		t.Errorf("%q, %v, %v", moved, problems, err)
	}
}

// toVersion3 makes of a memory one of version 3: model and agent stood with
// every vector.
const toVersion3 = `
CREATE TABLE f (model TEXT NOT NULL, agent TEXT NOT NULL, name TEXT NOT NULL, slots INTEGER NOT NULL, rows INTEGER NOT NULL, stamp TEXT NOT NULL,
  checked INTEGER NOT NULL, PRIMARY KEY (model, agent)) STRICT, WITHOUT ROWID;
CREATE TABLE v (model TEXT NOT NULL, agent TEXT NOT NULL, slot INTEGER NOT NULL, record INTEGER NOT NULL REFERENCES record_rows (record) ON DELETE CASCADE,
  crc INTEGER NOT NULL, PRIMARY KEY (model, agent, slot)) STRICT, WITHOUT ROWID;
INSERT INTO f SELECT model, agent, name, slots, rows, stamp, checked FROM files;
INSERT INTO v SELECT model, agent, slot, record, crc FROM vectors;
DROP VIEW vectors;
DROP TABLE vector_rows;
DROP TABLE files;
ALTER TABLE f RENAME TO files;
ALTER TABLE v RENAME TO vectors;
CREATE UNIQUE INDEX vectors_by_record ON vectors (record, model);
PRAGMA user_version=3;
`

// A memory of version 3 or 4 answers as it is, and the same after it was brought
// up to date: the same records, vectors and scores.
func TestUpgradeOfVersion3(t *testing.T) { upgradeOf(t, 3) }
func TestUpgradeOfVersion4(t *testing.T) { upgradeOf(t, 4) }

func upgradeOf(t *testing.T, version int) {
	ctx := context.Background()
	s, dir := newStore(t)
	var records []memory.Record
	for i := range 60 {
		r := record(i, []string{"the xylograph of the harbour", "a lighthouse keeper's log", "bread and salt"}[i%3]+" "+string(rune('a'+i%26)))
		r.Agent, r.Category = []string{"a", "b"}[i%2], "session_history"
		records = append(records, r)
	}
	put(t, s, records...)
	embedAll(t, s, "a")
	embedAll(t, s, "b")
	ask := func(s *memory.Store) (all []memory.Result) {
		for _, q := range []memory.Query{{Text: "xylograph"}, {Text: "keeper of the lighthouse", Agent: "b"}, {Text: "salt", Category: "session_history", Rank: memory.RankVector}} {
			all = append(all, recall(t, s, q))
		}
		return all
	}
	want, all := ask(s), exported(t, s)
	if err := errors.Join(s.ToVersion4(ctx), s.Close()); err != nil {
		t.Fatal(err)
	}
	if version == 3 {
		alter(t, dir, toVersion3)
	}
	old, err := memory.Open(ctx, dir, memory.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if said := problemsOf(t, old); said != "" || old.IsCurrent() {
		t.Error(said)
	}
	if d := cmp.Diff(want, ask(old)) + cmp.Diff(all, exported(t, old)); d != "" {
		t.Errorf("as it is: %s", d)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if u := s.Upgraded(); u.From != version {
		t.Errorf("%+v", u)
	}
	if said := problemsOf(t, s); said != "" {
		t.Error(said)
	}
	if d := cmp.Diff(want, ask(s)) + cmp.Diff(all, exported(t, s)); d != "" {
		t.Errorf("up to date: %s", d)
	}
}

// Words of version 5, which was never released, are not read: a question is
// refused, everything else is there, and the first command that changes the memory
// reads the words of its texts anew.
func TestUpgradeOfVersion5(t *testing.T) {
	ctx := context.Background()
	b, m := builtin(t)
	s, dir := newStore(t)
	put(t, s, record(0, "the heron is codenamed xylograph"), record(1, "bread and salt"))
	put(t, s, record(1, "bread and wine"))
	embedAll(t, s, "a")
	query := memory.Query{Text: "codenamed xylograph"}
	want, whole := recall(t, s, query), exported(t, s)
	if err := errors.Join(s.ToVersion5(ctx), s.Close()); err != nil {
		t.Fatal(err)
	}
	old, err := memory.Open(ctx, dir, memory.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if _, err := old.Recall(ctx, query, b, m); !errors.Is(err, memory.ErrUnreleased) || errors.Is(err, memory.ErrCorrupt) {
		t.Errorf("asked: %v", err)
	}
	if said := problemsOf(t, old); said != "" || old.IsCurrent() {
		t.Error(said)
	}
	if moved, problems, err := memory.SetAsideDamaged(ctx, nil, dir, time.Now()); err != nil || moved != "" {
		t.Errorf("%q, %v, %v", moved, problems, err)
	}
	if d := cmp.Diff(whole, exported(t, old)); d != "" {
		t.Error(d)
	}
	s = open(t, dir)
	if u := s.Upgraded(); u.From != 5 {
		t.Errorf("%+v", u)
	}
	if said := problemsOf(t, s); said != "" {
		t.Error(said)
	}
	if d := cmp.Diff(want, recall(t, s, query)) + cmp.Diff(whole, exported(t, s)); d != "" {
		t.Error(d)
	}
}

// A memory of an earlier version lacks what was done in the sessions that it
// knows: it says so, also when it is up to date, until all archives were read
// again. A new one lacks nothing.
func TestWorkIsDue(t *testing.T) {
	ctx := context.Background()
	due := func(s *memory.Store, want bool, when string) {
		t.Helper()
		got, err := s.WorkIsDue(ctx)
		work, workErr := s.Work(ctx, memory.WorkQuery{Text: "anything"})
		if err := errors.Join(err, workErr); err != nil || got != want || work.Due != want {
			t.Errorf("%s: due %v, Work says %v, want %v (%v)", when, got, work.Due, want, err)
		}
	}
	for version := 1; version <= 2; version++ {
		dir := olderMemory(t, version)
		old, err := memory.Open(ctx, dir, memory.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		due(old, true, "as it is")
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			what string
			do   func(s *memory.Store) error
			want bool
		}{
			{"up to date", func(*memory.Store) error { return nil }, true},
			{"some archives were read", func(s *memory.Store) error { return s.EndRebuild(ctx, false) }, true},
			{"all were read", func(s *memory.Store) error { return s.EndRebuild(ctx, true) }, false},
			{"opened again", func(*memory.Store) error { return nil }, false},
		} {
			s := open(t, dir)
			if err := step.do(s); err != nil {
				t.Fatal(step.what, err)
			}
			due(s, step.want, step.what)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, _ := newStore(t)
	due(s, false, "empty")
	put(t, s, cut("one", 100)...)
	due(s, false, "new")
}
