//go:build unix

package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sessctl/sessctl/internal/postgres"
	"github.com/sessctl/sessctl/internal/scriptcmd"
)

// planted are secrets of every kind as a session may show them, and what of each
// must be found nowhere. They are made up.
var planted = []struct{ text, secret string }{
	{"-----BEGIN RSA PRIVATE KEY-----\nMIIEplanted01\nghijklmn\n-----END RSA PRIVATE KEY-----", "MIIEplanted01"},
	{"-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQOYplanted02\n-----END PGP PRIVATE KEY BLOCK-----", "lQOYplanted02"},
	{"AGE-SECRET-KEY-1PLANTED03QQQQQQQQQQQQQQQ", "PLANTED03"},
	{"sk-planted04ghijklmnopqrstuvwx", "planted04"},
	{"sk-ant-api03-PLANTED05BBBBCCCC", "PLANTED05"},
	{"sk_live_" + "0a5b1c6planted06", "planted06"},
	{"whsec_0123planted0789abcdef", "planted07"},
	{"ghp_planted08ijklmnopqrstuvwxyz0123456789", "planted08"},
	{"github_pat_11PLANTED09abcdefghij_klmnop", "PLANTED09"},
	{"glpat-planted10j0123456789", "planted10"},
	{"AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"},
	{"xoxb-123456789012-planted12jkl", "planted12"},
	{"https://hooks.slack.com/services/T00000000/B00000000/PLANTED13XXXX", "PLANTED13"},
	{"https://discord.com/api/webhooks/123456789/planted14jklmnopqrst", "planted14"},
	{"AIzaSyPLANTED15456789abcdefghijklmnopq", "PLANTED15"},
	{"ya29.a0planted16ABabcdefghijklmnop", "planted16"},
	{"gsk_planted17jklmnopqrstuvwxyz", "planted17"},
	{"npm_planted18jklmnopqrstuvwxyz", "planted18"},
	{"pypi-AgEIplanted19mcCJGFiY2Rl", "planted19"},
	{"dop_v1_0123456789abcdef0123420202", "abcdef0123420202"},
	{"shpat_0123456789abcdef2121", "abcdef2121"},
	{"AccountName=x;AccountKey=planted22jklmnopqrstuvwxyz0123==;", "planted22"},
	{"eyJhbGciOiJIUzI1NiJ9.eyJplanted23iIxMjM0In0.dBjftJeZ4CVP", "planted23"},
	{"curl -H 'Authorization: Bearer planted24.123456'", "planted24"},
	{"Set-Cookie: sid=planted25abcdef; Path=/", "planted25"},
	{`"x-api-key": "planted26h12345"`, "planted26"},
	{"postgres://shed:planted27pw@db.example/shed", "planted27"},
	{"hf_planted28jklmnopqrstuvwx", "planted28"},
	{"SG.abcdefghijklmnopqrst.planted2989uvwxyzab", "planted29"},
	{"password=planted30-laub-2019", "planted30"},
	{"aws_secret_access_key = planted31FEMI/K7MDENG", "planted31"},
	{"hvs" + ".planted32jklmnopqrstuvwxyz01", "planted32"},
	{"curl -s --user admin:planted33horse1 https://x.example", "planted33"},
	{"https://x.blob.example/c?sv=2022&sig=planted34jklmnopqrstuvwx%3D", "planted34"},
}

