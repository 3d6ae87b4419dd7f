package steps

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
)

// PlaceInDatabase is where a session of the same database as the source goes: where it was,
// unless that is in another home.
func PlaceInDatabase(d selection.Deposit, source string) string {
	from := d.Store.Capabilities().DatabaseFile(session.Ref{Path: source, Kind: session.KindStored})
	return d.Database + strings.TrimPrefix(source, from)
}

// DepositsOf returns the databases into which an archive's rows go back: all that
// they came from, of the stores that this run works on. There are none for an
// archive of anything else.
func DepositsOf(run *workspace.Run, entry archive.Entry) (all []selection.Deposit, err error) {
	if entry.Kind != string(session.KindStored) {
		return nil, nil
	}
	stores, err := run.OpenStores()
	if err != nil {
		return nil, err
	}
	for _, source := range entry.Sources() {
		for _, s := range stores {
			if database := selection.Depositable(s, entry, source); database != "" {
				all = append(all, selection.Deposit{Store: s, Database: database, Source: source})
			}
		}
	}
	if len(all) == 0 {
		return selection.DepositsInOtherHomes(run, stores, entry), nil
	}
	return all, nil
}

// AlsoRestored is what became of a further database that the same rows came from.
type AlsoRestored struct {
	Path    string `json:"path"`
	Outcome string `json:"outcome"` // restored, planned, nothing-to-do, failed
	Reason  string `json:"reason"`
}

// DepositOutcome decides the exit code of several databases; each failure was told.
func DepositOutcome(failed []error, of int) error {
	switch {
	case len(failed) == 0:
		return nil
	case len(failed) < of:
		return &failure.Outcome{Exit: failure.ExitPartly}
	}
	return &failure.Outcome{Exit: failure.ExitCode(failed[0])}
}

// ArchivedRows is an archived session whose rows go back into databases.
type ArchivedRows struct {
	Archives *archive.Store
	Entry    archive.Entry
	DryRun   bool // only look at what would be put back
}

// DepositOne puts the rows back into one database.
func DepositOne(ctx context.Context, run *workspace.Run, of ArchivedRows, into selection.Deposit) (AlsoRestored, error) {
	row := AlsoRestored{Path: PlaceInDatabase(into, into.Source), Outcome: string(compact.Planned)}
	depositor := into.Store.Capabilities().Depositor
	family, err := familyOf(ctx, run, of.Archives, of.Entry, into)
	if err != nil {
		return row, err
	}
	if n := len(family) - 1; n > 0 {
		row.Reason = "with " + wording.Plural(n, "archive") + " of what belongs to it"
	}
	if err := depositor.Accepts(ctx, into.Database, logsOf(ctx, of, family)); err != nil {
		return row, depositFailure(err, of.Entry, into)
	}
	if of.DryRun {
		return row, nil
	}
	rows, err := depositor.Deposit(ctx, into.Database, logsOf(ctx, of, family))
	if err != nil {
		return row, depositFailure(err, of.Entry, into)
	}
	row.Outcome = string(compact.Restored)
	if rows == 0 {
		row.Outcome, row.Reason = string(compact.NothingToDo), session.ReasonSameRows.Text()
		return row, nil
	}
	for _, e := range family {
		line := retention.Line{Time: run.Now().UTC(), Action: retention.ActionRestore, Kind: "session", Path: PlaceInDatabase(into, e.source), SHA256: e.SHA256, Bytes: e.Bytes, Archive: e.ID, Rule: "restore"}
		if err := run.Audit().Append(line); err != nil {
			return row, err
		}
	}
	return row, nil
}

// logsOf opens the archives of a family one after the other.
func logsOf(ctx context.Context, of ArchivedRows, family []member) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		if len(family) == 0 {
			return nil, io.EOF
		}
		e := family[0]
		family = family[1:]
		return of.Archives.OpenEntry(ctx, e.Entry)
	}
}

func depositFailure(err error, entry archive.Entry, into selection.Deposit) error {
	if errors.Is(err, session.ErrBusy) {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &failure.Error{
			Code: "no_store", Exit: failure.ExitFailed, Path: into.Database, Err: errors.New("there is no database " + into.Database),
			Hint: "start " + entry.Runtime + " once: it makes the database; --to FILE puts the rows into a file",
		}
	}
	if lack := (*rowlog.LackError)(nil); errors.As(err, &lack) {
		return &failure.Error{
			Code: "different", Exit: failure.ExitFailed, Path: PlaceInDatabase(into, into.Source), Err: err,
			Hint: "nothing was changed; start " + entry.Runtime + " once in " + cmp.Or(entry.Project, "the directory of the session") + ", which may make that row; sessctl restore " + entry.ID + " --to FILE puts the rows into a file",
		}
	}
	return &failure.Error{
		Code: "different", Exit: failure.ExitFailed, Path: PlaceInDatabase(into, into.Source), Err: err,
		Hint: "nothing was changed; sessctl restore " + entry.ID + " --to FILE puts the rows into a file",
	}
}

