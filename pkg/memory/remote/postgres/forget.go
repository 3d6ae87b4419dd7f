package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// buriedAtOnce is how many records are buried at once.
const buriedAtOnce = 1000

// Bury forgets records of every host, with tombstones.
func (m *Memory) Bury(ctx context.Context, host string, forgotten []memory.Forgotten) (removed int, err error) {
	if len(forgotten) == 0 {
		return 0, nil
	}
	err = m.introduce(ctx, host)
	for from := 0; err == nil && from < len(forgotten); from += buriedAtOnce {
		var n int
		n, err = m.bury(ctx, host, forgotten[from:min(from+buriedAtOnce, len(forgotten))])
		removed += n
	}
	if err != nil {
		return removed, fmt.Errorf("forget: %w", err)
	}
	return removed, nil
}

// introduce makes a host known that has not pushed yet.
func (m *Memory) introduce(ctx context.Context, host string) error {
	if err := m.exec(ctx, "INSERT INTO "+schemaName+".hosts (name) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM "+schemaName+".hosts WHERE name=$1) ON CONFLICT DO NOTHING", host); err != nil {
		return fmt.Errorf("register host %s: %w", host, err)
	}
	return nil
}

// bury notes what is forgotten, and then removes what is there of it. If the
// second does not come to its end the next push does both again.
func (m *Memory) bury(ctx context.Context, host string, forgotten []memory.Forgotten) (removed int, err error) {
	var ids, archives []string
	var times, firsts, ends []int64
	for _, f := range forgotten {
		ids, archives = append(ids, f.ID), append(archives, remote.Storable(f.Archive))
		times, firsts, ends = append(times, f.At), append(firsts, f.FirstByte), append(ends, f.EndByte)
	}
	most := m.options.Timeout
	wait := most.Milliseconds() / 2
	err = patiently(ctx, most, func(int) error {
		if err := m.call(ctx, most, nil, "bury($1, $2, $3, $4, $5, $6, $7)", host, ids, times, archives, firsts, ends, wait); err != nil {
			return err
		}
		return m.call(ctx, most, &removed, "remove_buried($1, $2)", ids, wait)
	})
	return removed, err
}