// TestSharedMemory has one server for all that is done with the program.
func TestSharedMemory(t *testing.T) {
	server, err := postgres.StartVector(t.Context(), postgres.TextSearch())
	if errors.Is(err, postgres.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	t.Run("keeps no secret", func(t *testing.T) { keepsNoSecret(t, server) })
	t.Run("later rules redact", func(t *testing.T) { laterRulesRedact(t, server) })
	t.Run("nothing is due after forgetting", func(t *testing.T) { nothingIsDue(t, server) })
	t.Run("a name of another role", func(t *testing.T) { nameOfAnotherRole(t, server) })
	t.Run("machines of one name", func(t *testing.T) { machinesOfOneName(t, server) })
	t.Run("a network that is cut", func(t *testing.T) { networkIsCut(t, server) })
}

// host is a machine that pushes.
type host struct{ home, name, dsn, timeout string }

// sessctl runs the program and returns what it printed; it must end with this
// exit code.
func (h host) sessctl(t *testing.T, exit int, arguments ...string) string {
	t.Helper()
	out, told := h.outputs(t, exit, arguments...)
	return out + told
}

// outputs is sessctl, with what it printed to stdout and to stderr.
func (h host) outputs(t *testing.T, exit int, arguments ...string) (out, told string) {
	t.Helper()
	var stdout, stderr strings.Builder
	c := exec.CommandContext(t.Context(), buildProgram(t), arguments...)
	c.Env = []string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "SESSCTL_MEMORY_REMOTE_URL=" + h.dsn, "SESSCTL_MEMORY_REMOTE_HOST=" + h.name, "SESSCTL_MEMORY_REMOTE_TIMEOUT=" + cmp.Or(h.timeout, "10s")}
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	if c.ProcessState == nil || c.ProcessState.ExitCode() != exit {
		t.Fatalf("sessctl %s: %v, not exit code %d\n%s%s", strings.Join(arguments, " "), err, exit, &stdout, &stderr)
	}
	return stdout.String(), stderr.String()
}

// machinesOfOneName: what one machine has pushed another of the same name, whose
// memory has a record in common with it, neither drops nor adds to, until that is
// asked for.
func machinesOfOneName(t *testing.T, server *postgres.Server) {
	sql(t, server.DSN, "CREATE DATABASE names")
	first := host{home: filepath.Join(t.TempDir(), "home"), name: "localhost", dsn: strings.Replace(server.DSN, "dbname=postgres", "dbname=names", 1)}
	second := host{home: filepath.Join(t.TempDir(), "home"), name: "localhost", dsn: first.dsn}
	for h, said := range map[host]string{first: "The heron of the first machine sleeps.", second: "The zebra of the second machine wakes."} {
		talk(t, h.home, "both", []string{"The walrus of both machines swims."})
		talk(t, h.home, strings.Fields(said)[1], []string{said})
		h.sessctl(t, 0, "archive", "--all", "--remember")
	}
	first.sessctl(t, 0, "fleet", "init")
	first.sessctl(t, 0, "push")
	for _, arguments := range [][]string{{"push"}, {"push", "--verify"}, {"push", "--dry-run"}, {"push", "--json"}} {
		out, told := second.outputs(t, 1, arguments...)
		if !strings.Contains(told, "came from another memory") || !strings.Contains(told, "if another machine has this name too, set memory.remote.host") {
			t.Errorf("%v: %s", arguments, told)
		}
		if out != "" {
			t.Errorf("%v was refused, and has a result: %s", arguments, out)
		}
	}
	if out := second.sessctl(t, 1, "doctor"); !strings.Contains(out, "came from another memory") {
		t.Errorf("doctor: %s", out)
	}
	recalled := func(words string, want int) {
		t.Helper()
		if got := strings.Count(first.sessctl(t, 1-min(want, 1), "recall", "--everywhere", "--rank", "text", words), "of the first machine"); got < want || want == 0 && got > 0 {
			t.Errorf("%q is found %d times", words, got)
		}
	}
	recalled("heron", 1)
	second.name = "another"
	second.sessctl(t, 0, "push")
	recalled("heron", 1)
	second.name = "localhost"
	if out := second.sessctl(t, 0, "push", "--take-over", "--dry-run"); !strings.Contains(out, "has 4 records of localhost that another memory has sent") || !strings.Contains(out, "2 of them this memory never had") {
		t.Errorf("take over: %s", out)
	}
	recalled("heron", 1)
	second.sessctl(t, 0, "push", "--take-over")
	second.sessctl(t, 0, "push")
	first.sessctl(t, 1, "push")
	recalled("heron", 0)
}

