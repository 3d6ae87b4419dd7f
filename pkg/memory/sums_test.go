package memory

import (
	"database/sql"
	"strconv"
	"testing"
)

// A text of an action has one row, also when what is known of the sums of texts
// decides that one is looked for, and in a later run.
func TestTextsOfActionsHaveOneRow(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const texts = 2*leastMissed + 10
	rows := map[string]int64{}
	for range 2 {
		err = s.inTransaction(t.Context(), func(tx *sql.Tx) error {
			w, err := newWriter(t.Context(), tx, &PutResult{})
			if err != nil {
				return err
			}
			defer w.close()
			if err := (actionWriter{w}).prepareWork(); err != nil {
				return err
			}
			for range 2 {
				clear(w.work.texts)
				if err := rowsOfTexts(w, texts, rows); err != nil {
					return err
				}
			}
			if (w.work.sums == nil) != (w.work.missed == 0) {
				t.Errorf("%d texts were looked for in vain, and the sums were read: %v", w.work.missed, w.work.sums != nil)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var count int
	if err := s.db.QueryRow("SELECT count(*) FROM work_texts").Scan(&count); err != nil || count != texts {
		t.Errorf("%d rows of %d texts, %v", count, texts, err)
	}
}

// rowsOfTexts looks texts up, and notes their rows.
func rowsOfTexts(w *writer, n int, rows map[string]int64) error {
	for i := range n {
		body := "make target" + strconv.Itoa(i)
		row, err := actionWriter{w}.textOf(workText{sortCommand, body})
		if err != nil {
			return err
		}
		if known, ok := rows[body]; ok && known != row {
			return sql.ErrNoRows
		}
		rows[body] = row
	}
	return nil
}

// What was added is never said to be lacking, and most of the rest is.
func TestSumFilter(t *testing.T) {
	if (*sumFilter)(nil).lacks(1) {
		t.Error("no filter says that a sum is lacking")
	}
	f := newSumFilter()
	const sums = 20_000
	sum := func(i int) int64 { return workText{sortPath, strconv.Itoa(i)}.sum() }
	for i := range sums {
		f.add(sum(i))
	}
	lacking := 0
	for i := range sums {
		if f.lacks(sum(i)) {
			t.Fatalf("the sum of %d is there", i)
		}
		if f.lacks(sum(sums + i)) {
			lacking++
		}
	}
	if lacking < sums*98/100 {
		t.Errorf("of %d others only %d are lacking", sums, lacking)
	}
}
