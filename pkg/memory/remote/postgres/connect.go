package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// Options say how to connect.
type Options struct {
	// URL is postgres://..., or key=value pairs as libpq knows them. What it does
	// not say the variables (PGHOST, PGSERVICE, ...) and files (~/.pgpass,
	// ~/.pg_service.conf) do.
	URL string
	// Exact compares a question with every vector that passes the filters: the
	// best are found for certain. Otherwise large quarters have an index, which
	// finds nearly all of them sooner.
	Exact bool
	// SetUp makes the tables, or brings them up to date.
	SetUp bool
	// IndexFrom is how many vectors the current quarter must have to be indexed; a
	// fifth is enough for one that is over. 0 is defaultIndexFrom.
	IndexFrom int
	// Timeout is how long one request may take, there and here. 0 is a minute.
	Timeout time.Duration

	as, database string // role and database that count before those of the URL
}

// defaultIndexFrom is how many vectors the current quarter must have to be
// indexed: fewer are compared one by one in some milliseconds.
const defaultIndexFrom = 10_000

// connectTimeout bounds connecting where nothing else is said.
const connectTimeout = 5 * time.Second

// leastVersion is the oldest pgvector that is used: those before lose rows of
// their indexes when the table is vacuumed.
const leastVersion = "0.8.4"

// schemaName is where the tables are.
const schemaName = "sessctl"

// schemaPath is what names are looked for in.
const schemaPath = schemaName + ", pg_temp"

// Memory is a connection to a shared memory.
type Memory struct {
	conn       *pgx.Conn
	migrations []string // that make the tables
	version    int      // of the tables
	options    Options
	engine     string
	server     string
	vector     string // in front of the names of pgvector: its schema and a dot
	words      textSearch
	readsAll   bool   // whoever connects may read the records of all hosts
	host       string // that was pushed last
}

// Open connects to a shared memory. Errors are those of package remote.
func Open(ctx context.Context, o Options) (*Memory, error) { return open(ctx, o, migrations()) }

func open(ctx context.Context, o Options, migrations []string) (*Memory, error) {
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	conn, err := connect(ctx, o.URL, o.adjust)
	if err != nil {
		return nil, err
	}
	m := &Memory{conn: conn, options: o, migrations: migrations}
	if err := m.prepare(ctx); err != nil {
		_ = m.Close() // it was only looked at
		return nil, err
	}
	return m, nil
}

// Who is no longer there is noticed by its silence, on both sides. It is said with
// SET: poolers refuse it as part of the connection.
const (
	silence = 15 * time.Second
	notice  = "SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; SET tcp_user_timeout = 30000"
)

// adjust sets what counts before the URL.
func (o Options) adjust(c *pgx.ConnConfig) {
	c.Database = cmp.Or(o.database, c.Database)
	if o.as != "" {
		c.RuntimeParams["role"] = o.as
	}
}

// connect opens a connection. It prepares nothing: behind a pooler that gives each
// transaction another connection no name is known the next time, and to have a query
// described first is one more way to the server and back.
func connect(ctx context.Context, url string, adjust ...func(*pgx.ConnConfig)) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, parseError(err)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "sessctl"
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silence, Interval: silence / 3, Count: 3}}).DialContext
	for _, change := range adjust {
		change(config)
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", classify(err))
	}
	ctx, cancel := context.WithTimeout(ctx, config.ConnectTimeout)
	defer cancel()
	_, _ = conn.Exec(ctx, notice) // not every system has all of it; where nothing gets through the next request says so
	return conn, nil
}

// parseError says what is wrong with the way to the server without repeating
// it: it may hold a password.
func parseError(err error) error {
	for _, known := range []string{"service", "passfile", "sslmode", "sslrootcert", "sslcert", "sslkey"} {
		if strings.Contains(err.Error(), known) {
			return fmt.Errorf("%w: how to connect is not understood: look at %s", remote.ErrUnsuitable, known)
		}
	}
	return fmt.Errorf("%w: how to connect is not understood: it is neither postgres://HOST/DATABASE nor host=HOST dbname=DATABASE", remote.ErrUnsuitable)
}

// Close ends the connection.
func (m *Memory) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return m.conn.Close(ctx)
}

// Address says where the server is, without a password.
func (m *Memory) Address() string { return addressOf(m.conn.Config()) }

func addressOf(c *pgx.ConnConfig) string {
	return fmt.Sprintf("%s/%s", net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), c.Database)
}

// Server is the identity of the shared memory.
func (m *Memory) Server() string { return m.server }

// prepare checks what is there, and makes what is missing if that was asked for.
func (m *Memory) prepare(ctx context.Context) error {
	place, err := m.checkVector(ctx)
	if err != nil {
		return err
	}
	pgvector := pgx.Identifier{place}.Sanitize()
	m.vector = pgvector + "."
	if err := m.checkTables(ctx, pgvector); err != nil {
		return err
	}
	if err := m.readState(ctx); err != nil || !m.options.SetUp {
		return err
	}
	return m.setUpWords(ctx)
}

