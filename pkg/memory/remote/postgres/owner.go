package postgres

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// ErrInvited is returned for a host whose role is there already.
var ErrInvited = errors.New("it has a role on the server already")

// OwnerOptions say how the owner of a shared memory connects.
type OwnerOptions struct {
	URL      string // as in [Options]
	As       string // role that connects whatever the URL says, "" for the one it says
	Database string // that a superuser makes a shared memory in, where the URL names none
	Invites  bool   // roles are going to be made
	Timeout  time.Duration
}

// Needs is the error for an owner who may not do all of it: only a superuser may, with
// statements in a database.
type Needs struct {
	Role, Database string
	Statements     []string
}

// Error implements error.
func (n *Needs) Error() string {
	return fmt.Sprintf("%s: the role %s may not do all that is needed in the database %s", remote.ErrNotAllowed, n.Role, n.Database)
}

// Unwrap is [remote.ErrNotAllowed].
func (n *Needs) Unwrap() error { return remote.ErrNotAllowed }

// needs finds out what a superuser has to do before an owner who is none sets it up.
func (o *Owner) needs(ctx context.Context, invites bool) error {
	var n Needs
	var may, makes, roles, gives, vector bool
	err := o.admin.QueryRow(ctx, `SELECT current_user, current_database(), has_database_privilege(current_database(), 'CREATE'), u.rolcreaterole,
		EXISTS (SELECT FROM pg_roles WHERE rolname = 'sessctl_host'), 2 = (SELECT count(DISTINCT g.rolname) FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
			WHERE m.member = u.oid AND m.admin_option AND g.rolname IN ('sessctl_host', 'sessctl_reader')),
		EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') OR NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector')
		FROM pg_roles u WHERE u.rolname = current_user`).Scan(&n.Role, &n.Database, &may, &makes, &roles, &gives, &vector)
	if err != nil {
		return classify(err)
	}
	for statement, missing := range map[string]bool{
		"CREATE EXTENSION vector": !vector,
		"GRANT CREATE ON DATABASE " + quoted(n.Database) + " TO " + quoted(n.Role):       !may,
		"ALTER ROLE " + quoted(n.Role) + " CREATEROLE":                                   !makes && (invites || !roles),
		"GRANT sessctl_host, sessctl_reader TO " + quoted(n.Role) + " WITH ADMIN OPTION": roles && !gives,
	} {
		if missing {
			n.Statements = append(n.Statements, statement)
		}
	}
	if len(n.Statements) == 0 {
		return nil
	}
	slices.Sort(n.Statements)
	return &n
}

// Owner is a shared memory as its owner has it: who may push is decided here.
type Owner struct {
	*Memory
	admin *pgx.Conn // as who connected: a superuser, or the owner
	super bool
}

// Own connects as the owner and brings the tables up to date. A superuser first makes
// what is missing: the database, its owner (a role that cannot log in) and pgvector.
func Own(ctx context.Context, o OwnerOptions) (*Owner, error) {
	way := asRole(o.URL, o.As)
	first, err := connect(ctx, way)
	if err != nil {
		return nil, err
	}
	own := &Owner{admin: first}
	var database, role string
	err = first.QueryRow(ctx, "SELECT rolsuper, current_database() FROM pg_roles WHERE rolname = current_user").Scan(&own.super, &database)
	switch {
	case err == nil && own.super:
		role, database, err = own.found(ctx, way, database, o.Database)
	case err == nil:
		err = own.needs(ctx, o.Invites)
	}
	if err == nil {
		own.Memory, err = open(ctx, Options{URL: way, SetUp: true, Timeout: o.Timeout, as: role, database: database}, migrations())
	}
	if err == nil && role != "" {
		_, err = own.admin.Exec(ctx, "GRANT sessctl_host, sessctl_reader TO "+quoted(role)+" WITH ADMIN OPTION") // another memory of this server may have made them
	}
	if err != nil {
		_ = own.admin.Close(ctx) // the error says more
		return nil, classify(err)
	}
	return own, nil
}

// found makes the database if there is none, and returns who owns it: "" if that is who
// connected. From then on admin is connected to it.
func (o *Owner) found(ctx context.Context, way, now, wanted string) (owner, database string, err error) {
	if database = now; o.admin.Config().Database == "" { // it was not named, so it is the one of the role's name
		database = wanted
	}
	var there bool
	if err := o.admin.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", database).Scan(&there); err != nil {
		return "", "", err
	}
	if !there {
		const role = "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = %s) THEN CREATE ROLE %s NOLOGIN CREATEROLE; END IF; END $$"
		if _, err := o.admin.Exec(ctx, fmt.Sprintf(role, literal(database), quoted(database))); err != nil {
			return "", "", err
		}
		if _, err := o.admin.Exec(ctx, "CREATE DATABASE "+quoted(database)+" OWNER "+quoted(database)); err != nil {
			return "", "", err
		}
	}
	_ = o.admin.Close(ctx) // nothing is under way
	if o.admin, err = connect(ctx, way, func(c *pgx.ConnConfig) { c.Database = database }); err != nil {
		return "", "", err
	}
	if _, err = o.admin.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS vector"); err != nil {
		return "", "", err
	}
	err = o.admin.QueryRow(ctx, "SELECT CASE WHEN pg_get_userbyid(datdba) = current_user THEN '' ELSE pg_get_userbyid(datdba)::text END FROM pg_database WHERE datname = current_database()").Scan(&owner)
	return owner, database, err
}

