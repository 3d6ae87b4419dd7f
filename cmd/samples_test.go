package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/session"
)

// Every sample, named by nobody: its format is told from its content and its
// name, and it is read with the number of messages that stands in the table,
// or refused ("-"). A sample that the table does not have is an error.
func TestEverySampleIsRead(t *testing.T) {
	root := samples.Beside(t, "samples")
	want, err := readSampleTable(filepath.Join("testdata", "samples.txt"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(below)
		if got := sampleLine(t.Context(), path); got != want[name] {
			t.Errorf("%s: %s, want %s", name, got, want[name])
		}
		delete(want, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range want {
		t.Errorf("%s is in the table and not among the samples", name)
	}
}

// readSampleTable reads lines of runtime, messages and path.
func readSampleTable(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	table := map[string]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) >= 3 && fields[0] != "#" {
			table[strings.Join(fields[2:], " ")] = fields[0] + " " + fields[1]
		}
	}
	return table, nil
}

// sampleLine is what reading one file has come to: "pi 12", or "- -" for a
// file that is no session.
func sampleLine(ctx context.Context, path string) string {
	a := testApp(&streams{}, workspace.Run{})
	s, err := steps.SessionFile(a.Run, path)
	if err != nil {
		return "- -"
	}
	log, err := recall.OpenFound(ctx, s)
	if err != nil {
		return s.Runtime + " unreadable"
	}
	defer log.Close()
	scan, err := s.Adapter.Scan(ctx, log, session.ScanOptions{}, func(*session.Message) error { return nil })
	switch {
	case errors.Is(err, session.ErrUnknownFormat):
		return s.Runtime + " refused"
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return s.Runtime + " failed"
	}
	return fmt.Sprintf("%s %d", s.Runtime, scan.Messages)
}
