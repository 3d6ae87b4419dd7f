package cmd

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/tui"
	"golang.org/x/sys/unix"
)

// A mistake in the browser ends it with the terminal as it was, and with an error
// that says so.
func TestBrowsePanics(t *testing.T) {
	screen, own, err := pty.Open()
	if err != nil {
		t.Skip("no pseudo-terminal:", err)
	}
	defer screen.Close()
	var drawn bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&drawn, screen) // until the terminal is closed
	}()
	if err := pty.Setsize(own, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	before, err := unix.IoctlGetTermios(int(own.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	a := programAt(t, t.TempDir(), new(time.Duration), map[string]string{"TERM": "xterm"})
	a.In, a.Out, a.OutTTY = own, own, true
	a.Now = func() time.Time {
		for range 1000 { // the screen is drawn by then
			time.Sleep(5 * time.Millisecond)
			if during, err := unix.IoctlGetTermios(int(own.Fd()), unix.TCGETS); err == nil && *during != *before {
				panic("a mistake of the test")
			}
		}
		return time.Now()
	}
	err = runBrowse(t.Context(), a, tui.BrowseOptions{Sort: "bytes"})
	if f := (*failure.Error)(nil); !errors.As(err, &f) || f.Code != "failed" || f.Exit != failure.ExitFailed || !strings.Contains(err.Error(), "a bug") {
		t.Errorf("%v", err)
	}
	after, err := unix.IoctlGetTermios(int(own.Fd()), unix.TCGETS)
	if err != nil || *after != *before {
		t.Errorf("the terminal was %+v and is %+v (%v)", before, after, err)
	}
	_ = own.Close()
	<-read
	for _, want := range []string{"\x1b[?1049l", "\x1b[?25h"} {
		if text := drawn.String(); strings.LastIndex(text, want) < strings.LastIndex(text, "\x1b[?1049h") {
			t.Errorf("%q is not said at the end: %q", want, text)
		}
	}
}
