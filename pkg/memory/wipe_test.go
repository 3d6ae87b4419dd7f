package memory_test

import (
	"context"
	"database/sql"
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
	packed := textsOf(t, dir, "s2")
	if len(filesWith(t, dir, "xylograph")) == 0 || len(packed) != 12 || len(filesWith(t, dir, packed[3])) == 0 {
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
	files, err := filepath.Glob(filepath.Join(dir, "vectors", "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if rows := rowsOf(t, files[0]); len(rows) != 2 || !isEmpty(rows[0]) || isEmpty(rows[1]) {
		t.Errorf("%s still has the vectors of what was forgotten", files[0])
	}
	if problems, err := s.Verify(ctx); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	if hits := recall(t, s, memory.Query{Text: "heron"}).Hits; len(hits) != 1 || hits[0].ID != keep.ID {
		t.Error(hits)
	}
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
	return list
}
