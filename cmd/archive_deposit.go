package cmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// deposit is a database into which rows go back, and its store.
type deposit struct {
	store            session.Store
	database, source string // source is where the session was when it was archived
}

// place is where a session of the same database as the source goes: where it was,
// unless that is in another home.
func (d deposit) place(source string) string {
	from := d.store.Capabilities().DatabaseFile(session.Ref{Path: source, Kind: session.KindStored})
	return d.database + strings.TrimPrefix(source, from)
}

// depositsOf returns the databases into which an archive's rows go back: all that
// they came from, of the stores that this run works on. There are none for an
// archive of anything else.
func (a *invocation) depositsOf(entry archive.Entry) (all []deposit, err error) {
	if entry.Kind != string(session.KindStored) {
		return nil, nil
	}
	stores, err := a.openStores()
	if err != nil {
		return nil, err
	}
	for _, source := range entry.Sources() {
		for _, s := range stores {
			if database := depositable(s, entry, source); database != "" {
				all = append(all, deposit{s, database, source})
			}
		}
	}
	if len(all) == 0 {
		return a.depositsInOtherHomes(stores, entry), nil
	}
	return all, nil
}

// runDeposit puts the rows of an archived session back into every database that
// they came from, with its journal and with the sessions that its agents have
// begun.
func (a *app) runDeposit(ctx context.Context, archives *archive.Store, entry archive.Entry, o restoreOptions, into []deposit) error {
	if !o.DryRun {
		w, err := a.openWorkspace(ctx, mode{reason: "restore", recover: &recovery{policy: a.recoveryPolicy(), optional: true}})
		if err != nil {
			return err
		}
		defer w.close()
	}
	rows := make([]alsoRestored, 0, len(into))
	var failed []error
	for _, d := range into {
		row, err := a.depositOne(ctx, archives, entry, o, d)
		if err != nil && (len(into) == 1 || ctx.Err() != nil) {
			return err
		}
		if err != nil {
			row.Outcome, row.Reason = string(compact.Failed), err.Error()
			failed = append(failed, err)
			a.failed(d.place(d.source), err)
		}
		rows = append(rows, row)
	}
	doc := restoreDocument{Schema: 1, DryRun: o.DryRun, Outcome: rows[0].Outcome, Reason: rows[0].Reason, Archive: newArchiveRow(entry), Path: rows[0].Path, SHA256: entry.SHA256, Bytes: entry.Bytes, Also: rows[1:]}
	return errors.Join(a.renderDeposit(doc), depositOutcome(failed, len(into)))
}

// alsoRestored is what became of a further database that the same rows came from.
type alsoRestored struct {
	Path    string `json:"path"`
	Outcome string `json:"outcome"` // restored, planned, nothing-to-do, failed
	Reason  string `json:"reason"`
}

// depositOutcome decides the exit code of several databases; each failure was told.
func depositOutcome(failed []error, of int) error {
	switch {
	case len(failed) == 0:
		return nil
	case len(failed) < of:
		return &outcomeError{exit: exitPartly}
	}
	return &outcomeError{exit: exitCode(failed[0])}
}

// depositOne puts the rows back into one database.
func (a *invocation) depositOne(ctx context.Context, archives *archive.Store, entry archive.Entry, o restoreOptions, into deposit) (alsoRestored, error) {
	row := alsoRestored{Path: into.place(into.source), Outcome: string(compact.Planned)}
	depositor := into.store.Capabilities().Depositor
	family, err := a.familyOf(ctx, archives, entry, into)
	if err != nil {
		return row, err
	}
	if n := len(family) - 1; n > 0 {
		row.Reason = "with " + plural(n, "archive") + " of what belongs to it"
	}
	if o.DryRun {
		return row, nil
	}
	rest := slices.Clone(family)
	rows, err := depositor.Deposit(ctx, into.database, func() (io.ReadCloser, error) {
		if len(rest) == 0 {
			return nil, io.EOF
		}
		e := rest[0]
		rest = rest[1:]
		return archives.OpenEntry(ctx, e.Entry)
	})
	if err != nil {
		return row, depositFailure(err, entry, into)
	}
	row.Outcome = string(compact.Restored)
	if rows == 0 {
		row.Outcome, row.Reason = string(compact.NothingToDo), "the database has all of its rows"
		return row, nil
	}
	for _, e := range family {
		line := retention.Line{Time: a.now().UTC(), Action: retention.ActionRestore, Kind: "session", Path: into.place(e.source), SHA256: e.SHA256, Bytes: e.Bytes, Archive: e.ID, Rule: "archive restore"}
		if err := a.audit().Append(line); err != nil {
			return row, err
		}
	}
	return row, nil
}

func (a *app) renderDeposit(doc restoreDocument) error {
	doc.Notes = a.notes
	if a.JSON {
		return a.printJSON(doc)
	}
	text := ""
	for _, row := range doc.Also {
		text += outcomeLine(row.Outcome, row.Path, row.Reason) + "\n"
	}
	_, err := fmt.Fprint(a.Out, describeRestore(doc)+text)
	return err
}

func depositFailure(err error, entry archive.Entry, into deposit) error {
	if errors.Is(err, session.ErrBusy) {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &failure{
			code: "no_store", exit: exitFailed, path: into.database, err: errors.New("there is no database " + into.database),
			hint: "start " + entry.Runtime + " once: it makes the database; --to FILE puts the rows into a file",
		}
	}
	return &failure{
		code: "different", exit: exitFailed, path: into.place(into.source), err: err,
		hint: "nothing was changed; sessctl archive restore " + entry.ID + " --to FILE puts the rows into a file",
	}
}

// journalEnd follows the id of a session in the name of its journal's archive.
const journalEnd = ".journal"

// member is an archive of a family, and where its session lies in the database
// into which it goes.
type member struct {
	archive.Entry
	source string
}

// familyOf returns the archive of a session, the newest ones of the sessions that
// its agents have begun, and those of all their journals: of each the one that the
// journal was when the session was archived, if there is one.
func (a *invocation) familyOf(ctx context.Context, archives *archive.Store, entry archive.Entry, into deposit) ([]member, error) {
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
	family := []member{{entry, into.source}}
	for i := 0; i < len(family); i++ {
		m := family[i]
		if strings.HasSuffix(m.Session, journalEnd) {
			continue
		}
		belongs, err := belongingIn(ctx, archives, m.Entry, into.store.Capabilities().Depositor)
		if err != nil {
			return nil, err
		}
		journal, there, err := journalOf(ctx, archives, from[m.source+journalEnd], belongs)
		if err != nil {
			return nil, err
		}
		if there {
			family = append(family, member{journal, m.source + journalEnd})
		}
		for _, id := range belongs.Sessions {
			source := strings.TrimSuffix(m.source, m.Session) + id
			copies := from[source]
			if len(copies) == 0 {
				a.notice(note{Path: m.source, Message: "there is no archive of the session " + id + ", which its agent has begun"})
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
