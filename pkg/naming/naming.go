package naming

import (
	"context"
	"errors"
	"io"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/facts"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize/state"
)

const (
	titleRunes = 100
	// beginning is how much of a log is read for the first words of a person, in
	// bytes. Logs that are one JSON document are read whole up to it.
	beginning = 4 << 20
)

// Of is the name of a session. What its listing knows is not read again. A log that
// cannot be read has no more than that.
func Of(ctx context.Context, store session.Store, ref session.Ref) session.Name {
	known := session.Name{Title: Tidy(ref.Title), Project: ref.Project}
	if known.Title != "" && known.Project != "" && !mayBeCarried(store, ref) || !hasWords(ref.Kind) {
		return known
	}
	log, own, err := open(ctx, store, ref)
	if err != nil {
		return known
	}
	defer log.Close()
	known.Title = Tidy(own)
	return known.Or(first(ctx, store, log))
}

// mayBeCarried reports whether a session may have begun with what was said elsewhere,
// which only its log tells.
func mayBeCarried(store session.Store, ref session.Ref) bool {
	return ref.Begun || ref.Kind.InFile() && store.Capabilities().Beginner != nil
}

// hasWords reports whether a person may have said something in a session of a kind.
func hasWords(k session.Kind) bool {
	return k != session.KindOutput && k != session.KindDatabase && k != session.KindPrompts
}

// open opens the log of a session, and returns the title that its runtime wrote in it.
func open(ctx context.Context, store session.Store, ref session.Ref) (io.ReadCloser, string, error) {
	can := store.Capabilities()
	if source := can.SourceOf(ref); source != nil {
		log, err := source.OpenLog(ctx, ref)
		return log, ref.Title, err
	}
	file, err := durable.OpenRegular(ref.Path)
	if err != nil {
		return nil, "", err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, "", errors.Join(err, file.Close())
	}
	title := ref.Title
	if title == "" && len(can.Titles) > 0 {
		title = session.TitleIn(file, info.Size(), can.Titles)
	}
	plain, _, err := jsonl.Decompress(file, info.Size())
	if err != nil {
		return nil, "", errors.Join(err, file.Close())
	}
	return opened{plain, file}, title, nil
}

// opened is a log, and the file that it is read from.
type opened struct {
	io.ReadCloser
	file io.Closer
}

// Close implements io.Closer.
func (o opened) Close() error { return errors.Join(o.ReadCloser.Close(), o.file.Close()) }

var errEnough = errors.New("a person's words are found")

// first is the directory that the first messages name, the first words of a person,
// and where they were said if not here.
func first(ctx context.Context, store session.Store, log io.Reader) (n session.Name) {
	scan, _ := store.Scan(ctx, io.LimitReader(log, beginning), session.ScanOptions{}, func(m *session.Message) error {
		if n.Project == "" {
			n.Project = string(m.Directory)
		}
		if m.Role != session.RoleUser {
			return nil
		}
		if n.Title = state.Cut(facts.Spoken(m), titleRunes); n.Title != "" {
			return errEnough
		}
		return nil
	})
	n.From = scan.Carriage.Origin
	return n
}

// Tidy is a title that somebody gave, in one line and without secrets.
func Tidy(title string) string {
	clean, _ := session.Clean([]byte(title))
	text, _ := secrets.Redact(string(clean))
	return state.Cut(text, titleRunes)
}