// Close ends the connections.
func (o *Owner) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return errors.Join(o.admin.Close(ctx), o.Memory.Close())
}

// Place says where the server is and which database it is, as who connects knows it: a
// host name and a port, or the directory of a socket.
func (o *Owner) Place() (host string, port uint16, database string) {
	c := o.conn.Config()
	return c.Host, c.Port, c.Database
}

// Invite makes the role of a host, which may push and ask, with a password that works
// until the host has set its own. With again, a role that is there gets a new one: the
// old one ends.
func (o *Owner) Invite(ctx context.Context, host string, again bool) (password string, err error) {
	if len(host) > 63 { // what PostgreSQL keeps of a name
		return "", fmt.Errorf("the name of a role has at most 63 bytes: %s", host)
	}
	password = rand.Text()
	verifier, err := verifierOf(password)
	if err != nil {
		return "", err
	}
	var there, ours bool
	err = o.conn.QueryRow(ctx, `SELECT r.oid IS NOT NULL, EXISTS (SELECT FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid AND g.rolname = 'sessctl_host')
		FROM (SELECT 1) one LEFT JOIN pg_roles r ON r.rolname = $1`, host).Scan(&there, &ours)
	change := "CREATE ROLE " + quoted(host) + " LOGIN PASSWORD " + literal(verifier) + " IN ROLE sessctl_host, sessctl_reader"
	switch {
	case err != nil:
	case there && !(ours && again):
		return "", fmt.Errorf("%s: %w", host, ErrInvited)
	case there:
		change = "ALTER ROLE " + quoted(host) + " LOGIN PASSWORD " + literal(verifier)
	}
	for _, statement := range []string{change, "UPDATE " + schemaName + ".hosts SET role = " + literal(host) + " WHERE name = " + literal(host) + " AND role = current_user"} {
		if err == nil {
			_, err = o.conn.Exec(ctx, statement)
		}
	}
	if err != nil {
		return "", fmt.Errorf("make the role %s: %w", host, classify(err))
	}
	return password, nil
}

// Remove takes a host out: it can push no more, its records are removed, and so is its role
// unless that has pushed for other hosts. What it has forgotten stays forgotten. It returns
// how many records were removed; a removal that was cut off can be repeated.
func (o *Owner) Remove(ctx context.Context, host string) (records int, err error) {
	var role string
	err = o.conn.QueryRow(ctx, "SELECT role FROM "+schemaName+".hosts WHERE name = $1", host).Scan(&role)
	if errors.Is(err, pgx.ErrNoRows) {
		role, err = host, nil // it was invited, and has not pushed
	}
	if err == nil {
		err = o.exec(ctx, "UPDATE "+schemaName+".hosts SET role = current_user, memory = '', last_push = 0, heard = 0, uploaded = 0, verified = 0, archives = '' WHERE name = $1", host)
	}
	for n := 1; n > 0 && err == nil; records += n {
		n, err = o.removeSome(ctx, host)
	}
	for _, role := range []string{role, host} { // of one that was cut off the owner has the name already
		if err == nil {
			err = o.dropRole(ctx, role)
		}
	}
	if err != nil {
		return records, fmt.Errorf("remove %s: %w", host, classify(err))
	}
	return records, nil
}

// removeSome removes records of a host, few enough that others do not wait for it.
func (o *Owner) removeSome(ctx context.Context, host string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, o.options.Timeout)
	defer cancel()
	tag, err := o.conn.Exec(ctx, "DELETE FROM "+schemaName+".records WHERE key = ANY (ARRAY(SELECT r.key FROM "+schemaName+".records r JOIN "+schemaName+".hosts h ON h.host = r.host WHERE h.name = $1 LIMIT 500))", host)
	return int(tag.RowsAffected()), err
}

// dropRole removes the role of a host that no host has any more.
func (o *Owner) dropRole(ctx context.Context, role string) error {
	var ours bool
	err := o.conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid JOIN pg_roles r ON r.oid = m.member WHERE r.rolname = $1 AND g.rolname = 'sessctl_host' AND r.rolname <> current_user) AND NOT EXISTS (SELECT FROM "+schemaName+".hosts WHERE role = $1)", role).Scan(&ours)
	if err != nil || !ours {
		return err
	}
	_, err = o.conn.Exec(ctx, "DROP ROLE "+quoted(role))
	return err
}