// networkIsCut: where nothing gets through any more and nothing is closed, a question is
// answered by the memory of this host, a push ends, and what is forgotten here waits:
// each says so after memory.remote.timeout. Afterwards all of it is done.
func networkIsCut(t *testing.T, server *postgres.Server) {
	h := newHost(t, server, "cut")
	talk(t, h.home, "walrus", []string{"The walrus swims.", "The heron sleeps."})
	h.sessctl(t, 0, "archive", "--all", "--remember")
	h.sessctl(t, 0, "fleet", "init")
	h.sessctl(t, 0, "push")
	whole := h.dsn
	for _, bytes := range []int64{0, 1500, 4000} { // while it connects, and later
		way, stop, err := postgres.Between(whole, cutAfter(bytes))
		if err != nil {
			t.Fatal(err)
		}
		h.dsn = way + " connect_timeout=2"
		h.timeout = "2s"
		out, told := h.outputs(t, 0, "recall", "--everywhere", "--rank", "text", "walrus swims")
		if !strings.Contains(out, "The walrus swims.") || !strings.Contains(told, "cannot be reached") {
			t.Errorf("recall after %d bytes: %s%s", bytes, out, told)
		}
		if out := h.sessctl(t, 75, "push", "--verify"); !strings.Contains(out, "cannot be reached") {
			t.Errorf("push after %d bytes: %s", bytes, out)
		}
		stop()
	}
	h.dsn = whole
	h.sessctl(t, 0, "push", "--verify")
}

// cutAfter serves a connection until so many bytes have come back from the server;
// from then on nothing gets through, and nothing is closed.
func cutAfter(most int64) func(host net.Conn, at string) {
	return func(host net.Conn, at string) {
		server, err := net.Dial("unix", at)
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(server, host) }()
		_, _ = io.CopyN(host, server, most)
		_, _ = io.Copy(io.Discard, server)
	}
}

// nothingIsDue: doctor finds nothing to be told where the server was told already,
// and another host foresees what it will forget.
func nothingIsDue(t *testing.T, server *postgres.Server) {
	h := newHost(t, server, "due")
	talk(t, h.home, "walrus", []string{"The walrus swims.", "The heron sleeps."})
	h.sessctl(t, 0, "archive", "--all", "--remember")
	h.sessctl(t, 0, "fleet", "init")
	h.sessctl(t, 0, "push")
	other := host{home: filepath.Join(t.TempDir(), "home"), name: "other", dsn: h.dsn}
	talk(t, other.home, "walrus", []string{"The walrus swims.", "The heron sleeps."})
	other.sessctl(t, 0, "archive", "--all", "--remember")
	other.sessctl(t, 0, "push")
	if out := h.sessctl(t, 0, "memory", "forget", "--text", "heron", "--yes"); !strings.Contains(out, "forgotten in the shared memory too") {
		t.Fatal(out)
	}
	if out := other.sessctl(t, 0, "push", "--dry-run"); !strings.Contains(out, "would be forgotten here, because another host forgot them") || strings.Contains(out, "would be dropped") {
		t.Error(out)
	}
	for _, arguments := range [][]string{nil, {"push", "--verify"}, {"push"}} {
		if arguments != nil {
			h.sessctl(t, 0, arguments...)
		}
		if out := h.sessctl(t, 0, "doctor"); strings.Contains(out, "not sent yet") {
			t.Errorf("after %v: %s", arguments, out)
		}
	}
}

