package pages

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/report"
)

// ReportOptions are the options of report.
type ReportOptions struct {
	HTML  string
	Text  bool
	Quick bool
}

// Validate refuses options that contradict each other.
func (o *ReportOptions) Validate(asJSON, given bool) error {
	switch {
	case given && o.HTML == "":
		return failure.Usage("sessctl report --html report.html", "--html names no file")
	case o.HTML == "-" && (o.Text || asJSON):
		return failure.Usage("write the page to a file", "--html - goes with neither --text nor --json: both print on stdout")
	case o.Text && asJSON:
		return failure.Usage("--json prints all that the text says", "--text does not go with --json")
	}
	return nil
}

// WritePage writes a document that people open in a browser. It takes the place
// of an earlier one, whose permissions it keeps, and of no other file.
func WritePage(path string, write func(io.Writer) error) error {
	perm := os.FileMode(0o600)
	if old, err := os.Lstat(path); err == nil && old.Mode().IsRegular() {
		perm = old.Mode().Perm()
	}
	err := durable.ReplaceChecked(path, perm, func(w io.Writer) error {
		out := bufio.NewWriterSize(w, 64<<10)
		return errors.Join(write(out), out.Flush())
	}, func(string) error { return CheckPage(path) })
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// CheckPage refuses to replace what is no document of ours.
func CheckPage(path string) error {
	return workspace.CheckReplaced(path, "--html", report.Mark, "make the directory first")
}
