package cmd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// deposit is the database into which rows go back, and its store.
type deposit struct {
	store    session.Store
	database string
}

// depositOf returns the database into which an archive's rows go back; false for
// an archive of anything else.
func (a *app) depositOf(entry archive.Entry) (into deposit, ok bool, err error) {
	if entry.Kind != string(session.KindStored) {
		return deposit{}, false, nil
	}
	stores, err := a.openStores()
	if err != nil {
		return deposit{}, false, err
	}
	for _, s := range stores {
		can := s.Capabilities()
		if can.Depositor == nil || can.DatabaseFile == nil || s.Runtime() != entry.Runtime {
			continue
		}
		database := can.DatabaseFile(session.Ref{Path: entry.Source, Kind: session.KindStored})
		if filepath.Dir(database) == s.Root() {
			return deposit{s, database}, true, nil
		}
	}
	return deposit{}, false, nil
}

// runDeposit puts the rows of an archived session back, with its journal and
// with the sessions that its agents have begun.
func (a *app) runDeposit(ctx context.Context, archives *archive.Store, entry archive.Entry, o restoreOptions, into deposit) error {
	depositor := into.store.Capabilities().Depositor
	family, err := a.familyOf(ctx, archives, entry, depositor)
	if err != nil {
		return err
	}
	doc := restoreDocument{Schema: 1, DryRun: o.DryRun, Outcome: string(compact.Planned), Archive: newArchiveRow(entry), Path: entry.Source, SHA256: entry.SHA256, Bytes: entry.Bytes}
	if n := len(family) - 1; n > 0 {
		doc.Reason = "with " + plural(n, "archive") + " of what belongs to it"
	}
	if o.DryRun {
		return a.renderDeposit(doc)
	}
	w, err := a.openWorkspace(ctx, mode{reason: "restore", recover: &recovery{policy: a.recoveryPolicy(), optional: true}})
	if err != nil {
		return err
	}
	defer w.close()
	rest := slices.Clone(family)
	rows, err := depositor.Deposit(ctx, into.database, func() (io.ReadCloser, error) {
		if len(rest) == 0 {
			return nil, io.EOF
		}
		e := rest[0]
		rest = rest[1:]
		return archives.OpenEntry(ctx, e)
	})
	if err != nil {
		return depositFailure(err, entry)
	}
	doc.Outcome = string(compact.Restored)
	if rows == 0 {
		doc.Outcome, doc.Reason = string(compact.NothingToDo), "the database has all of its rows"
		return a.renderDeposit(doc)
	}
	for _, e := range family {
		line := retention.Line{Time: a.now().UTC(), Action: retention.ActionRestore, Kind: "session", Path: e.Source, SHA256: e.SHA256, Bytes: e.Bytes, Archive: e.ID, Rule: "archive restore"}
		if err := a.audit().Append(line); err != nil {
			return err
		}
	}
	return a.renderDeposit(doc)
}

func (a *app) renderDeposit(doc restoreDocument) error {
	doc.Notes = a.notes
	if a.global.JSON {
		return a.printJSON(doc)
	}
	_, err := fmt.Fprint(a.Out, describeRestore(doc))
	return err
}

func depositFailure(err error, entry archive.Entry) error {
	if errors.Is(err, session.ErrBusy) {
		return err
	}
	return &failure{
		code: "different", exit: exitFailed, path: entry.Source, err: err,
		hint: "nothing was changed; sessctl archive restore " + entry.ID + " --to FILE puts the rows into a file",
	}
}

// journalEnd follows the id of a session in the name of its journal's archive.
const journalEnd = ".journal"

// familyOf returns the archive of a session, the newest ones of the sessions that
// its agents have begun, and those of all their journals.
func (a *app) familyOf(ctx context.Context, archives *archive.Store, entry archive.Entry, d session.Depositor) ([]archive.Entry, error) {
	all, err := archives.List(ctx, archive.Filter{Runtime: entry.Runtime})
	if err != nil {
		return nil, err
	}
	newest := map[string]archive.Entry{} // by where it came from
	for _, e := range all {
		if old, ok := newest[e.Source]; !ok || e.CreatedAt.After(old.CreatedAt) {
			newest[e.Source] = e
		}
	}
	family := []archive.Entry{entry}
	for i := 0; i < len(family); i++ {
		e := family[i]
		if strings.HasSuffix(e.Session, journalEnd) {
			continue
		}
		if journal, ok := newest[e.Source+journalEnd]; ok {
			family = append(family, journal)
		}
		children, err := childrenIn(ctx, archives, e, d)
		if err != nil {
			return nil, err
		}
		for _, id := range children {
			child, ok := newest[strings.TrimSuffix(e.Source, e.Session)+id]
			if !ok {
				a.notice(note{Path: e.Source, Message: "there is no archive of the session " + id + ", which its agent has begun"})
			} else if !slices.ContainsFunc(family, func(x archive.Entry) bool { return x.ID == child.ID }) {
				family = append(family, child)
			}
		}
	}
	return family, nil
}

// childrenIn are the sessions that an archived one names.
func childrenIn(ctx context.Context, archives *archive.Store, e archive.Entry, d session.Depositor) (ids []string, err error) {
	log, err := archives.OpenEntry(ctx, e)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	lines := bufio.NewReaderSize(log, 1<<20)
	for {
		line, more, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return ids, nil
		}
		if err != nil {
			return nil, err
		}
		if !more { // a line that is longer names none
			ids = append(ids, d.Family(bytes.Clone(line))...)
		}
	}
}
