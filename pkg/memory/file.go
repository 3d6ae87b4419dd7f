package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/embed"
)

// checkEvery is how long a vector file that nobody touched goes without a
// check of every row.
const checkEvery = 7 * 24 * time.Hour

// vectorFile is the file of one agent and model, and what the database knows
// of it.
type vectorFile struct {
	fingerprint string // of the model
	dim         int
	agent       string
	base        string // in the agent's directory
	path        string
	slots       int64 // rows that may have a name
	stamp       string
	checked     int64 // epoch milliseconds
}

// vectorPath is where a vector file of an agent lies.
func (s *Store) vectorPath(agent, name string) string {
	return filepath.Join(s.dir, "vectors", safeName(agent), name)
}

func (s *Store) fileOf(ctx context.Context, q querier, model embed.Model, agent string) (*vectorFile, error) {
	f := &vectorFile{fingerprint: model.Fingerprint(), dim: model.Dim, agent: agent}
	err := q.QueryRowContext(ctx, "SELECT name, slots, stamp, checked FROM files WHERE model=? AND agent=?", model.Fingerprint(), agent).Scan(&f.base, &f.slots, &f.stamp, &f.checked)
	if errors.Is(err, sql.ErrNoRows) {
		f.base, err = freeName(ctx, q, f.fingerprint, agent)
	}
	if err != nil {
		return nil, fmt.Errorf("look up vector file: %w", judged(err))
	}
	f.path = s.vectorPath(agent, f.base)
	return f, nil
}

// freeName names a new vector file: after its model, and with a number if a
// file that is in use has that name. A file that nobody names is overwritten.
func freeName(ctx context.Context, q querier, fingerprint, agent string) (string, error) {
	for n := 1; ; n++ {
		name := fingerprint + ".f32"
		if n > 1 {
			name = fmt.Sprintf("%s.%d.f32", fingerprint, n)
		}
		var taken bool
		err := q.QueryRowContext(ctx, "SELECT count(*)>0 FROM files WHERE agent=? AND name=?", agent, name).Scan(&taken)
		if err != nil || !taken {
			return name, err
		}
	}
}

func (f *vectorFile) save(ctx context.Context, tx *sql.Tx) error {
	f.stamp = stampOf(f.path)
	_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO files (model, agent, name, slots, stamp, checked) VALUES (?,?,?,?,?,?)", f.fingerprint, f.agent, f.base, f.slots, f.stamp, f.checked)
	return err
}

// stampOf tells whether anybody else has changed a file: its size, times and
// identity. It is empty for a file that is not there.
func stampOf(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	id := durable.Identify(info)
	return fmt.Sprintf("%d %d %d %d", info.Size(), info.ModTime().UnixNano(), id.Inode, id.Changed.UnixNano())
}

// untouched says whether the file is as it was left, and was checked lately.
func (f *vectorFile) untouched() bool {
	since := time.Since(time.UnixMilli(f.checked))
	return f.stamp == stampOf(f.path) && since >= 0 && since < checkEvery
}

// Reclaim makes records pending again whose vector the file does not have: it
// is missing, shorter, or the row's checksum differs. It returns how many. A
// file that nobody touched is not read again for a week.
func (s *Store) Reclaim(ctx context.Context, model embed.Model, agent string) (int, error) {
	if err := s.register(ctx, model); err != nil {
		return 0, err
	}
	f, err := s.fileOf(ctx, s.db, model, agent)
	if err != nil || f.slots == 0 || f.untouched() {
		return 0, err
	}
	lost := 0
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		f, err := s.fileOf(ctx, tx, model, agent)
		if err != nil {
			return err
		}
		lost, err = f.check(ctx, tx, true)
		return err
	})
	return lost, err
}

// check makes the records of lost rows pending, unless the file is untouched.
func (f *vectorFile) check(ctx context.Context, tx *sql.Tx, save bool) (int, error) {
	if f.slots == 0 {
		f.checked = time.Now().UnixMilli() // there is nothing to check
		return 0, nil
	}
	if f.untouched() {
		return 0, nil
	}
	lost, kept, err := f.lost(ctx, tx)
	if err != nil {
		return 0, err
	}
	for _, p := range lost {
		if err := f.unname(ctx, tx, p); err != nil {
			return 0, fmt.Errorf("make records pending: %w", err)
		}
	}
	f.slots, f.checked = kept, time.Now().UnixMilli()
	if !save {
		return len(lost), nil
	}
	return len(lost), f.save(ctx, tx)
}

func (f *vectorFile) unname(ctx context.Context, tx *sql.Tx, p place) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM vectors WHERE model=? AND agent=? AND slot=?", f.fingerprint, f.agent, p.slot); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO pending (model, agent, record, tries, reason) VALUES (?,?,?,0,'')", f.fingerprint, f.agent, p.record)
	return err
}

// lost returns the rows that do not verify, and how many slots the others need.
func (f *vectorFile) lost(ctx context.Context, q querier) (lost []place, slots int64, err error) {
	rows, err := q.QueryContext(ctx, "SELECT record, slot, crc FROM vectors WHERE model=? AND agent=?", f.fingerprint, f.agent)
	if err != nil {
		return nil, 0, fmt.Errorf("list vectors: %w", judged(err))
	}
	defer rows.Close()
	named := map[int64]place{}
	var places []place
	for rows.Next() {
		p := place{file: f.path}
		if err := rows.Scan(&p.record, &p.slot, &p.crc); err != nil {
			return nil, 0, fmt.Errorf("list vectors: %w", judged(err))
		}
		named[p.slot] = p
		places = append(places, p)
	}
	if err := rows.Err(); err != nil {
		return nil, 0, judged(err)
	}
	reader := rowReader{dim: f.dim}
	err = reader.each(ctx, places, func(b block) error {
		for _, p := range b.places {
			delete(named, p.slot)
			slots = max(slots, p.slot+1)
		}
		return nil
	})
	for _, p := range named {
		lost = append(lost, p)
	}
	return lost, slots, err
}
