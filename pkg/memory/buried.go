package memory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/memory/database"
)

// buriedPieces are the pieces of an archive that were forgotten. Where its log has
// grown, or another rule cuts it, they have other ids. So a new piece that touches
// one of them waits until the archive is read. If the forgotten one has not come
// by then, the new one has a part of it, and is forgotten too.
type buriedPieces struct {
	all     []ByteRange          // that they take, in order
	missing map[string]ByteRange // those that have not come, by id
	waiting []Record
}

// readBuried reads which pieces of archives that begin alike were forgotten.
func readBuried(ctx context.Context, tx *sql.Tx, archives []string) (b buriedPieces, err error) {
	b.missing = map[string]ByteRange{}
	err = database.Each(ctx, database.For(tx, "look what was forgotten"), func(scan database.Scan) error {
		var id string
		var r ByteRange
		err := scan(&id, &r.From, &r.To)
		b.missing[id] = r
		return err
	}, "SELECT id, first_byte, end_byte FROM tombstones WHERE end_byte>0 AND archive IN ("+database.Marks(archives)+")", database.Args(archives)...)
	b.all = joined(b.missing)
	return b, err
}

// joined are ranges in order, those that meet as one.
func joined(ranges map[string]ByteRange) (all []ByteRange) {
	sorted := slices.SortedFunc(maps.Values(ranges), func(a, b ByteRange) int { return cmp.Compare(a.From, b.From) })
	for _, r := range sorted {
		if last := len(all) - 1; last >= 0 && r.From <= all[last].To {
			all[last].To = max(all[last].To, r.To)
			continue
		}
		all = append(all, r)
	}
	return all
}

// touched says whether a piece of a log has bytes of ranges that are joined.
func touched(all []ByteRange, r Record) bool {
	at, _ := slices.BinarySearchFunc(all, r.FirstByte, func(x ByteRange, first int64) int {
		if x.To <= first {
			return -1
		}
		return 1
	})
	return r.Position >= 0 && at < len(all) && all[at].From < r.EndByte
}

// enterBuried begins with an archive.
func (w *writer) enterBuried(archive string) (err error) {
	w.buried = buriedPieces{}
	var archives []string
	if archive != "" {
		archives = append(archives, archive)
	}
	if archive == w.source.Archive {
		archives = append(archives, w.begun...)
	}
	if w.memory == nil || !w.tombstones || len(archives) == 0 {
		return nil
	}
	w.buried, err = readBuried(w.ctx, w.tx, archives)
	w.work.buried = append(w.work.buried, w.buried.all...)
	return err
}

// leaveBuried stores the pieces that wait, or forgets them.
func (w *writer) leaveBuried() error {
	var gone []tombstone
	missing := joined(w.buried.missing)
	for _, r := range w.buried.waiting {
		if touched(missing, r) {
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
	if err := addTombstones(w.ctx, w.tx, noted); err != nil {
		return err
	}
	return w.removeBuriedActions(gone)
}

// removeBuriedActions takes what was done in pieces that were forgotten just now out
// again: it was stored before it was known that they are, and any later run leaves it
// out.
func (w *writer) removeBuriedActions(gone []tombstone) error {
	var ids []string
	for _, g := range gone {
		ids = append(ids, g.ID)
	}
	list, _ := json.Marshal(ids) // strings are always JSON
	return actionWriter{w}.removeActions(`s.runtime=? AND s.agent=? AND s.session=? AND s.archive=? AND EXISTS (SELECT 1 FROM json_each(?) j JOIN tombstones f ON f.id=j.value WHERE `+standsIn("f")+")",
		w.source.Runtime, w.source.Agent, w.source.Session, w.work.archive, string(list))
}

// ForgottenArchives lists the archives of which pieces were forgotten.
func (s forgetting) ForgottenArchives(ctx context.Context) ([]string, error) {
	ids, err := database.Strings(ctx, s.db, "SELECT DISTINCT archive FROM tombstones WHERE end_byte>0 AND archive<>'' ORDER BY archive")
	if err != nil {
		return nil, fmt.Errorf("look what was forgotten: %w", database.Classify(err))
	}
	return ids, nil
}
