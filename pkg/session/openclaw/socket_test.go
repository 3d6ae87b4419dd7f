package openclaw_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/fakegateway"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
)

// Where the configuration does not tell how the socket is reached, or the
// gateway does not let us in, the program is asked.
func TestProgramIsTheFallback(t *testing.T) {
	for name, config := range map[string]string{
		"no configuration":       "",
		"comments":               `{ // mine` + "\n" + `"gateway": {"auth": {"token": "fake-token"}}}`,
		"a secret elsewhere":     `{"gateway": {"auth": {"token": {"source": "env", "id": "X"}}}}`,
		"a secret of a variable": `{"gateway": {"auth": {"token": "${X}"}}}`,
		"another token":          `{"gateway": {"auth": {"token": "another"}}}`,
		"TLS":                    `{"gateway": {"tls": {"enabled": true}, "auth": {"token": "fake-token"}}}`,
		"no token":               `{"gateway": {"auth": {"mode": "token"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newServed(t)
			if config != "" {
				s.write(filepath.Join(s.root, "openclaw.json"), config)
			}
			if _, err := s.Reset(context.Background(), s.planReset()); err != nil {
				t.Fatal(err)
			}
			if len(s.calls) != 2 {
				t.Errorf("the program was run %d times", len(s.calls))
			}
		})
	}
}

// The token may be in the variable that the runtime's own program goes by.
func TestTokenOfAVariable(t *testing.T) {
	s := newServed(t)
	s.write(filepath.Join(s.root, "openclaw.json"), `{"gateway": {"auth": {"mode": "token"}}}`)
	s.open(openclaw.Options{Command: os.Args[0], LockDirs: s.lockDirs(), Run: s.run, Environment: []string{"OPENCLAW_GATEWAY_TOKEN=" + fakegateway.Token}})
	if _, err := s.Reset(context.Background(), s.planReset()); err != nil || len(s.calls) != 0 {
		t.Error(s.calls, err)
	}
}

// With the socket nobody needs the program.
func TestSocketWithoutProgram(t *testing.T) {
	s := newServed(t)
	if err := s.gateway.Configure(); err != nil {
		t.Fatal(err)
	}
	s.open(openclaw.Options{Command: "no-such-program", LockDirs: s.lockDirs()})
	if _, err := s.Reset(context.Background(), s.planReset()); err != nil {
		t.Error(err)
	}
}

// For a second or so a message is no turn, only work that waits: by its socket
// the gateway says so, and there is no reset.
func TestResetAfterAMessageThatIsNoTurnYet(t *testing.T) {
	s := newServed(t)
	if err := s.gateway.Configure(); err != nil {
		t.Fatal(err)
	}
	r := s.planReset()
	s.gateway.Behave(fakegateway.Queued)
	_, err := s.Reset(context.Background(), r)
	wantBusy(t, err, "a turn is going on")
	if slices.Contains(s.gateway.Asked(), "sessions.reset") {
		t.Error("it was reset all the same")
	}
}

// The end of a turn is waited for; what it has added to the log must be archived
// before the session is started fresh.
func TestResetWaitsForAGap(t *testing.T) {
	eachWay(t, func(t *testing.T, s *served) {
		r := s.planReset()
		s.open(openclaw.Options{Command: os.Args[0], LockDirs: s.lockDirs(), Run: s.run, Wait: time.Hour})
		waited, adds := 0, false
		s.SetPause(func() {
			if waited++; waited == 3 {
				s.gateway.Behave(fakegateway.Well)
				if adds {
					s.log(mainID+".jsonl", transcript(mainID)+question)
				}
			}
		})
		s.gateway.Behave(fakegateway.Active)
		adds = true
		_, err := s.Reset(context.Background(), r)
		var busy *session.BusyError
		if !errors.As(err, &busy) || busy.Change == "" || waited != 3 {
			t.Fatalf("%v after %d waits, want a log that has changed", err, waited)
		}
		if slices.Contains(s.gateway.Asked(), "sessions.reset") {
			t.Error("it was reset all the same")
		}
		s.gateway.Behave(fakegateway.Active)
		waited, adds = 0, false
		r = s.planReset()
		if _, err := s.Reset(context.Background(), r); err != nil || waited != 3 {
			t.Errorf("%v after %d waits", err, waited)
		}
	})
}

// A lock that another user has written could name any port: no secret goes
// there.
func TestSecretGoesToNoForeignPort(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a file away")
	}
	s := newServed(t)
	if err := errors.Join(s.gateway.Configure(), os.Chown(s.gateway.Lock(), 4711, 4711)); err != nil {
		t.Fatal(err)
	}
	_, err := s.Reset(context.Background(), s.planReset())
	if len(s.calls) == 0 || err != nil && strings.Contains(err.Error(), fakegateway.Token) {
		t.Error(s.calls, err)
	}
}

// A gateway that has written down a fresh session and goes on with the old one has
// started nothing fresh.
func TestResetThatIsNotInForce(t *testing.T) {
	s := newServed(t)
	if err := s.gateway.Configure(); err != nil {
		t.Fatal(err)
	}
	r := s.planReset()
	s.SetPause(func() {})
	s.gateway.Behave(fakegateway.Stale)
	_, err := s.Reset(context.Background(), r)
	var gateway *session.GatewayError
	if !errors.As(err, &gateway) || !strings.Contains(err.Error(), "goes on with "+mainID) {
		t.Fatalf("%v, want that it goes on with the old session", err)
	}
	// What it has done stands in its files, and the next run finds it.
	if _, ok, err := s.FindReset(context.Background(), r); err != nil || !ok {
		t.Errorf("found %v, %v", ok, err)
	}
}
