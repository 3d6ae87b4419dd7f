package rowlog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// Querier is a connection or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Table is what a database says of one of its tables.
type Table struct {
	Name    string
	Columns []string
	Key     []string        // columns of its primary key; nil for one that has none
	Parents []Parent        // whose rows take its rows with them when they are deleted
	sought  []string        // columns by which rows are found in a table of [Tables.Seek]
	orphans []string        // ids that messages name and no row of it has, in their order
	spared  map[string]bool // sessions with rows, where nobody can tell whose rows lie on damaged pages; false for those with rows beside these
}

// Parent is a foreign key of one column, ON DELETE CASCADE: a row belongs to that of
// the other table.
type Parent struct{ Column, Table, Key string }

// Has reports whether the table has all of these columns.
func (t Table) Has(columns ...string) bool {
	return !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(t.Columns, c) })
}

// Text is a column of text, as an expression; ” if the table lacks it.
func (t Table) Text(column string) string {
	if !t.Has(column) {
		return "''"
	}
	return "coalesce(CAST(" + Quoted(column) + " AS TEXT), '')"
}

// Order is the order of the table's rows that is always the same: by its key, or
// as they were put in.
func (t Table) Order() string {
	if len(t.Key) == 0 {
		return "rowid"
	}
	names := make([]string, len(t.Key))
	for i, c := range t.Key {
		names[i] = Quoted(c)
	}
	return strings.Join(names, ", ")
}

// Tables are those of a database, by name.
type Tables map[string]Table

// errEncoding is returned for a database whose texts are not UTF-8.
var errEncoding = errors.New("its texts are not UTF-8")

// ReadTables reads which tables there are. Virtual ones are passed over: what they
// are may be known to their program alone. It returns an error that wraps
// errEncoding for a database whose texts are not UTF-8.
func ReadTables(ctx context.Context, conn Querier) (Tables, error) {
	var encoding string
	if err := conn.QueryRowContext(ctx, "PRAGMA encoding").Scan(&encoding); err != nil {
		return nil, fmt.Errorf("read its encoding: %w", err)
	}
	if encoding != "UTF-8" {
		return nil, fmt.Errorf("%w: %s", errEncoding, encoding)
	}
	type column struct {
		table, name string
		key         int
	}
	all, err := All(ctx, For(conn, "read its schema"), func(c *column) []any { return []any{&c.table, &c.name, &c.key} },
		`SELECT m.name, c.name, c.pk FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.rootpage > 0 ORDER BY m.name, c.cid`)
	if err != nil {
		return nil, err
	}
	tables := Tables{}
	for _, c := range all {
		t := tables[c.table]
		t.Name = c.table
		t.Columns = append(t.Columns, c.name)
		if c.key > 0 {
			t.Key = append(t.Key, c.name)
		}
		tables[c.table] = t
	}
	return tables, tables.readParents(ctx, conn)
}

// readParents reads the foreign keys. One of several columns is left out: what they
// are together nobody has used yet, and a removal that it would widen is refused.
func (t Tables) readParents(ctx context.Context, conn Querier) error {
	return Each(ctx, For(conn, "read its foreign keys"), func(rows *sql.Rows) error {
		var name string
		var p Parent
		if err := rows.Scan(&name, &p.Column, &p.Table, &p.Key); err != nil {
			return err
		}
		if p.Key == "" && len(t[p.Table].Key) == 1 { // it refers to the primary key
			p.Key = t[p.Table].Key[0]
		}
		x := t[name]
		x.Parents = append(x.Parents, p)
		t[name] = x
		return nil
	}, `SELECT m.name, k."from", k."table", coalesce(k."to", '') FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) k
		WHERE m.type = 'table' AND m.rootpage > 0 AND k.on_delete = 'CASCADE' AND NOT EXISTS (SELECT 1 FROM pragma_foreign_key_list(m.name) o WHERE o.id = k.id AND o.seq > 0) ORDER BY m.name, k.id`)
}

// Of is the condition that a column has the value of a parameter ("?", "?1").
func (t Table) Of(column, parameter string) string {
	if slices.Contains(t.sought, column) {
		return "rowid IN (SELECT place FROM " + Quoted(t.placesOf(column)) + " WHERE value = " + parameter + ")"
	}
	return Quoted(column) + " = " + parameter
}

// naming is where the values of a column are read: the column, and its table.
func (t Table) naming(column string) (of, from string) {
	if slices.Contains(t.sought, column) {
		return "value", Quoted(t.placesOf(column))
	}
	return Quoted(column), "main." + Quoted(t.Name)
}