// laterRulesRedact: a value that was pushed when the rules did not know it goes from
// every table of the server with memory redact, and is not found by its words.
func laterRulesRedact(t *testing.T, server *postgres.Server) {
	const secret = "Qx7vLm2TzRk9"
	h := newHost(t, server, "redacted")
	talk(t, h.home, "walrus", []string{"The walrus took " + secret + " as it is.", "That was password=" + secret + " of the walrus."})
	h.sessctl(t, 0, "archive", "--all", "--remember")
	if err := scriptcmd.Unredact(t.Context(), filepath.Join(h.home, ".local/share/sessctl/memory"), secret); err != nil {
		t.Fatal(err)
	}
	h.sessctl(t, 0, "fleet", "init")
	h.sessctl(t, 0, "push")
	if rows := wholeDatabase(t, h.dsn); !strings.Contains(rows, "walrus took "+strings.ToLower(secret)) {
		t.Fatal("what older rules left was not pushed")
	}
	if out := h.sessctl(t, 0, "memory", "redact", "--json"); !strings.Contains(out, `"shared": true`) || !strings.Contains(out, `"values": 1`) {
		t.Errorf("memory redact: %s", out)
	}
	if rows := wholeDatabase(t, h.dsn); strings.Contains(rows, strings.ToLower(secret)) || !strings.Contains(rows, "walrus took [redacted]") {
		t.Error("what today's rules find is still in a table")
	}
	h.sessctl(t, 1, "recall", "--everywhere", "--rank", "text", secret)
	h.sessctl(t, 0, "push", "--verify")
	if out := h.sessctl(t, 0, "memory", "redact"); !strings.Contains(out, "nothing to redact") {
		t.Errorf("a second time: %s", out)
	}
}

// nameOfAnotherRole: a role that may not push under a name is told so by whatever
// looks, and is not sent to --take-over.
func nameOfAnotherRole(t *testing.T, server *postgres.Server) {
	owner := newHost(t, server, "roles")
	owner.sessctl(t, 0, "fleet", "init")
	sql(t, server.DSN, "CREATE ROLE first_role LOGIN IN ROLE sessctl_host", "CREATE ROLE second_role LOGIN IN ROLE sessctl_host")
	first, second := owner, owner
	first.dsn, second.dsn = strings.Replace(owner.dsn, "user=postgres", "user=first_role", 1), strings.Replace(owner.dsn, "user=postgres", "user=second_role", 1)
	second.home = filepath.Join(t.TempDir(), "home")
	for _, h := range []host{first, second} {
		talk(t, h.home, "walrus", []string{"The walrus swims."})
		h.sessctl(t, 0, "archive", "--all", "--remember")
	}
	first.sessctl(t, 0, "push")
	for _, arguments := range [][]string{{"push"}, {"push", "--dry-run"}, {"push", "--take-over", "--dry-run"}, {"push", "--take-over"}, {"doctor"}} {
		out := second.sessctl(t, 1, arguments...)
		if !strings.Contains(out, "belongs to another role") || !strings.Contains(out, "--take-over does not help") {
			t.Errorf("%v: %s", arguments, out)
		}
	}
}

// newHost is a machine that pushes to a database of its own.
func newHost(t *testing.T, server *postgres.Server, name string) host {
	sql(t, server.DSN, "CREATE DATABASE "+name)
	return host{home: filepath.Join(t.TempDir(), "home"), name: name, dsn: strings.Replace(server.DSN, "dbname=postgres", "dbname="+name, 1)}
}

