package memory_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

// rewritten stores a session whose summary and pieces were replaced again and
// again, as those of a session that grows are: SQLite leaves such texts behind
// in its pages.
func rewritten(t *testing.T, s *memory.Store, session string) {
	t.Helper()
	for round := range 6 {
		var records []memory.Record
		for i := range 12 {
			r := record(i, "")
			r.ID, r.Session = memory.RecordID("a", session, i, "v", ""), session
			r.Text = fmt.Sprintf("xylograph%d in %s %s", round, session, strings.Repeat("heron ", 40+60*((i+round)%7)))
			records = append(records, r)
		}
		put(t, s, records...)
		embedAll(t, s, "a")
	}
}

// What is forgotten is in no file any more: not in the room that pages have
// left, not in the index, the log or the vectors, also where the text was
// replaced before.
func TestForgetLeavesNoTrace(t *testing.T) {
	ctx := context.Background()
	s, dir := newStore(t)
	rewritten(t, s, "s2")
	keep := record(0, "the heron by the lake")
	put(t, s, keep)
	embedAll(t, s, "a")
	packed, vectors := textsOf(t, dir, "s2"), vectorsOf(t, dir, "s2")
	if len(filesWith(t, dir, "xylograph")) == 0 || len(packed) != 12 || len(filesWith(t, dir, packed[3])) == 0 || len(vectors) != 12 || len(filesWith(t, dir, vectors[3])) == 0 {
		t.Fatalf("there is nothing to forget, %d texts", len(packed))
	}
	if n, err := s.Forget(ctx, memory.Selection{Session: "s2"}); n.Marked != 12 || err != nil {
		t.Fatal(n, err)
	}
	if left := filesWith(t, dir, "xylograph"); len(left) > 0 {
		t.Errorf("traces in %v", left)
	}
	if left := filesWith(t, memory.ForgottenDir(dir), "xylograph"); len(left) > 0 {
		t.Errorf("traces in %v", left)
	}
	for _, text := range packed {
		if left := filesWith(t, dir, text); len(left) > 0 {
			t.Errorf("a text is in %v", left)
		}
	}
	for _, vector := range vectors {
		if left := filesWith(t, dir, vector); len(left) > 0 {
			t.Errorf("a vector is in %v", left)
		}
	}
	if problems, err := s.Verify(ctx); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	if hits := recall(t, s, memory.Query{Text: "heron"}).Hits; len(hits) != 1 || hits[0].ID != keep.ID {
		t.Error(hits)
	}
}

// vectorsOf are pieces of the vectors of a session, which is the only one that has
// any, as they are kept: a row is cut where a page of SQLite ends.
func vectorsOf(t *testing.T, dir, session string) (list []string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "memory.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all []byte
	if err := db.QueryRow("SELECT group_concat(rows, '') FROM vector_blocks").Scan(&all); err != nil {
		t.Fatal(err)
	}
	for len(all) > 4 && len(list) < 12 {
		size := 4 * int(binary.LittleEndian.Uint16(all))
		list, all = append(list, string(all[size/2:][:24])), all[size:]
	}
	return list
}

// textsOf are the texts of a session as they are kept.
func textsOf(t *testing.T, dir, session string) (list []string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "memory.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT text FROM texts JOIN records r ON r.rowid=record WHERE typeof(text)='blob' AND r.session=?", session)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text []byte
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		list = append(list, string(text))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}