// placesOf names the table that says where the rows are with a value of a column.
func (t Table) placesOf(column string) string { return "places of " + t.Name + "." + column }

// Seek reads every table once that has one of the columns and no index that begins with
// it, and keeps in memory, as long as the connection lives, which rows have which
// value: without that every session would read the table as a whole. Damaged pages of a
// table are stepped over. Then nobody can tell whose rows are lost, and the error says so:
// [Tables.MayLack] knows the sessions with rows beside them.
func (t Tables) Seek(ctx context.Context, conn *sql.Conn, columns ...string) error {
	type column struct{ table, name string }
	all, err := All(ctx, For(conn, "read its indexes"), func(c *column) []any { return []any{&c.table, &c.name} },
		`SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.rootpage > 0 AND c.name IN ('`+strings.Join(columns, "', '")+`')
		AND EXISTS (SELECT 1 FROM pragma_table_list(m.name) l WHERE l.schema = 'main' AND l.wr = 0)
		AND NOT EXISTS (SELECT 1 FROM pragma_index_list(m.name) i JOIN pragma_index_info(i.name) x WHERE i.partial = 0 AND x.seqno = 0 AND x.name = c.name)`)
	var damage error
	for _, c := range all {
		if x, there := t[c.table]; there && err == nil {
			err = x.seek(ctx, conn, c.name)
			if beside := (*besideError)(nil); errors.As(err, &beside) {
				damage, err = cmp.Or(damage, err), nil
				if c.name == "session_id" {
					x.spared = beside.Spared
				}
			}
			x.sought = append(slices.Clip(x.sought), c.name)
			t[c.table] = x
		}
	}
	return cmp.Or(err, damage)
}

// seek notes the places of all values of a column.
func (t Table) seek(ctx context.Context, conn *sql.Conn, column string) error {
	places := Quoted(t.placesOf(column))
	insert := "INSERT INTO " + places + " SELECT " + Quoted(column) + ", rowid FROM main." + Quoted(t.Name) + " WHERE " + Quoted(column) + " IS NOT NULL"
	for _, query := range []string{
		"PRAGMA temp_store = MEMORY",
		"CREATE TEMP TABLE " + places + " (value, place, PRIMARY KEY (value, place)) WITHOUT ROWID",
		insert,
	} {
		_, err := conn.ExecContext(ctx, query)
		if sqlitefile.IsDamaged(err) {
			besides := &besideError{Table: t.Name, Column: column, Err: err}
			return cmp.Or(t.stepOver(ctx, conn, insert, besides), error(besides))
		}
		if err != nil {
			return fmt.Errorf("look through %s: %w", t.Name, err)
		}
	}
	return nil
}

// Owned says which rows of the tables belong to a session, whose id is ?1, as
// conditions: by foreign keys to a table in known, of which that is known already, or to
// one that belongs itself; and by a column named direct, where tables have one. The
// result is in an order in which every table comes after those that its rows belong to.
func (t Tables) Owned(known map[string]string, direct string, but func(name string) bool) (names []string, where map[string]string) {
	where = maps.Clone(known)
	for found := true; found; {
		var next []string
		for _, name := range slices.Sorted(maps.Keys(t)) {
			if condition := t[name].owned(where, direct); where[name] == "" && condition != "" && !but(name) {
				next = append(next, name)
			}
		}
		conditions := map[string]string{}
		for _, name := range next {
			conditions[name] = t[name].owned(where, direct)
		}
		maps.Copy(where, conditions)
		names, found = append(names, next...), len(next) > 0
	}
	return names, where
}

// owned is the condition by which rows of the table belong to a session, as far as it is
// known of the other tables; "" for none.
func (t Table) owned(where map[string]string, direct string) string {
	var ways []string
	if t.Has(direct) {
		ways = append(ways, t.Of(direct, "?1"))
	}
	for _, p := range t.Parents {
		if where[p.Table] != "" && p.Key != "" && p.Table != t.Name && p.Column != direct {
			ways = append(ways, Quoted(p.Column)+" IN (SELECT "+Quoted(p.Key)+" FROM "+Quoted(p.Table)+" WHERE "+where[p.Table]+")")
		}
	}
	return strings.Join(ways, " OR ")
}

// Missing returns the first table, with the columns that it must have, that is
// not there; "" if all are.
func (t Tables) Missing(required map[string][]string) string {
	for _, name := range slices.Sorted(maps.Keys(required)) {
		if columns := required[name]; !t[name].Has(columns...) {
			return "there is no table " + name + " with " + strings.Join(columns, ", ")
		}
	}
	return ""
}

