//go:build linux && amd64

package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/postgres"
)

// fleets are the commands that make hosts the hosts of a fleet, on a real server. What
// they send to it counts as a call, and so does what they do in its directory. Where
// no server is installed there are none.
func fleets() []Command {
	if !postgres.Available() {
		return nil
	}
	return []Command{
		{
			Name: "fleet init", Runtime: "pi", Slow: true, Args: []string{"fleet", "init", "--server", "localhost:$PORT", "alpha"},
			Prepare: emptyServer, Done: isInvited, Whole: serverStarts, Refusals: []string{"it has a role on the server already"},
		},
		{
			Name: "fleet join", Runtime: "pi", Slow: true, Args: []string{"fleet", "join", "-", "--no-schedule", "--lock-wait", "100ms"},
			Prepare: wasInvited, Done: hasJoined, Whole: joinedOrNot, Settled: nothingJoining,
		},
		{
			Name: "fleet remove", Runtime: "pi", Slow: true, Args: []string{"fleet", "remove", "alpha", "--yes"},
			Prepare: wasJoined, Done: wasRemoved, Settled: wasRemoved,
		},
	}
}

// sharedServer is a PostgreSQL server, with what brings it back into the state in which
// a command starts.
type sharedServer struct {
	server *postgres.Server
	port   int
	again  []string // statements
	rules  []byte   // pg_hba.conf
}

func (s *sharedServer) data() string { return filepath.Join(s.server.Directory(), "data") }

// env lets the superuser connect by the socket.
func (s *sharedServer) env() []string {
	return []string{"PGHOST=" + s.server.Directory(), "PGPORT=" + strconv.Itoa(s.port), "PGUSER=postgres"}
}

