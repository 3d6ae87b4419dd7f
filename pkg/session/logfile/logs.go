package logfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/sessctl/sessctl/pkg/session"
)

// Logs are the logs of one store whose sessions are files. The store of a
// runtime embeds them and has with that most of what [session.Store],
// [session.Liveness] and [session.Restorer] ask for. What a runtime does in
// another way it has as a method of its own, which may call the one of Logs.
// Nothing of Logs changes a log: see [RotatingLogs].
//
// They hold nothing open but what Pin does, and may be used by several goroutines at once.
type Logs struct {
	Name  string // of the runtime
	Store string // the root, as the store was opened
	Base  string // the directory that all logs are below
	Depth int    // how many directories further down a log is at most
	Pin   *Pin   // of Base, for stores in which something may be changed
	// Locate reads where a log is, below Base and with slashes. It returns the
	// session as far as its place tells, without Runtime, Store and Path, and
	// false where no log can be. A log that was moved aside never comes here:
	// its name stands for the one that it had.
	Locate func(below string) (session.Ref, bool)
	// Owned is true where only the runtime changes its logs: one can be put
	// where none is, and never in the place of another. It gets mode 0600.
	// Else another log in its directory lends it its mode and owner.
	Owned bool
	// Like reports whether a file that is no log may lend them too; nil for
	// none.
	Like func(name string) bool

	// ReadAll reads a whole log: the store's Scan.
	ReadAll func(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error)
	// ReadTail reads the end of a log; nil: the whole log is read.
	ReadTail func(ctx context.Context, log *os.File, info os.FileInfo, ref session.Ref) (session.Tail, error)
}

// Runtime implements [session.Store].
func (l *Logs) Runtime() string { return l.Name }

// Root implements [session.Store].
func (l *Logs) Root() string { return l.Store }

// OpenLog opens the log of a session.
func (l *Logs) OpenLog(ref session.Ref) (*os.File, os.FileInfo, error) {
	d, name, err := l.Directory(ref.Path)
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	return d.OpenLog(name)
}

// Tail implements [session.Store].
func (l *Logs) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	log, info, err := l.OpenLog(ref)
	if err != nil {
		return session.Tail{}, err
	}
	defer log.Close()
	if l.ReadTail == nil {
		return session.TailScan(ctx, log, info.ModTime(), l.ReadAll)
	}
	return l.ReadTail(ctx, log, info, ref)
}

// CountMessages implements [session.MessageCounter] by reading all of the log.
func (l *Logs) CountMessages(ctx context.Context, ref session.Ref) (int, error) {
	return l.CountBy(ctx, ref, l.CountIn)
}

// CountBy counts the messages of a log with count, which gets all of it.
func (l *Logs) CountBy(ctx context.Context, ref session.Ref, count func(ctx context.Context, log io.Reader) (int, error)) (int, error) {
	log, info, err := l.OpenLog(ref)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	return count(ctx, io.NewSectionReader(log, 0, info.Size()))
}

// CountIn counts the messages of a log by reading all of it.
func (l *Logs) CountIn(ctx context.Context, log io.Reader) (int, error) {
	scan, err := l.ReadAll(ctx, log, session.ScanOptions{}, func(*session.Message) error { return nil })
	return scan.Records, err
}

// Busy implements [session.Liveness], for runtimes that leave no sign of life
// but what they write.
func (l *Logs) Busy(ctx context.Context, q session.BusyQuestion) error {
	return l.Ask(ctx, Question{q, l.Tail})
}

// Ask is [Dir.Busy] for the log of the question's session. It also returns a
// [*session.BusyError] when the log's directory is gone.
func (l *Logs) Ask(ctx context.Context, q Question) error {
	d, name, err := l.Directory(q.Ref.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return Gone(q.Ref.Path)
	}
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Busy(ctx, name, q)
}

// later returns a [*session.NewerError] if another live log of the same key has
// messages and was written after a rotation: the session went on there.
func (l *Logs) later(ctx context.Context, listing session.Listing, r session.Rotation) error {
	gone, _ := l.locate(r.Live)
	for _, ref := range listing.Refs {
		if ref.Kind != session.KindLive || ref.Key != gone.Key || ref.Path == r.Live || !ref.ModTime.After(r.At) {
			continue
		}
		tail, err := l.Tail(ctx, ref)
		if err != nil {
			return err
		}
		if tail.Messages > 0 {
			return &session.NewerError{Path: ref.Path, Session: ref.ID, Messages: tail.Messages}
		}
	}
	return nil
}
