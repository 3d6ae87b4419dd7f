package outbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// Receipts are durable before an event is made of them. Which ones have had
// theirs is a list of their ids: they are not written in the order of their ids,
// since a change that was cut short is finished by a later run.

// BeginReceipts says that no event is made of receipts there are before the
// first event is made of any. all lists them; it is called only then. The caller
// holds the lock under which receipts are written.
func (o *Outbox) BeginReceipts(all func() ([]string, error)) error {
	if o.isThere(o.dir.told()) {
		return nil
	}
	ids, err := all()
	if err != nil {
		return err
	}
	if err := o.Pins.MakeDir(o.dir.path, 0o700); err != nil {
		return fmt.Errorf("note which receipts there are: %w", err)
	}
	err = o.Pins.ReplaceFile(o.dir.told(), 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(ids, "\n")+"\n")
		return err
	})
	if err != nil {
		return fmt.Errorf("note which receipts there are: %w", err)
	}
	return nil
}

// NewReceipts returns which of these receipts have had no event yet, none if
// [Outbox.BeginReceipts] was never called.
func (o *Outbox) NewReceipts(ids []string) (fresh []string, err error) {
	f, err := o.Pins.OpenRegular(o.dir.told())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which receipts have had an event: %w", err)
	}
	defer f.Close()
	told := make(map[string]struct{}, len(ids))
	words := bufio.NewScanner(f)
	words.Split(bufio.ScanWords)
	for words.Scan() {
		told[words.Text()] = struct{}{}
	}
	if err := words.Err(); err != nil {
		return nil, fmt.Errorf("read which receipts have had an event: %w", err)
	}
	for _, id := range ids {
		if _, known := told[id]; !known {
			fresh = append(fresh, id)
		}
	}
	return fresh, nil
}

// NoteReceipts says that these receipts have had their event, or are to have
// none. Killed before it, the same events are put again, and are the same.
func (o *Outbox) NoteReceipts(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := o.Pins.AppendLine(o.dir.told(), []byte(strings.Join(ids, " ")), 0o600); err != nil {
		return fmt.Errorf("note which receipts have had an event: %w", err)
	}
	return nil
}
