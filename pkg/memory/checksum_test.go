package memory_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

// alter changes the database behind the program's back.
func alter(t *testing.T, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "memory.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// problemsOf are what Verify says.
func problemsOf(t *testing.T, s *memory.Store) string {
	t.Helper()
	problems, err := s.Verify(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range problems {
		all = append(all, p.Message)
	}
	return strings.Join(all, "\n")
}

// Whatever of a record has changed since it was stored: verify tells, recall
// and export leave it out, and storing it again makes it whole.
func TestChangedRecordIsNoticed(t *testing.T) {
	for name, statement := range map[string]string{
		"text":         "UPDATE texts SET text=replace(text, 'xylograph', 'xylogrbph')",
		"text, gone":   "UPDATE texts SET text=''",
		"text, packed": "UPDATE texts SET text=x'28b52ffd2005290000'",
		"category":     "UPDATE sources SET category='session_summary'",
		"importance":   "UPDATE record_rows SET importance=0.75",
		"time":         "UPDATE record_rows SET created_at=created_at+1",
		"runtime":      "UPDATE sources SET runtime='pj'",
		"session":      "UPDATE sources SET session='s9'",
		"key":          "UPDATE sources SET key='agent:b'",
		"archive":      "UPDATE sources SET archive='other'",
		"archive path": "UPDATE sources SET archive_path='/elsewhere'",
		"first line":   "UPDATE record_rows SET first_line=first_line+1",
		"last line":    "UPDATE record_rows SET last_line=last_line+1",
		"first byte":   "UPDATE record_rows SET first_byte=first_byte+1",
		"end byte":     "UPDATE record_rows SET end_byte=end_byte+1",
		"branch":       "UPDATE sources SET branch='abandoned'",
		"position":     "UPDATE record_rows SET position=position+1",
		"checksum":     "UPDATE record_rows SET sum=sum+1",
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := newStore(t)
			changed, whole := record(4, "the heron is codenamed xylograph"), record(9, "another heron")
			whole.Session, whole.ID = "s2", memory.RecordID("a", "s2", 9, "v", "")
			put(t, s, changed, whole)
			embedAll(t, s, "a")
			if said := problemsOf(t, s); said != "" {
				t.Fatal(said)
			}
			where := " WHERE record=1"
			if strings.HasPrefix(statement, "UPDATE sources") {
				where = " WHERE source=1"
			}
			alter(t, dir, statement+where)
			if said := problemsOf(t, s); !strings.Contains(said, "records that are not what was stored: 1 ("+changed.ID+")") {
				t.Errorf("verify says %q", said)
			}
			for _, rank := range []string{memory.RankHybrid, memory.RankText, memory.RankVector} {
				result := recall(t, s, memory.Query{Text: "heron xylograph", Rank: rank})
				if len(result.Hits) != 1 || result.Hits[0].ID != whole.ID || !strings.Contains(result.Notice, "were left out: 1") {
					t.Errorf("%s: %d hits, %q", rank, len(result.Hits), result.Notice)
				}
			}
			exported := 0
			damaged, err := s.Export(context.Background(), memory.ExportOptions{}, func(page []memory.Exported) error {
				exported += len(page)
				return nil
			})
			if damaged != 1 || exported != 1 || err != nil {
				t.Errorf("%d exported, %d left out, %v", exported, damaged, err)
			}
			if got, want := put(t, s, changed), (memory.PutResult{Repaired: 1}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
			embedAll(t, s, "a")
			if said := problemsOf(t, s); said != "" {
				t.Error(said)
			}
			if hits := recall(t, s, memory.Query{Text: "xylograph"}).Hits; len(hits) == 0 || hits[0].Record != changed {
				t.Errorf("found %+v, want %+v", hits, changed)
			}
		})
	}
}

// What changes a record on purpose changes its checksum too.
func TestChecksumFollows(t *testing.T) {
	s, _ := newStore(t)
	r := record(4, "one")
	put(t, s, r)
	r.Text, r.Importance, r.Archive, r.ArchivePath = "two", 0.7, "", ""
	put(t, s, r)
	r.Archive, r.ArchivePath, r.Branch = "other", "/elsewhere", "abandoned"
	put(t, s, r)
	putFacts(t, s, nil, storedFact("s1", "preference", "tea", 1), storedFact("s1", "preference", "coffee", 2))
	facts, err := s.Facts(context.Background(), memory.FactFilter{})
	if err != nil || len(facts) != 2 {
		t.Fatal(facts, err)
	}
	putFacts(t, s, map[string]string{facts[0].ID: facts[1].ID})
	source := memory.Source{Runtime: "pi", Agent: "a", Session: "s1", Archive: "x", ArchivePath: "/archive/x"}
	if n, err := s.LinkFacts(context.Background(), source, "/logs/s1", 1000, true); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if said := problemsOf(t, s); said != "" {
		t.Error(said)
	}
}

// What is known of a fact is checked too.
func TestChangedFactIsNoticed(t *testing.T) {
	for _, statement := range []string{
		"UPDATE facts SET quote='no'", "UPDATE facts SET kind='project'", "UPDATE facts SET confidence=0.1",
		"UPDATE facts SET value='w'", "UPDATE facts SET successor='x'", "UPDATE facts SET sum=0",
	} {
		s, dir := newStore(t)
		putFacts(t, s, nil, storedFact("s1", "preference", "tea", 1))
		alter(t, dir, statement)
		if said := problemsOf(t, s); !strings.Contains(said, "facts that are not what was stored: 1") {
			t.Errorf("%s: verify says %q", statement, said)
		}
		facts, err := s.Facts(context.Background(), memory.FactFilter{})
		if err != nil || len(facts) != 1 || !facts[0].Damaged {
			t.Errorf("%s: %+v, %v", statement, facts, err)
		}
	}
}

// Words that are not those of the texts are told: what they hide is not found.
func TestChangedWordsAreNoticed(t *testing.T) {
	ctx := context.Background()
	for _, damage := range []func(s *memory.Store, dir string) error{
		func(s *memory.Store, _ string) error { return s.SetWords(ctx, 1, "the heron is codenam xylogrbph ") },
		func(s *memory.Store, _ string) error { return s.SetWords(ctx, 1, "heron ") },
		func(_ *memory.Store, dir string) error {
			alter(t, dir, "UPDATE word_pages SET data=zeroblob(9)")
			return nil
		},
		func(_ *memory.Store, dir string) error {
			alter(t, dir, "INSERT INTO word_gone VALUES (1, 1, 1*1000003+1*7919)")
			return nil
		},
		func(_ *memory.Store, dir string) error {
			alter(t, dir, "DELETE FROM word_segments; DELETE FROM word_pages; DELETE FROM word_index")
			return nil
		},
	} {
		s, dir := newStore(t)
		put(t, s, record(0, "the heron is codenamed xylograph"), record(1, "heron HERON straße 東京の天気 src/io_test.go heron"))
		if said := problemsOf(t, s); said != "" {
			t.Fatal(said)
		}
		if err := damage(s, dir); err != nil {
			t.Fatal(err)
		}
		if said := problemsOf(t, s); !strings.Contains(said, "the words are not those of the texts") {
			t.Errorf("verify says %q", said)
		}
		if _, err := s.BeginRebuild(context.Background()); err != nil {
			t.Fatal(err)
		}
		if said := problemsOf(t, s); said != "" {
			t.Errorf("after the rebuild verify says %q", said)
		}
		if hits := recall(t, s, memory.Query{Text: "xylograph", Rank: memory.RankText}).Hits; len(hits) != 1 {
			t.Errorf("%d hits after the rebuild", len(hits))
		}
	}
}

// So are words that are all there and would not be found, or in another record:
// a question goes by the index of pages and by where these say that an entry
// begins.
func TestMislaidWordsAreNoticed(t *testing.T) {
	ctx := context.Background()
	s, dir := newStore(t)
	var records []memory.Record
	for i := range 300 {
		records = append(records, record(i, fmt.Sprintf("heron%dx nests on roof%dy beside chimney%dz", i, i, i%7)))
	}
	put(t, s, records...)
	page := "page=(SELECT max(page) FROM word_pages)"
	for name, damage := range map[string]string{
		"a page is another one":          "UPDATE word_index SET page=0 WHERE page=1",
		"a page begins elsewhere":        "UPDATE word_index SET term=CAST(term||x'7a' AS BLOB) WHERE page=1",
		"a page is not listed":           "DELETE FROM word_index WHERE page=1",
		"a page that does not exist":     "INSERT INTO word_index VALUES ((SELECT max(segment) FROM word_segments), x'7a7a', 77)",
		"no entry begins where one does": "UPDATE word_pages SET data=CAST(substr(data, 1, 4)||x'0700'||substr(data, 7) AS BLOB) WHERE " + page,
		"a page has changed":             "UPDATE word_pages SET data=CAST(substr(data, 1, 50)||x'7a'||substr(data, 52) AS BLOB) WHERE " + page,
		"a segment is not listed":        "DELETE FROM word_segments",
		"pages are of no segment":        "INSERT INTO word_pages VALUES (99*16777216, x'000000000600')",
	} {
		alter(t, dir, damage)
		if said := problemsOf(t, s); strings.Contains(name, "segment") && !strings.Contains(said, "belong to no segment") {
			t.Errorf("%s: verify says %q", name, said)
		}
		noticedAndMended(t, s, name)
	}
	words := func(r memory.Record) string { return string(embed.AppendTerms(nil, r.Text)) }
	if err := errors.Join(s.SetWords(ctx, 1, words(records[1])), s.SetWords(ctx, 2, words(records[0]))); err != nil {
		t.Fatal(err)
	}
	noticedAndMended(t, s, "two records have each other's words")
}

// A question that meets words which are not what was written is refused. The next
// run that stores something mends them, and so does a forget: they stand in the
// texts.
func TestDamagedWordsAreMended(t *testing.T) {
	ctx := context.Background()
	b, m := builtin(t)
	for name, damage := range map[string]string{
		"a bit":               "UPDATE word_pages SET data=CAST(substr(data, 1, 50)||x'7a'||substr(data, 52) AS BLOB)",
		"a segment is lost":   "DELETE FROM word_segments WHERE segment=1",
		"a removed one is in": "UPDATE word_gone SET record=3",
		"no words at all":     "DELETE FROM word_segments; DELETE FROM word_pages; DELETE FROM word_index; DELETE FROM word_gone",
	} {
		for _, mend := range []struct {
			name string
			run  func(s *memory.Store) error
		}{
			{"stored", func(s *memory.Store) error {
				var more []memory.Record
				for i := range 3 { // as many segments as are merged
					more = append(more, record(20+i, "another heron"))
					result, err := s.Put(ctx, memory.Source{Runtime: "pi", Agent: "a", Session: "s1"}, all(more...))
					if err != nil || i == 0 && !result.WordsAnew && name != "a bit" && name != "a removed one is in" {
						return fmt.Errorf("%+v, %w", result, err)
					}
				}
				return nil
			}},
			{"forgotten", func(s *memory.Store) error {
				_, err := s.Forget(ctx, memory.Selection{IDs: []string{record(1, "two herons").ID}})
				return err
			}},
		} {
			s, dir := newStore(t)
			put(t, s, record(0, "one heron"), record(1, "two herons"))
			put(t, s, record(2, "three herons"), record(3, "the heron is codenamed xylograph"))
			changed := record(3, "the heron is codenamed xylograph")
			changed.Text = "the heron is codenamed woodcut"
			put(t, s, changed)
			alter(t, dir, damage)
			if result, err := s.Recall(ctx, memory.Query{Text: "heron"}, b, m); !errors.Is(err, memory.ErrDamagedWords) || !errors.Is(err, memory.ErrCorrupt) {
				t.Errorf("%s: %d hits, %v", name, len(result.Hits), err)
			}
			if err := mend.run(s); err != nil {
				t.Errorf("%s, %s: %v", name, mend.name, err)
			}
			if said := problemsOf(t, s); said != "" {
				t.Errorf("%s, %s: %s", name, mend.name, said)
			}
			if hits := recall(t, s, memory.Query{Text: "woodcut", Rank: memory.RankText}).Hits; len(hits) != 1 || hits[0].Position != 3 {
				t.Errorf("%s, %s: %d hits", name, mend.name, len(hits))
			}
		}
	}
}

func noticedAndMended(t *testing.T, s *memory.Store, name string) {
	t.Helper()
	if said := problemsOf(t, s); !strings.Contains(said, "the words are not those of the texts") {
		t.Errorf("%s: verify says %q", name, said)
	}
	if _, err := s.BeginRebuild(context.Background()); err != nil {
		t.Fatal(err)
	}
	if said := problemsOf(t, s); said != "" {
		t.Errorf("%s: after the rebuild verify says %q", name, said)
	}
}