// ReadKnown is [ReadTables] of a program whose databases have these columns at least. For
// any other database it returns an error that wraps unknown.
func ReadKnown(ctx context.Context, conn Querier, unknown error, required map[string][]string) (Tables, error) {
	tables, err := ReadTables(ctx, conn)
	if errors.Is(err, errEncoding) {
		err = fmt.Errorf("%w: %w", unknown, err)
	}
	if err != nil {
		return nil, err
	}
	if missing := tables.Missing(required); missing != "" {
		return nil, fmt.Errorf("%w: %w", unknown, sqlitefile.MissingTable(missing))
	}
	return tables, nil
}

// Version is the number of the schema in a table schema_version, 0 without one.
func (t Tables) Version(ctx context.Context, conn Querier) (version int, err error) {
	if !t["schema_version"].Has("version") {
		return 0, nil
	}
	if err := conn.QueryRowContext(ctx, "SELECT coalesce(max(CAST(version AS INTEGER)), 0) FROM schema_version").Scan(&version); err != nil {
		return 0, fmt.Errorf("read its version: %w", err)
	}
	return version, nil
}

// Unread returns the tables with rows in which something is said and that are not read:
// also one of that name, and every one that has columns for who says what.
func (t Tables) Unread(ctx context.Context, conn Querier, also string, read func(name string) bool) (filled []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(t)) {
		says := t[name].Has("role") && slices.ContainsFunc([]string{"content", "content_json", "text", "body", "data"}, func(c string) bool { return t[name].Has(c) })
		if read(name) || name != also && !says {
			continue
		}
		var rows bool
		err := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+Quoted(name)+")").Scan(&rows)
		if err != nil && !sqlitefile.IsDamaged(err) { // what is on other pages can be read
			return nil, fmt.Errorf("look into %s: %w", name, err)
		}
		if rows || err != nil {
			filled = append(filled, name)
		}
	}
	return filled, nil
}

// Orphaned looks for sessions of which there are messages, and no row in their own table:
// [Tables.IsOrphan] knows them, and a [Gathering] returns them. The messages must have been
// sought ([Tables.Seek]) or have an index by session_id: one value after the other is
// looked up in it. It returns the table of messages if some are of no session at all.
func (t Tables) Orphaned(ctx context.Context, conn Querier, messages, sessions string) (unread []string, err error) {
	column, from := t[messages].naming("session_id")
	ids, err := Column[string](ctx, For(conn, "look for rows without their session"), fmt.Sprintf(`WITH RECURSIVE ids(id) AS (SELECT min(%[1]s) FROM %[2]s UNION ALL SELECT (SELECT min(%[1]s) FROM %[2]s WHERE %[1]s > ids.id) FROM ids WHERE ids.id IS NOT NULL)
		SELECT id FROM ids WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM main.%[3]s s WHERE s.id = ids.id)`, column, from, Quoted(sessions)))
	var unowned bool
	if err == nil {
		err = conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM main."+Quoted(messages)+" WHERE session_id IS NULL)").Scan(&unowned)
	}
	if err != nil && !sqlitefile.IsDamaged(err) { // what is on other pages can be read
		return nil, fmt.Errorf("look for rows without their session: %w", err)
	}
	x := t[sessions]
	if unowned {
		unread = []string{messages}
	}
	for _, id := range ids {
		if session.SafeID(id) {
			x.orphans = append(x.orphans, id)
		} else {
			unread = []string{messages}
		}
	}
	slices.Sort(x.orphans)
	x.orphans = slices.Compact(x.orphans)
	t[sessions] = x
	return unread, nil
}

// IsOrphan reports whether there are messages of a session, and no row in the table.
func (t Table) IsOrphan(id string) bool {
	_, found := slices.BinarySearch(t.orphans, id)
	return found
}

// Purpose is a connection and what it is asked for. Errors say that.
type Purpose struct {
	Querier
	doing string
}

// For is a purpose: doing is as in "list sessions".
func For(q Querier, doing string) Purpose { return Purpose{q, doing} }

// Each hands the rows of a query to take, which ends it with an error.
func Each(ctx context.Context, p Purpose, take func(*sql.Rows) error, query string, args ...any) error {
	rows, err := p.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", p.doing, err)
	}
	defer rows.Close()
	for err == nil && rows.Next() {
		err = take(rows)
	}
	if err == nil {
		err = rows.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.doing, err)
	}
	return nil
}