// member is an archive of a family, and where its session lies in the database
// into which it goes.
type member struct {
	archive.Entry
	source string
}

// familyOf returns the archive of a session, the newest ones of the sessions that
// its agents have begun, and those of all their journals: of each the one that the
// journal was when the session was archived, if there is one.
func familyOf(ctx context.Context, run *workspace.Run, archives *archive.Store, entry archive.Entry, into selection.Deposit) ([]member, error) {
	all, err := archives.List(ctx, archive.Filter{Runtime: entry.Runtime})
	if err != nil {
		return nil, err
	}
	from := map[string][]archive.Entry{} // by where they came from, the newest last
	for _, e := range all {
		for _, source := range e.Sources() {
			from[source] = append(from[source], e)
		}
	}
	family := []member{{entry, into.Source}}
	for i := 0; i < len(family); i++ {
		m := family[i]
		if strings.HasSuffix(m.Session, removal.JournalEnd) {
			continue
		}
		belongs, err := belongingIn(ctx, archives, m.Entry, into.Store.Capabilities().Depositor)
		if err != nil {
			return nil, err
		}
		journal, there, err := journalOf(ctx, archives, from[m.source+removal.JournalEnd], belongs)
		if err != nil {
			return nil, err
		}
		if there {
			family = append(family, member{journal, m.source + removal.JournalEnd})
		}
		for _, id := range belongs.Sessions {
			source := strings.TrimSuffix(m.source, m.Session) + id
			copies := from[source]
			if len(copies) == 0 {
				run.Notice(workspace.Note{Path: m.source, Message: "there is no archive of the session " + id + ", which its agent has begun"})
			} else if !slices.ContainsFunc(family, func(x member) bool { return x.source == source }) {
				family = append(family, member{copies[len(copies)-1], source})
			}
		}
	}
	return family, nil
}

// journalOf chooses among the archives of a session's journal the one that it was
// when the session was archived, else the newest.
func journalOf(ctx context.Context, archives *archive.Store, all []archive.Entry, of session.Belonging) (archive.Entry, bool, error) {
	if len(all) == 0 {
		return archive.Entry{}, false, nil
	}
	for _, e := range slices.Backward(all) {
		if e.Lines != of.Events+1 { // and the row that counts them
			continue
		}
		same, err := endsWith(ctx, archives, e, of.LastEvent)
		if err != nil || same {
			return e, err == nil, err
		}
	}
	return all[len(all)-1], true, nil
}

// endsWith reports whether the last line of an archive is the row of an id.
func endsWith(ctx context.Context, archives *archive.Store, e archive.Entry, id string) (bool, error) {
	quoted, err := json.Marshal(id)
	if err != nil {
		return false, err
	}
	var last []byte
	err = eachLine(ctx, archives, e, func(line []byte) { last = append(last[:0], line[:min(len(line), beginningOfRow)]...) })
	return bytes.Contains(last, append([]byte(`"id":`), quoted...)), err
}

// beginningOfRow is more, in bytes, than what stands in a line before the id of its
// row.
const beginningOfRow = 512

// belongingIn is what an archived session names.
func belongingIn(ctx context.Context, archives *archive.Store, e archive.Entry, d session.Depositor) (all session.Belonging, err error) {
	err = eachLine(ctx, archives, e, func(line []byte) {
		b := d.Belonging(line)
		all.Sessions = append(all.Sessions, b.Sessions...)
		if b.Events > 0 {
			all.Events, all.LastEvent = b.Events, b.LastEvent
		}
	})
	return all, err
}

// eachLine reads an archive line by line; of one that is longer than a megabyte
// only its beginning. What it hands out is valid until the next one.
func eachLine(ctx context.Context, archives *archive.Store, e archive.Entry, take func(line []byte)) error {
	log, err := archives.OpenEntry(ctx, e)
	if err != nil {
		return err
	}
	defer log.Close()
	lines := bufio.NewReaderSize(log, 1<<20)
	begins := true
	for {
		line, more, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if begins {
			take(line)
		}
		begins = !more
	}
}
