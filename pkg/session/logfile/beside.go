package logfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// maxBeside bounds what is read of a text beside the logs, in bytes.
const maxBeside = 16 << 20

// appendText appends to a text that a runtime keeps beside its logs and may
// have open, with one write and under a lease. missing gets what the text says
// and returns what is to be added. A text that is not there is made, with its
// directory, for its user alone. what names it in errors ("lessons"). It
// returns a [*session.BusyError] while somebody has the text open.
func (l *Logs) appendText(path, what string, missing func(known string) string) error {
	store, err := l.store()
	if err != nil {
		return err
	}
	defer store.Close()
	below, err := filepath.Rel(l.Store, filepath.Dir(path))
	if err != nil {
		return err
	}
	if err := durable.MakeDirIn(store.Root, below, 0o700); err != nil {
		return fmt.Errorf("make the directory of %s: %w", what, err)
	}
	d, err := store.Below(below)
	if err != nil {
		return fmt.Errorf("open the directory of %s: %w", what, err)
	}
	defer d.Close()
	if err := durable.SweepIn(d.Root, 0); err != nil { // a kill may have left half a text
		return err
	}
	info, err := d.Stat(filepath.Base(path))
	switch {
	case err != nil:
		return err
	case info == nil:
		return durable.CreateCheckedIn(d.Root, filepath.Base(path), nil, func(w io.Writer) error {
			_, err := io.WriteString(w, missing(""))
			return err
		}, nil)
	case !info.Mode().IsRegular():
		return fmt.Errorf("open the %s %s: %w", what, path, durable.ErrNotRegular)
	}
	change := &Change{Dir: d, Plan: session.Shortening{Rotation: session.Rotation{Live: path}}}
	held, err := change.holdToAppend()
	if err != nil {
		return err
	}
	defer held.Close()
	known, err := io.ReadAll(io.NewSectionReader(held.File(), 0, maxBeside))
	if err != nil {
		return fmt.Errorf("read the %s: %w", what, err)
	}
	return held.Append([]byte(missing(string(known))))
}

// store opens the directory of the store, which must be the one that the logs of
// this run are in: somebody may have put a link in its place.
func (l *Logs) store() (*Dir, error) {
	top, err := l.Top()
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	defer top.Close()
	store, err := Open(l.Store)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	below, err := filepath.Rel(l.Store, l.Base)
	if err == nil && sameIn(store, below, top) {
		return store, nil
	}
	store.Close()
	return nil, errors.Join(err, &session.BusyError{Path: l.Store, Reason: session.ReasonDirectoryPut.Text()})
}

// sameIn reports whether a directory below one is another one.
func sameIn(d *Dir, below string, other *Dir) bool {
	there, err := d.Root.Stat(below)
	if err != nil {
		return false
	}
	want, err := other.Root.Stat(".")
	return err == nil && os.SameFile(there, want)
}

// AppendList appends to a list that a runtime keeps beside its logs, and may
// have open, the items that it does not have: each is a bullet on a line of its
// own, and two that differ in case, white space or the mark at their end are
// the same one. A list that is not there is made, with its directory, for its
// user alone. what names it in errors ("lessons"). AppendList returns a
// [*session.BusyError] while somebody has the list open.
func (l *Logs) AppendList(path, what string, items []string) error {
	if len(items) == 0 {
		return nil
	}
	return l.appendText(path, what, func(known string) string { return newItems(known, items) })
}

// newItems is what is to be appended to a list: a bullet for each item that it
// does not have, on a line of its own.
func newItems(known string, items []string) string {
	has := map[string]bool{}
	for line := range strings.Lines(known) {
		has[asItem(line)] = true
	}
	var add strings.Builder
	for _, item := range items {
		item = strings.Join(strings.Fields(item), " ")
		if key := asItem(item); key != "" && !has[key] {
			has[key] = true
			add.WriteString("- " + item + "\n")
		}
	}
	if add.Len() > 0 && known != "" && !strings.HasSuffix(known, "\n") {
		return "\n" + add.String()
	}
	return add.String()
}

// asItem is an item as it is compared: without its bullet, its case, the
// white space and the mark at its end.
func asItem(line string) string {
	line = strings.TrimLeft(strings.TrimSpace(line), "-*• ")
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(line), " ")), ".!")
}

// SwapBeside exchanges two files of the directory that are no logs, by their
// names: a new text, complete under the name next, and the one whose place it
// takes. What was there is at next then, whoever has written it, so that the
// caller can look whether it is what he has read.
// [durable.ErrUnsupported] is returned where the system cannot.
func (d *Dir) SwapBeside(system durable.System, next, name string) error {
	return system.ExchangeFilesIn(d.Root, next, name)
}