// Read returns the rows of a query, as read takes each.
func Read[T any](ctx context.Context, p Purpose, read func(rows *sql.Rows, x *T) error, query string, args ...any) ([]T, error) {
	var all []T
	err := Each(ctx, p, func(rows *sql.Rows) error {
		var x T
		err := read(rows, &x)
		all = append(all, x)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// All returns the rows of a query. fields are where the columns of one are read to.
func All[T any](ctx context.Context, p Purpose, fields func(x *T) []any, query string, args ...any) ([]T, error) {
	return Read(ctx, p, func(rows *sql.Rows, x *T) error { return rows.Scan(fields(x)...) }, query, args...)
}

// Column returns the rows of a query of one column.
func Column[T any](ctx context.Context, p Purpose, query string, args ...any) ([]T, error) {
	return All(ctx, p, func(x *T) []any { return []any{x} }, query, args...)
}

// CountMessages returns how many rows a session has in the table of its messages.
func (t Table) CountMessages(ctx context.Context, conn Querier, session string) (n int, err error) {
	counts, err := OfSession[int](ctx, For(conn, "count messages of "+session), Asked{Table: t, Expression: "count(*)"}, session)
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// Asked is what is asked for of the rows of a table that belong to a session: an
// expression, and what follows the condition.
type Asked struct {
	Table            Table
	Expression, More string
}

// OfSession returns what is asked for of a session. Where an index has a damaged page the
// table is read without it.
func OfSession[T any](ctx context.Context, p Purpose, a Asked, session string) (all []T, err error) {
	err = WithoutIndex(func(indexed string) error {
		all, err = Column[T](ctx, p, "SELECT "+a.Expression+" FROM "+Quoted(a.Table.Name)+indexed+" WHERE "+a.Table.Of("session_id", "?")+a.More, session)
		return err
	})
	return all, err
}

// Quoted is a name as SQL reads it.
func Quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// exact asks for a value as it is stored: as an expression it has no declared
// type that the driver could turn it into.
func exact(column string) string { return "+" + Quoted(column) }

// Selection says which rows of a table are written, and as lines of which type.
type Selection struct {
	Kind         string
	Table        Table
	Without      []string // columns that are left out
	Where, Order string
	Args         []any // of Where
	Most         int   // bytes after which no further row is begun; 0 for all rows

	indexed string // " NOT INDEXED" to read the table without an index
}

// AppendRows appends rows of a table as lines and returns how many. each, if it is
// not nil, is called for every one, and from the first one again where an index has a
// damaged page: then the table is read without it.
func (f Format) AppendRows(ctx context.Context, db Querier, to []byte, s Selection, each func(Row)) (all []byte, n int, err error) {
	err = WithoutIndex(func(indexed string) error {
		s.indexed = indexed
		all, n, err = f.appendRows(ctx, db, to, s, each)
		return err
	})
	return all, n, err
}

func (f Format) appendRows(ctx context.Context, db Querier, to []byte, s Selection, each func(Row)) (_ []byte, n int, err error) {
	r := Row{Table: s.Table.Name}
	var list []string
	for _, c := range s.Table.Columns {
		if !slices.Contains(s.Without, c) {
			r.Columns = append(r.Columns, c)
			list = append(list, exact(c))
		}
	}
	where := s.Where
	if s.indexed != "" {
		where = strings.ReplaceAll(where, Whole, wholeUnaided)
	}
	rows, err := db.QueryContext(ctx, "SELECT "+strings.Join(list, ", ")+" FROM "+Quoted(s.Table.Name)+s.indexed+" WHERE "+where+" ORDER BY "+s.Order, s.Args...)
	if err != nil {
		return to, 0, err
	}
	defer rows.Close()
	r.Values = make([]any, len(r.Columns))
	into := make([]any, len(r.Columns))
	for i := range into {
		into[i] = &r.Values[i]
	}
	for (s.Most == 0 || len(to) < s.Most) && rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return to, n, err
		}
		to = f.append(to, s.Kind, r)
		if each != nil {
			each(r)
		}
		n++
	}
	return to, n, rows.Err()
}

// AppendChildren appends the line that names sessions which belong to this one;
// none for none.
func AppendChildren(to []byte, ids []string) []byte { return AppendSessions(to, TypeChildren, ids) }

// AppendSessions appends a line of a type that names sessions; none for none.
func AppendSessions(to []byte, kind string, ids []string) []byte {
	if len(ids) == 0 {
		return to
	}
	to = append(to, `{"type":"`+kind+`","sessions":[`...)
	for i, id := range ids {
		if i > 0 {
			to = append(to, ',')
		}
		to = AppendText(to, id)
	}
	return append(to, ']', '}', '\n')
}