// keepsNoSecret: what is pushed has none of the secrets of a session, in any table,
// index or file of the server; and what was forgotten is in none either, once the
// tables were written anew.
func keepsNoSecret(t *testing.T, server *postgres.Server) {
	afterwards := []string{"VACUUM FULL sessctl.records", "VACUUM FULL sessctl.term_counts"}
	if postgres.TextSearch() != "" {
		sql(t, server.DSN, "CREATE EXTENSION pg_textsearch")
		afterwards = append(afterwards, "VACUUM FULL sessctl.record_words")
	}
	home := filepath.Join(t.TempDir(), "home")
	var texts []string
	for i, p := range planted {
		texts = append(texts, fmt.Sprintf("Step %d of the walrus plan. Use %s for it.", i+1, p.text))
	}
	talk(t, home, "alpha", texts)
	talk(t, home, "beta", []string{"The zebulonian heron sleeps by the quibblesome lake.", "Nobody else knows of the quibblesome lake."})
	laptop := host{home: home, name: "laptop", dsn: server.DSN}
	sessctl := func(arguments ...string) {
		t.Helper()
		laptop.sessctl(t, 0, arguments...)
	}
	sessctl("archive", "--all", "--remember")
	sessctl("fleet", "init")
	sessctl("push")
	sql(t, server.DSN, "ANALYZE", "CHECKPOINT")
	rows, files := wholeDatabase(t, server.DSN), filesOfServer(t, server.DSN, "")
	for _, p := range planted {
		secret := strings.ToLower(p.secret)
		if strings.Contains(rows, secret) || bytes.Contains(files, []byte(secret)) {
			t.Errorf("%s is in the shared memory", p.secret)
		}
	}
	const word = "quibblesome"
	if n := strings.Count(rows, "[redacted]"); n < len(planted) || !strings.Contains(rows, word) || !bytes.Contains(files, []byte(word)) {
		t.Fatalf("%d places are redacted; what is looked for is not found where it is", n)
	}
	alone := host{home: home, name: "laptop"} // its server cannot be told
	alone.sessctl(t, 0, "memory", "forget", "--text", word, "--yes")
	if out, _ := laptop.outputs(t, 1, "recall", "--everywhere", "--rank", "text", "zebulonian heron "+word); out != "" {
		t.Errorf("what this host has forgotten is answered before the server knows of it: %s", out)
	}
	sessctl("push")
	if strings.Contains(wholeDatabase(t, server.DSN), word) {
		t.Error("what was forgotten is in a table")
	}
	sql(t, server.DSN, append(afterwards, "CHECKPOINT")...)
	if bytes.Contains(filesOfServer(t, server.DSN, "base"), []byte(word)) {
		t.Error("what was forgotten is in a file of the database")
	}
}

// talk writes a session of pi in which a person says these texts.
func talk(t *testing.T, home, project string, texts []string) {
	t.Helper()
	dir := filepath.Join(home, ".pi/agent/sessions", "--"+project+"--")
	id := "5f0c1c2e-6d0a-4f57-9d2b-0c8e1f1a2b3c"
	log := fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-03-01T10:00:00.000Z","cwd":"/w"}`, id) + "\n"
	parent := "null"
	for i, text := range texts {
		for k, role := range []string{"user", "assistant"} {
			said, _ := json.Marshal([]string{text, "Noted."}[k]) // a text always can be
			log += fmt.Sprintf(`{"type":"message","id":"a%07d","parentId":%s,"timestamp":"2026-03-01T10:%02d:%02d.000Z","message":{"role":%q,"content":[{"type":"text","text":%s}],"stopReason":"stop"}}`,
				2*i+k, parent, i, k+1, role, said) + "\n"
			parent = fmt.Sprintf(`"a%07d"`, 2*i+k)
		}
	}
	path := filepath.Join(dir, "2026-03-01T10-00-00-000Z_"+id+".jsonl")
	old := time.Now().Add(-2 * time.Hour)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(path, []byte(log), 0o600), os.Chtimes(path, old, old)); err != nil {
		t.Fatal(err)
	}
}

func sql(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// wholeDatabase is every row of every table, the server's own included, in lower
// case.
func wholeDatabase(t *testing.T, dsn string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	found, err := conn.Query(t.Context(), "SELECT c.oid::regclass::text FROM pg_class c WHERE relkind IN ('r', 'm') AND relpersistence='p'")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, table := range tables {
		rows, err := conn.Query(t.Context(), "SELECT x::text FROM "+table+" x")
		if err != nil {
			t.Fatal(err)
		}
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		all.WriteString(strings.Join(list, "\n"))
	}
	return strings.ToLower(all.String())
}

// filesOfServer are the files below a directory of the server's, one after
// another, in lower case.
func filesOfServer(t *testing.T, dsn, below string) (all []byte) {
	t.Helper()
	dir := filepath.Join(strings.TrimPrefix(strings.Fields(dsn)[0], "host="), "data", below)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return ignoreGone(err)
		}
		data, err := os.ReadFile(name)
		all = append(append(all, bytes.ToLower(data)...), 0)
		return ignoreGone(err)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ignoreGone: the server is at work, and files come and go.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
