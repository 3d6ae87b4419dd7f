package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/session"
)

// StoresDocument is `stores --json`.
type StoresDocument struct {
	Schema int         `json:"schema"`
	Stores []StoreRow  `json:"stores"`
	Unread []UnreadRow `json:"unread"` // what was seen and not read
	Notes  []Note      `json:"notes"`
}

// UnreadRow is what was seen and not read for one cause, in JSON documents.
type UnreadRow struct {
	Cause   session.Cause `json:"cause"`
	Broken  bool          `json:"broken"`  // sessions are missing that sessctl should read
	Runtime string        `json:"runtime"` // or the program that is not read
	Count   int           `json:"count"`
	Bytes   int64         `json:"bytes"` // of all, as far as that is known
	Message string        `json:"message"`
	Hint    string        `json:"hint"`
	Paths   []string      `json:"paths"` // the first of them, at most mostUnreadPaths
}

// mostUnreadPaths bounds the paths of a row.
const mostUnreadPaths = 20

// Note is the row as a line: what, how many, and one of them.
func (r UnreadRow) Note() Note { return Note{Path: r.Paths[0], Message: r.Message, Hint: r.Hint} }

// Unread returns what is seen and not read: by the stores of this run, and in places
// where sessions of programs are known to lie that no store reads. What is broken
// comes first. That there is no store is no error.
func Unread(ctx context.Context, run *Run) ([]session.Unread, error) {
	all, _, err := run.ListStores(ctx)
	if IsNoStore(err) {
		err = nil
	}
	return run.UnreadOf(all), err
}

// IsNoStore reports whether an error says that there is no store at all.
func IsNoStore(err error) bool {
	f := (*failure.Error)(nil)
	return errors.As(err, &f) && f.Code == "no_store"
}

// UnreadOf is Unread of stores that were listed.
func (run *Run) UnreadOf(all Inventory) []session.Unread {
	return slices.Concat(all.NotRead, run.passedOver(all, unreadPlaces), missing(run))
}

// TellPassedOver tells what no store reads, for a command that keeps or changes what
// there is: with --quiet too, and the exit code is 3. Where there is no store, that is
// everything that is seen; beside stores it is what is broken. An error that says that
// there is no store says then that something was seen.
func TellPassedOver(run *Run, err error) error {
	f, unread := (*failure.Error)(nil), []session.Unread(nil)
	if err != nil && (!IsNoStore(err) || !errors.As(err, &f)) {
		return err
	}
	if len(run.Opened) > 0 {
		unread = run.passedOver(Inventory{}, tornPlaces()) // no store lists a torn log
	} else {
		unread = run.UnreadOf(Inventory{})
	}
	rows := UnreadRows(unread)
	for _, row := range rows {
		run.PassOver(row.Note())
	}
	if err == nil || len(rows) == 0 {
		return err
	}
	return seenOnly(run, *f, rows)
}

// seenOnly is the error of there being no store, where something was seen. A document of
// JSON has no other place for it.
func seenOnly(run *Run, f failure.Error, rows []UnreadRow) error {
	f.Exit = failure.ExitPartly
	for _, row := range rows {
		if run.JSON {
			f.Err = fmt.Errorf("%w; %s", f.Err, row.Note().Text())
		}
	}
	return &f
}

// UnreadRows groups what was not read: one row for each cause of a runtime. What is
// broken comes first.
func UnreadRows(unread []session.Unread) []UnreadRow {
	unread = slices.SortedStableFunc(slices.Values(unread), func(x, y session.Unread) int {
		return cmp.Or(x.Cause.Compare(y.Cause), strings.Compare(x.Runtime, y.Runtime), strings.Compare(x.Path, y.Path))
	})
	rows := []UnreadRow{}
	for _, u := range unread {
		i := slices.IndexFunc(rows, func(r UnreadRow) bool { return r.Cause == u.Cause && r.Runtime == u.Runtime })
		if i < 0 {
			i = len(rows)
			rows = append(rows, UnreadRow{Cause: u.Cause, Broken: u.Cause.Broken(), Runtime: u.Runtime, Hint: cmp.Or(u.Hint, u.Cause.Hint()), Message: u.Message, Paths: []string{}})
		}
		r := &rows[i]
		r.Count++
		r.Bytes += u.Bytes
		if len(r.Paths) < mostUnreadPaths {
			r.Paths = append(r.Paths, u.Path)
		}
	}
	for i := range rows {
		rows[i].Message = rows[i].text()
	}
	return rows
}

// text is what the row says: of one thing what is known of it, of several how many
// they are.
func (r UnreadRow) text() string {
	text := r.Message
	if r.Count == 1 && text != "" {
		return text
	}
	text = "not read: " + r.Cause.Text(r.Count)
	var about []string
	if r.Runtime != "" {
		about = append(about, r.Runtime)
	}
	if r.Bytes > 0 {
		about = append(about, wording.Bytes(r.Bytes))
	}
	if len(about) > 0 {
		text += fmt.Sprintf(" (%s)", strings.Join(about, ", "))
	}
	return text
}

// TellUnread tells what was seen and not read, one line for each cause of a runtime. What
// is broken makes the run incomplete.
func (r *Report) TellUnread(rows []UnreadRow) {
	for _, row := range rows {
		if row.Broken {
			r.PassOver(row.Note())
			r.toldOf(row.Paths...)
		} else {
			r.Notice(row.Note())
		}
	}
}