// exec carries out statements, each by itself, in a database.
func (s *sharedServer) exec(database string, statements ...string) error {
	for _, statement := range statements {
		if err := postgres.Exec(context.Background(), strings.Replace(s.server.DSN, "dbname=postgres", "dbname="+database, 1), statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// holds returns an error unless a condition holds in a database.
func (s *sharedServer) holds(database, condition string) error {
	return s.exec(database, "DO $$ BEGIN ASSERT "+condition+"; END $$")
}

const gone = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"

// asBefore brings back the rules, the settings, the roles and the database.
func (s *sharedServer) asBefore() error {
	err := os.WriteFile(filepath.Join(s.data(), "pg_hba.conf"), s.rules, 0o600)
	made, _ := filepath.Glob(filepath.Join(s.data(), "sessctl-*")) // the pattern is ours
	for _, path := range made {
		if len(s.again) == 0 {
			err = errors.Join(err, os.Remove(path))
		}
	}
	err = errors.Join(err, s.exec("postgres", gone, "DROP DATABASE IF EXISTS sessctl WITH (FORCE)", "DROP ROLE IF EXISTS alpha"))
	if len(s.again) == 0 {
		return errors.Join(err, s.exec("postgres", "DROP ROLE IF EXISTS sessctl, sessctl_host, sessctl_reader", "ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()"), s.untilWithoutTLS())
	}
	return errors.Join(err, s.exec("postgres", s.again...))
}

// untilWithoutTLS waits for the server to have read its settings.
func (s *sharedServer) untilWithoutTLS() (err error) {
	for range 100 {
		if err = s.holds("postgres", "current_setting('ssl') = 'off'"); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// emptyServer is a home beside a server that was just installed.
func emptyServer(h *Home) error {
	server, port, err := postgres.Listening(context.Background())
	if err != nil {
		return err
	}
	h.shared = &sharedServer{server: server, port: port}
	h.Command.Args = strings.Split(strings.ReplaceAll(strings.Join(h.Command.Args, "\x00"), "$PORT", strconv.Itoa(port)), "\x00")
	h.shared.rules, err = os.ReadFile(filepath.Join(h.shared.data(), "pg_hba.conf"))
	return err
}

var invitation = regexp.MustCompile(`sessctl-fleet-1:\S+`)

// wasInvited is a home with a memory and a line, which it is given on stdin.
func wasInvited(h *Home) error {
	if err := errors.Join(emptyServer(h), h.must([]int{0}, "archive", "--runtime", "pi", "--agent", "work-a", "--remember")); err != nil {
		return err
	}
	code, out, err := h.Run("fleet", "init", "--server", "localhost:"+strconv.Itoa(h.shared.port), "alpha")
	if err != nil || code != 0 {
		return fmt.Errorf("fleet init: exit %d, %v: %s", code, err, out)
	}
	h.Command.Input = invitation.FindString(out)
	return h.shared.keep()
}

// keep notes the state of now as the one to come back to.
func (s *sharedServer) keep() (err error) {
	s.rules, err = os.ReadFile(filepath.Join(s.data(), "pg_hba.conf"))
	const copied, verifiers = "CREATE DATABASE kept TEMPLATE sessctl", "CREATE TABLE verifiers AS SELECT rolpassword AS verifier FROM pg_authid WHERE rolname = 'alpha'"
	s.again = []string{
		"CREATE DATABASE sessctl OWNER sessctl TEMPLATE kept",
		"DO $$ DECLARE v text; BEGIN SELECT verifier INTO v FROM verifiers; SET LOCAL ROLE sessctl; EXECUTE format('CREATE ROLE alpha LOGIN PASSWORD %L IN ROLE sessctl_host, sessctl_reader', v); END $$",
	}
	return errors.Join(err, s.exec("postgres", "DROP DATABASE IF EXISTS kept", "DROP TABLE IF EXISTS verifiers", gone, copied, verifiers))
}

// wasJoined is the home of an owner after a host has joined and pushed.
func wasJoined(h *Home) error {
	if err := errors.Join(wasInvited(h), h.must([]int{0}, "fleet", "join", "-", "--no-schedule"), hasJoined(h)); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(filepath.Join(h.Dir, "home/.config")), h.shared.keep())
}

// isInvited checks that the server is set up, and that the host has a role.
func isInvited(h *Home) error {
	return errors.Join(h.must([]int{0}, "fleet", "init"), h.shared.holds("sessctl", "EXISTS (SELECT FROM pg_roles WHERE rolname = 'alpha' AND rolcanlogin)"), serverStarts(h))
}

// serverStarts checks that the server understands its rules, and starts again with its
// settings.
func serverStarts(h *Home) error {
	if err := h.shared.holds("postgres", "NOT EXISTS (SELECT FROM pg_hba_file_rules WHERE error NOT LIKE '%SSL is disabled%')"); err != nil { // which it passes over
		return err
	}
	h.shared.server.Kill()
	return h.shared.server.Restart(context.Background())
}

// hasJoined checks that the host pushes, and that the server has what it remembers.
func hasJoined(h *Home) error {
	return errors.Join(h.must([]int{0}, "push"), h.shared.holds("sessctl", fmt.Sprintf("%d <= (SELECT count(*) FROM sessctl.records r JOIN sessctl.hosts h USING (host) WHERE h.name = 'alpha')", Chunks)))
}

// joinedOrNot checks that a host whose join was cut off is in no fleet, or can push: one
// that is told that its password is wrong does not know why.
func joinedOrNot(h *Home) error {
	code, out, err := h.Run("push", "--dry-run")
	if err != nil || code != 0 && !strings.Contains(out, "no shared memory is configured") {
		return fmt.Errorf("a push after a join that was cut off: exit %d, %v: %s", code, err, out)
	}
	return nil
}

// nothingJoining checks that no password is left in another file.
func nothingJoining(h *Home) error {
	left, err := filepath.Glob(filepath.Join(h.Dir, "home/.config/sessctl/fleet.yaml?*"))
	if len(left) > 0 {
		err = fmt.Errorf("files of a join are left: %v", left)
	}
	return err
}

// wasRemoved checks that the server has neither records of the host nor its role.
func wasRemoved(h *Home) error {
	return errors.Join(
		h.shared.holds("sessctl", "NOT EXISTS (SELECT FROM sessctl.records r JOIN sessctl.hosts h USING (host) WHERE h.name = 'alpha')"),
		h.shared.holds("sessctl", "NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'alpha')"))
}
