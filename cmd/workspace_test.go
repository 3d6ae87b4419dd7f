package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
)

// A clock before 2020 knows no time yet: nothing is made with it. Before 1970
// there are no ids.
func TestAClockBeforeEverySessionChangesNothing(t *testing.T) {
	for _, year := range []int{1904, 1969, 1970, 2019} {
		dir := filepath.Join(t.TempDir(), "data")
		a := testApp(newStreams(strings.NewReader(""), nil, nil), workspace.Run{Settings: workspace.Settings{Getenv: func(string) string { return "" }, Now: func() time.Time { return time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC) }}})
		a.Global.DataDir = dir
		_, err := a.Lock(t.Context())
		if f := (*failure.Error)(nil); !errors.As(err, &f) || f.Code != "clock" {
			t.Errorf("%d: %v", year, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%d: a data directory was made", year)
		}
	}
}

// Whoever takes the lock works with the memory that is there then. Without one,
// another sessctl is at it or was killed: nothing is written to what it moved away.
func TestTheMemoryIsTheOneThereWhenTheLockIsTaken(t *testing.T) {
	a := testApp(newStreams(strings.NewReader(""), nil, nil), workspace.Run{Settings: workspace.Settings{Getenv: func(string) string { return "" }, Now: time.Now}, Stores: workspace.Stores{Pins: &durable.Pins{}}})
	a.Global.DataDir = filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(a.MemoryDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	a.Pin()
	defer a.Pins.End()
	if err := os.Rename(a.MemoryDir(), a.MemoryDir()+".damaged"); err != nil {
		t.Skip("a directory that is held open cannot be renamed here")
	}
	_, err := a.Lock(t.Context())
	if f := (*failure.Error)(nil); !errors.As(err, &f) || f.Exit != failure.ExitBusy || f.Path != a.MemoryDir() {
		t.Fatalf("no memory is there: %v", err)
	}
	if err := os.Mkdir(a.MemoryDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := a.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	if err := a.Pins.InPlace(a.MemoryDir()); err != nil {
		t.Errorf("the memory that was moved away is held still: %v", err)
	}
}
