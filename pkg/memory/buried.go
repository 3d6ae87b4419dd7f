package memory

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// buriedPieces are the pieces of an archive that were forgotten. Where its log has
// grown, or another rule cuts it, they have other ids. So a new piece that touches
// one of them waits until the archive is read. If the forgotten one has not come
// by then, the new one has a part of it, and is forgotten too.
type buriedPieces struct {
	all     []byteRange
	missing map[string]byteRange // those that have not come, by id
	waiting []Record
}

// readBuried reads which pieces of archives that begin alike were forgotten.
func readBuried(ctx context.Context, tx *sql.Tx, archives []string) (b buriedPieces, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, first_byte, end_byte FROM tombstones WHERE end_byte>0 AND archive IN ("+marks(archives)+")", anyOf(archives)...)
	if err != nil {
		return b, fmt.Errorf("look what was forgotten: %w", classifyError(err))
	}
	defer rows.Close()
	b.missing = map[string]byteRange{}
	for rows.Next() {
		var id string
		var r byteRange
		if err := rows.Scan(&id, &r.from, &r.to); err != nil {
			return b, fmt.Errorf("look what was forgotten: %w", classifyError(err))
		}
		b.all, b.missing[id] = append(b.all, r), r
	}
	return b, classifyError(rows.Err())
}

// touches says whether a piece has bytes of one that was forgotten.
func (b *buriedPieces) touches(r Record) bool {
	return r.Position >= 0 && slices.ContainsFunc(b.all, func(x byteRange) bool { return x.touches(r) })
}

func (x byteRange) touches(r Record) bool { return x.from < r.EndByte && r.FirstByte < x.to }

// enterBuried begins with an archive.
func (w *writer) enterBuried(archive string) (err error) {
	w.buried = buriedPieces{}
	if w.memory == nil || !w.tombstones || archive == "" {
		return nil
	}
	archives := []string{archive}
	if archive == w.source.Archive {
		archives = append(archives, w.begun...)
	}
	w.buried, err = readBuried(w.ctx, w.tx, archives)
	w.work.buried = append(w.work.buried, w.buried.all...)
	return err
}

// leaveBuried stores the pieces that wait, or forgets them.
func (w *writer) leaveBuried() error {
	var gone []tombstone
	for _, r := range w.buried.waiting {
		part := false
		for _, x := range w.buried.missing {
			part = part || x.touches(r)
		}
		if part {
			gone = append(gone, tombstone{r.ID, r.Archive, r.FirstByte, r.EndByte})
			continue
		}
		if err := w.place(r); err != nil {
			return err
		}
	}
	w.buried.waiting = nil
	if len(gone) == 0 {
		return nil
	}
	w.result.Buried += len(gone)
	noted := forgottenFile{Schema: 1, At: time.Now().UnixMilli(), Records: gone}
	if err := w.memory.forgottenFiles().noteForgotten(noted); err != nil {
		return err
	}
	return addTombstones(w.ctx, w.tx, noted)
}

// ForgottenArchives lists the archives of which pieces were forgotten.
func (s *Store) ForgottenArchives(ctx context.Context) ([]string, error) {
	ids, err := readStrings(ctx, s.db, "SELECT DISTINCT archive FROM tombstones WHERE end_byte>0 AND archive<>'' ORDER BY archive")
	if err != nil {
		return nil, fmt.Errorf("look what was forgotten: %w", classifyError(err))
	}
	return ids, nil
}
