//go:build unix

package operate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/operate/outbox"
)

// TestOutboxCommand: the program gets the envelope and no shell, only exit code 0 is a
// yes, and neither its output nor its time is without bounds.
func TestOutboxCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "got")
	keep := outbox.Command{Run: []string{"/bin/sh", "-c", `cat >"$1"; echo "$SESSCTL_EVENT_TYPE $SESSCTL_EVENT_ID" >>"$1"`, "sh", file}, Source: "//host/sessctl", Env: os.Environ()}
	if err := keep.Send(t.Context(), example()); err != nil {
		t.Fatal(err)
	}
	document, _ := example().Document("//host/sessctl")
	if got, err := os.ReadFile(file); err != nil || string(got) != string(document)+"\nrun.failed "+example().ID+"\n" {
		t.Errorf("%s, %v", got, err)
	}
	for script, want := range map[string]outbox.Failure{
		"echo no; exit 3": {Reason: "sh: exit status 3: no"},
		"exit 75":         {Reason: "sh: exit status 75", Unreachable: true},
		"head -c 10000000 /dev/zero | tr '\\0' x; exit 1": {Reason: "sh: exit status 1: " + strings.Repeat("x", shownComplaint)},
	} {
		var f *outbox.Failure
		if err := (outbox.Command{Run: []string{"/bin/sh", "-c", script}, Env: os.Environ()}).Send(t.Context(), example()); !errors.As(err, &f) || *f != want {
			t.Errorf("%s: %+v", script, f)
		}
	}
	var f *outbox.Failure
	if err := (outbox.Command{Run: []string{"/no/such/program"}}).Send(t.Context(), example()); !errors.As(err, &f) || !f.Unreachable {
		t.Errorf("%v", err)
	}
	slow := outbox.Command{Run: []string{"/bin/sleep", "100"}, Timeout: 20 * time.Millisecond}
	if err := slow.Send(context.Background(), example()); !errors.As(err, &f) || !f.Unreachable || !strings.HasPrefix(f.Reason, "sleep did not end within") {
		t.Errorf("%v", err)
	}
}

// TestOutboxCommandLeftBehind: what a command has left behind may hold its output as
// long as it wants. The exit code of the command counts.
func TestOutboxCommandLeftBehind(t *testing.T) {
	for script, want := range map[string]string{"sleep 3 & exit 0": "", "sleep 3 & exit 3": "sh: exit status 3"} {
		err := (outbox.Command{Run: []string{"/bin/sh", "-c", script}, Env: os.Environ()}).Send(t.Context(), example())
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
}