// checkVector checks that pgvector is there and recent, and returns the schema
// that it is in. If it was asked to, it makes or updates the extension.
func (m *Memory) checkVector(ctx context.Context) (place string, err error) {
	for _, change := range []string{"CREATE EXTENSION IF NOT EXISTS vector", "ALTER EXTENSION vector UPDATE", ""} {
		var installed, available, server string
		var open bool
		err := m.transact(ctx, readOnly, func(tx pgx.Tx) error {
			return tx.QueryRow(ctx, `SELECT coalesce(e.extversion, ''), coalesce(n.nspname, ''), coalesce(a.default_version, ''), current_setting('server_version'), coalesce(has_schema_privilege('public', n.oid, 'CREATE'), false)
			FROM (SELECT 1) one LEFT JOIN pg_extension e ON e.extname='vector' LEFT JOIN pg_namespace n ON n.oid=e.extnamespace
			LEFT JOIN pg_available_extensions a ON a.name='vector'`).Scan(&installed, &place, &available, &server, &open)
		})
		if err != nil {
			return "", fmt.Errorf("look for pgvector: %w", err)
		}
		m.engine = "PostgreSQL " + server + ", pgvector " + installed
		switch {
		case open && m.options.SetUp:
			return "", fmt.Errorf("%w: everybody may create functions in schema %s, and setting it up would carry them out: REVOKE CREATE ON SCHEMA %s FROM PUBLIC", remote.ErrUnsuitable, place, place)
		case installed != "" && !remote.IsOlder(installed, leastVersion):
			return place, nil
		case installed == "" && available == "":
			return "", fmt.Errorf("%w: PostgreSQL %s has no pgvector: install version %s or later", remote.ErrUnsuitable, server, leastVersion)
		case remote.IsOlder(available, leastVersion):
			return "", fmt.Errorf("%w: pgvector %s is too old (its indexes lose rows): install version %s or later, then ALTER EXTENSION vector UPDATE", remote.ErrUnsuitable, installedOr(installed, available), leastVersion)
		case !m.options.SetUp || change == "":
			return "", fmt.Errorf("%w: pgvector %s is there and not used by this database", remote.ErrNotSetUp, available)
		}
		if _, err := m.conn.Exec(ctx, change); err != nil {
			return "", fmt.Errorf("%w (a superuser does it, once, in this database: %s)", classify(err), change)
		}
	}
	return "", remote.ErrUnsuitable
}

func installedOr(installed, available string) string {
	if installed == "" {
		return available
	}
	return installed
}

// classify marks an error of the server as one of package remote. None of them
// repeats how to connect.
func classify(err error) error {
	var known *pgconn.PgError
	var unreachable *pgconn.ConnectError
	var network net.Error
	switch {
	case err == nil || errors.Is(err, context.Canceled) || isClassified(err):
		return err
	case errors.As(err, &known):
		return classifyCode(known)
	case remote.IsTLS(err):
		return fmt.Errorf("%w: %w", remote.ErrTLS, withoutWay(err))
	case errors.As(err, &unreachable), errors.As(err, &network), errors.Is(err, context.DeadlineExceeded), pgconn.SafeToRetry(err), isGone(err):
		return fmt.Errorf("%w: %w", remote.ErrUnreachable, withoutWay(err))
	}
	return err
}

// isClassified reports whether an error is marked already: what it says more stays.
func isClassified(err error) bool {
	return slices.ContainsFunc([]error{remote.ErrNotAllowed, remote.ErrUnreachable, remote.ErrUnsuitable, remote.ErrBusy, remote.ErrNotSetUp}, func(kind error) bool { return errors.Is(err, kind) })
}

// answer is an error of the server in its own words, and nothing of the statement.
type answer struct{ *pgconn.PgError }

// Error implements error.
func (a answer) Error() string { return fmt.Sprintf("%s (%s)", a.Message, a.Code) }

// Unwrap returns the driver's error.
func (a answer) Unwrap() error { return a.PgError }

func classifyCode(e *pgconn.PgError) error {
	for _, class := range []struct {
		err   error
		codes []string // what they begin with
	}{
		{remote.ErrNotAllowed, []string{"28", "42501", "3D000"}},
		{remote.ErrUnreachable, []string{"08"}},
		{remote.ErrUnsuitable, []string{"0A000"}},
		// No room, no lock, no time, going down; and what a pooler has mixed up.
		{remote.ErrBusy, []string{"53", "55P03", "57", "40001", "40P01", "25P03", "25P04", "42P05", "26000"}},
		{remote.ErrNotSetUp, []string{"3F000", "42P01"}},
	} {
		if slices.ContainsFunc(class.codes, func(code string) bool { return strings.HasPrefix(e.Code, code) }) {
			return fmt.Errorf("%w: %w", class.err, answer{e})
		}
	}
	return answer{e}
}

// isGone says whether the connection was lost.
func isGone(err error) bool {
	text := err.Error()
	return strings.Contains(text, "unexpected EOF") || strings.Contains(text, "conn closed") || strings.Contains(text, "connection reset") || strings.Contains(text, "broken pipe")
}

// severalErrors is an error that wraps more than one, see [errors.Join].
type severalErrors interface{ Unwrap() []error }

// withoutWay is the innermost reason: what stands around it names the user and
// every address that was tried. Of several, one for each try, each is said once.
func withoutWay(err error) error {
	for inner := err; inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	tries, ok := err.(severalErrors)
	if !ok {
		return err
	}
	var said []string
	for _, try := range tries.Unwrap() {
		if text := try.Error(); !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	return errors.New(strings.Join(said, "; "))
}