// Forgotten lists the tombstones that were committed since a mark. One that is
// still under way is listed the next time. If the server has not got what it had
// at the mark, because it was restored from a backup, all are listed.
func (m *Memory) Forgotten(ctx context.Context, since string) (list []memory.Forgotten, mark string, err error) {
	err = m.transact(ctx, readOnly, func(tx pgx.Tx) error {
		from, err := readFrom(ctx, tx, since)
		if err != nil {
			return err
		}
		found, err := tx.Query(ctx, "SELECT id, at, archive, first_byte, end_byte FROM tombstones WHERE xact >= $1::text::xid8 ORDER BY at, id", from)
		if err != nil {
			return err
		}
		if list, err = pgx.CollectRows(found, pgx.RowToStructByPos[memory.Forgotten]); err != nil {
			return err
		}
		// The oldest transaction that is under way; behind all that another server
		// has numbered, whose rows were restored into this one.
		var now string
		err = tx.QueryRow(ctx, `SELECT coalesce((SELECT (xact::text::numeric + 1)::text FROM tombstones WHERE xact >= pg_snapshot_xmax(pg_current_snapshot()) ORDER BY xact DESC LIMIT 1),
			pg_snapshot_xmin(pg_current_snapshot())::text)`).Scan(&now)
		if err == nil {
			mark, err = markAt(ctx, tx, now)
		}
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("read what was forgotten: %w", err)
	}
	return list, mark, nil
}

// readFrom is the number of the transaction from which on tombstones were not
// read yet: that of the mark if the server still has what it had then, else the
// first of all. It is that too for a mark of an earlier version.
func readFrom(ctx context.Context, tx pgx.Tx, mark string) (string, error) {
	const first = "0"
	from, _, ok := strings.Cut(mark, ":")
	if _, err := strconv.ParseUint(from, 10, 64); err != nil || !ok {
		return first, nil
	}
	have, err := markAt(ctx, tx, from)
	if err != nil || have != mark {
		return first, err
	}
	return from, nil
}

// markAt is a mark: the number of a transaction, and how many tombstones and
// which are from before it.
func markAt(ctx context.Context, tx pgx.Tx, transaction string) (mark string, err error) {
	err = tx.QueryRow(ctx, `SELECT $1::text || ':' || count(*) || ':' || coalesce(bit_xor(hashtextextended(id, 0)), 0) FROM tombstones
		WHERE xact < $1::text::xid8`, transaction).Scan(&mark)
	return mark, err
}

// Count counts what each host has.
func (m *Memory) Count(ctx context.Context) (c remote.Counts, err error) {
	c = remote.Counts{Server: m.server, Hosts: []remote.HostCount{}, Engine: m.engine, Schema: m.version, Words: "the index of terms (GIN)", Unused: m.words.unused(), Stamped: true}
	if m.words.isUsed() {
		c.Words = "pg_textsearch " + m.words.extension
	}
	if c.Unused != "" {
		c.Unused = "pg_textsearch: " + c.Unused
	}
	err = m.transact(ctx, readOnly, func(tx pgx.Tx) error {
		found, err := tx.Query(ctx, "SELECT name, records, last_push, memory, role <> current_user AND row_security_active('hosts'), heard, uploaded, verified, archives FROM hosts ORDER BY name")
		if err == nil {
			c.Hosts, err = pgx.CollectRows(found, pgx.RowToStructByPos[remote.HostCount])
		}
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM tombstones),
			(SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c JOIN pg_namespace n ON n.oid=c.relnamespace WHERE n.nspname=$1 AND c.relkind='r' AND (c.relname<>'record_words' OR $2))`, schemaName, m.words.library != "").Scan(&c.Tombstones, &c.Bytes)
	})
	if err != nil {
		return c, fmt.Errorf("count: %w", err)
	}
	return c, nil
}

// Verify hands out the records of a host with their digests, page by page.
func (m *Memory) Verify(ctx context.Context, host string, fn func(id string, digest int64) error) error {
	const atOnce = 5000
	var id string
	var digest int64
	for n := atOnce; n == atOnce; {
		err := m.transact(ctx, readOnly, func(tx pgx.Tx) error {
			n = 0
			found, err := tx.Query(ctx, `SELECT r.id, r.digest FROM records r JOIN hosts h ON h.host=r.host WHERE h.name=$1 AND r.id COLLATE "C" > $2 ORDER BY r.id COLLATE "C" LIMIT $3`, host, id, atOnce)
			if err == nil {
				_, err = pgx.ForEachRow(found, []any{&id, &digest}, func() error { n++; return fn(id, digest) })
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("read what is there: %w", err)
		}
	}
	return nil
}

// Index ends a push: the server makes the table of the next quarter, brings its
// indexes up to date, and indexes the vectors of the quarters that have become large. While others push it does that
// only where a quarter has become ten times as large. It returns how many indexes
// were made.
func (m *Memory) Index(ctx context.Context, v memory.VectorModel) (made int, err error) {
	if err := (quarters{m}).makeNext(ctx); err != nil {
		return 0, err
	}
	model, err := m.modelOf(ctx, v)
	if err != nil || model == nil {
		return 0, err
	}
	least := m.options.IndexFrom
	if least == 0 {
		least = defaultIndexFrom
	}
	for {
		n := 0 // one at a time: pushes of the others go on
		err := m.call(ctx, longest, &n, "tend_indexes($1, $2, $3)", *model, least, m.host)
		if err != nil && !isCollision(err) {
			return made, fmt.Errorf("index vectors: %w", err)
		}
		if made += n; n == 0 {
			return made, nil
		}
	}
}
