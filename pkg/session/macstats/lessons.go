package macstats

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// maxLessons bounds what is read of a list of lessons, in bytes.
const maxLessons = 16 << 20

// learn appends the lessons of a plan that the list does not have yet, with
// one write. A list that somebody has open is a [*session.BusyError].
func (s *Store) learn(plan session.Shortening) error {
	if len(plan.Summary.Lessons) == 0 {
		return nil
	}
	path := s.LessonsFile(session.Ref{})
	if err := durable.MakeDir(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the directory of lessons: %w", err)
	}
	d, err := directory.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("open the directory of lessons: %w", err)
	}
	defer d.Close()
	if err := durable.Sweep(filepath.Dir(path), 0); err != nil { // a kill may have left half a list
		return err
	}
	f, err := durable.OpenAppendIn(d.Root, filepath.Base(path))
	if errors.Is(err, fs.ErrNotExist) {
		return durable.CreateFile(path, 0o600, func(w io.Writer) error {
			_, err := io.WriteString(w, newLessons("", plan.Summary.Lessons))
			return err
		})
	}
	if errors.Is(err, durable.ErrHeld) {
		return &session.BusyError{Path: path, Reason: "another process has it open"}
	}
	if err != nil {
		return fmt.Errorf("open the lessons: %w", err)
	}
	defer f.Close()
	lease, err := durable.WriteLease(f)
	if errors.Is(err, durable.ErrHeld) {
		return &session.BusyError{Path: path, Reason: "another process has it open"}
	}
	if err != nil && !errors.Is(err, durable.ErrUnsupported) {
		return fmt.Errorf("ask who has the lessons open: %w", err)
	}
	if lease != nil {
		defer func() { _ = lease.Release() }() // closing does it too
	}
	known, err := io.ReadAll(io.NewSectionReader(f, 0, maxLessons))
	if err != nil {
		return fmt.Errorf("read the lessons: %w", err)
	}
	return durable.AppendRecord(f, []byte(newLessons(string(known), plan.Summary.Lessons)))
}

// newLessons is what is to be appended to a list: a bullet for each lesson that
// it does not have, on a line of its own.
func newLessons(known string, lessons []string) string {
	has := map[string]bool{}
	for line := range strings.Lines(known) {
		has[normal(line)] = true
	}
	var add strings.Builder
	for _, lesson := range lessons {
		lesson = strings.Join(strings.Fields(lesson), " ")
		if key := normal(lesson); key != "" && !has[key] {
			has[key] = true
			add.WriteString("- " + lesson + "\n")
		}
	}
	if add.Len() > 0 && known != "" && !strings.HasSuffix(known, "\n") {
		return "\n" + add.String()
	}
	return add.String()
}

// normal is a lesson as it is compared: without its bullet, its case, the
// white space and the mark at its end.
func normal(line string) string {
	line = strings.TrimLeft(strings.TrimSpace(line), "-*• ")
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(line), " ")), ".!")
}