// Tell notes how a host is, and with pushed that a push of it has come to its end.
func (m *Memory) Tell(ctx context.Context, host string, h remote.Health, pushed bool) error {
	const update = "UPDATE " + schemaName + ".hosts SET heard = CASE WHEN $5 THEN (extract(epoch FROM clock_timestamp()) * 1000)::bigint ELSE heard END, uploaded = $2, verified = $3, archives = $4 WHERE name = $1"
	if err := m.exec(ctx, update, host, h.Uploaded, h.Verified, h.Archives, pushed); err != nil {
		return fmt.Errorf("tell how this host is: %w", err)
	}
	return nil
}

// ChangePassword gives the role that connects another password.
func ChangePassword(ctx context.Context, m *Memory, password string) error {
	verifier, err := verifierOf(password)
	if err == nil {
		err = m.exec(ctx, "ALTER ROLE CURRENT_USER PASSWORD "+literal(verifier))
	}
	if err != nil {
		return fmt.Errorf("change the password: %w", err)
	}
	return nil
}

// verifierOf is what the server keeps of a password (RFC 5802): the password itself
// would be in its log, if it logs statements.
func verifierOf(password string) (string, error) {
	const rounds = 4096
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	salted, err := pbkdf2.Key(sha256.New, password, salt, rounds, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	mac := func(text string) []byte {
		h := hmac.New(sha256.New, salted)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	stored := sha256.Sum256(mac("Client Key"))
	text := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", rounds, text(salt), text(stored[:]), text(mac("Server Key"))), nil
}

// Reach is what decides whether hosts reach the server.
type Reach struct {
	Directory string // of the server's data, on its machine
	Rules     string // file that says who may connect (pg_hba.conf)
	Listens   string // listen_addresses
	TLS       bool
	// Certificates are PEM, those that the server shows, and their file.
	Certificates, CertificateFile string
	// Allowed says that a rule lets hosts connect to this database over the network.
	Allowed bool
}

// Reach looks at what only a superuser may see. Others see ErrNotAllowed.
func (o *Owner) Reach(ctx context.Context) (r Reach, err error) {
	if !o.super {
		return r, fmt.Errorf("%w: only a superuser of the server may see how it is reached", remote.ErrNotAllowed)
	}
	err = o.admin.QueryRow(ctx, `SELECT current_setting('data_directory'), current_setting('hba_file'), current_setting('listen_addresses'), current_setting('ssl')::boolean, current_setting('ssl_cert_file'),
		EXISTS (SELECT FROM pg_hba_file_rules WHERE error IS NULL AND type IN ('host', 'hostssl') AND auth_method NOT IN ('reject', 'trust')
			AND ('all' = ANY (database) OR current_database() = ANY (database)) AND coalesce(address, '') NOT IN ('127.0.0.1', '::1', 'samehost', 'localhost'))`).
		Scan(&r.Directory, &r.Rules, &r.Listens, &r.TLS, &r.CertificateFile, &r.Allowed)
	if err == nil && r.TLS {
		err = o.admin.QueryRow(ctx, "SELECT pg_read_file($1)", r.CertificateFile).Scan(&r.Certificates)
	}
	if err != nil {
		return r, fmt.Errorf("look how the server is reached: %w", classify(err))
	}
	return r, nil
}

// Set sets settings of the server, as pairs of name and value, and lets it read its files again.
func (o *Owner) Set(ctx context.Context, pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if _, err := o.admin.Exec(ctx, "ALTER SYSTEM SET "+quoted(pairs[i])+" = "+literal(pairs[i+1])); err != nil {
			return fmt.Errorf("set %s: %w", pairs[i], classify(err))
		}
	}
	if _, err := o.admin.Exec(ctx, "SELECT pg_reload_conf()"); err != nil {
		return fmt.Errorf("let the server read its settings: %w", classify(err))
	}
	return nil
}

// Authority is the certificate at the end of the chain by which the connection was
// verified, nil if none was.
func (o *Owner) Authority() *x509.Certificate {
	secured, ok := o.conn.PgConn().Conn().(*tls.Conn)
	if !ok {
		return nil
	}
	chains := secured.ConnectionState().VerifiedChains
	if len(chains) == 0 {
		return nil
	}
	return chains[0][len(chains[0])-1]
}

// refusedPassword is the code of a password that is wrong.
const refusedPassword = "28P01"

// IsWrongPassword reports whether the server has refused a password.
func IsWrongPassword(err error) bool {
	var known *pgconn.PgError
	return errors.As(err, &known) && known.Code == refusedPassword
}

var rolesOf = regexp.MustCompile(`(^|\s)(user|password)\s*=\s*('(\\.|[^'\\])*'|\S+)`)

// asRole is a way to the server with another role, whose password the usual files and
// variables have.
func asRole(way, role string) string {
	if role == "" {
		return way
	}
	u, err := url.Parse(way)
	if err != nil || u.Scheme == "" {
		return strings.TrimSpace(rolesOf.ReplaceAllString(way, "") + " user='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(role) + "'")
	}
	u.User = url.User(role)
	q := u.Query()
	q.Del("user")
	q.Del("password")
	u.RawQuery = q.Encode()
	return u.String()
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
