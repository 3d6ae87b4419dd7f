package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/archive/objects"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/ledger/heads"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
	"github.com/sessctl/sessctl/pkg/memory/remote/weaviate"
)

// HeadsHint is the hint for a place that there is none of.
const HeadsHint = "a file, git:DIRECTORY, s3 (archive.remote), postgres (memory.remote.url), ssh:HOST or https://... (docs/ledger.md)"

// headsTimeout is how long a command may be held up at its end by places of heads.
const headsTimeout = 10 * time.Second

// plainName is what the name of a ledger may be: it becomes part of paths.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`) })

// LedgerName is the name under which places keep heads of this ledger.
func LedgerName(s *Settings) string {
	if s.Config.Ledger.Name != "" {
		return s.Config.Ledger.Name
	}
	host, err := os.Hostname()
	if err != nil || !plainName().MatchString(host) {
		host = "host"
	}
	return host + "-" + dataDirDigest(s)
}

// HeadPlaces are the places of heads: the copy of this machine, and those that the
// configuration names.
func HeadPlaces(run *Run) ([]heads.Place, error) {
	var all []heads.Place
	if state := StateHead(&run.Settings); filepath.IsAbs(state.Path) {
		all = append(all, state)
	}
	if name := run.Config.Ledger.Name; name != "" && !plainName().MatchString(name) {
		return all, failure.Usage("letters, digits, hyphens, dots", "ledger.name: %q cannot be part of a path", name)
	}
	for _, address := range run.Config.Ledger.Heads {
		place, err := headPlace(run, address)
		if err != nil {
			return all, err
		}
		all = append(all, place)
	}
	return all, nil
}

func headPlace(run *Run, address string) (heads.Place, error) {
	kind, rest, _ := strings.Cut(address, ":")
	switch {
	case filepath.IsAbs(address):
		return heads.File{Path: address}, nil
	case kind == "file" && filepath.IsAbs(rest):
		return heads.File{Path: rest}, nil
	case kind == "git" && filepath.IsAbs(rest):
		return heads.Repository{Dir: rest, As: LedgerName(&run.Settings), Tell: func(text string) { run.Notice(Note{Message: text}) }}, nil
	case kind == "ssh" && plainName().MatchString(rest):
		return heads.Host{Host: rest, As: LedgerName(&run.Settings)}, nil
	case address == "s3":
		bucket, err := Bucket(run)
		if err != nil {
			return nil, err
		}
		return bucketOfHeads{objects.Heads{Bucket: bucket, As: LedgerName(&run.Settings)}}, nil
	case address == "postgres" && Shares(&run.Settings) && !weaviate.IsAddress(run.Config.Memory.Remote.URL):
		return tableOfHeads{postgres.Heads{URL: run.Config.Memory.Remote.URL, As: LedgerName(&run.Settings)}}, nil
	case kind == "http" || kind == "https":
		if to, err := url.Parse(address); err == nil && to.Hostname() != "" {
			return heads.Webhook{URL: to, As: LedgerName(&run.Settings)}, nil
		}
	}
	return nil, failure.Usage(HeadsHint, "ledger.heads: an entry is no place for heads")
}

// bucketOfHeads is object storage as a place of heads.
type bucketOfHeads struct{ objects.Heads }

// Name implements heads.Place.
func (b bucketOfHeads) Name() string { return b.Bucket.URL() }

// Keep implements heads.Place.
func (b bucketOfHeads) Keep(ctx context.Context, head ledger.Head) error {
	return b.Put(ctx, head.N, head.Note)
}

// tableOfHeads is PostgreSQL as a place of heads.
type tableOfHeads struct{ postgres.Heads }

// Name implements heads.Place.
func (t tableOfHeads) Name() string { return t.Address() }

// Keep implements heads.Place.
func (t tableOfHeads) Keep(ctx context.Context, head ledger.Head) error {
	return t.Put(ctx, head.N, head.Note)
}

// KeepHeads gives the head of the ledger to every place, at the end of a command that
// may have added to it; with near alone to the copy of this machine, which takes no
// time. What is not possible is told, and the command has not failed.
func KeepHeads(ctx context.Context, run *Run, near bool) {
	if ctx.Err() != nil || !Exists(LedgerOf(run).Dir()) {
		return
	}
	_ = run.Pins.Renew(run.LedgerDir()) // one that another run has begun anew since
	head, err := LedgerOf(run).Seal(ctx)
	if errors.Is(err, durable.ErrLocked) {
		run.Notice(Note{Path: LedgerOf(run).Dir(), Message: "another sessctl writes the ledger: it or the next run signs the head"})
		return
	}
	if err != nil {
		what, hint := obstacle(LedgerOf(run).Dir(), err)
		run.PassOver(Note{Path: LedgerOf(run).Dir(), Message: "the ledger has no new head: " + what, Hint: cmp.Or(hint, "the next run signs it; or sessctl doctor says more")})
		return
	}
	places, err := HeadPlaces(run)
	if err != nil {
		run.Notice(Note{Message: err.Error(), Hint: failure.Explain(err).Hint})
	}
	if near {
		places = places[:min(1, len(places))]
	}
	if len(places) > 1 && published(&run.Settings, head, places) {
		return
	}
	if publish(ctx, run, head, places) == nil && len(places) > 1 {
		_ = notePublished(&run.Settings, head, places) // the next run asks them again
	}
}

// errUnpublished is returned where a place does not have the head.
var errUnpublished = errors.New("a place does not have the head")

// publish gives the head to each place.
func publish(ctx context.Context, run *Run, head ledger.Head, places []heads.Place) (err error) {
	ctx, cancel := context.WithTimeout(ctx, headsTimeout)
	defer cancel()
	for _, place := range places {
		seen := heads.Publish(ctx, LedgerOf(run), head, place)
		tellHead(run, seen)
		if seen.State != heads.Same && seen.State != heads.Mute {
			err = errUnpublished
		}
	}
	return err
}

// publishedFile says which head every place has, so that a run that has added nothing
// asks nobody.
func publishedFile(s *Settings) string { return StateHead(s).Path + ".published" }

func publishedText(head ledger.Head, places []heads.Place) []byte {
	text := bytes.Clone(head.Note)
	for _, p := range places {
		text = append(append(text, p.Name()...), '\n')
	}
	return text
}

func published(s *Settings, head ledger.Head, places []heads.Place) bool {
	text, err := durable.ReadSmall(publishedFile(s), 1<<20)
	return err == nil && bytes.Equal(text, publishedText(head, places))
}

// HadHead reports whether a place had the head when a run asked all of them.
func HadHead(s *Settings, place string) bool {
	text, err := durable.ReadSmall(publishedFile(s), 1<<20)
	return err == nil && bytes.Contains(text, []byte("\n"+place+"\n"))
}

func notePublished(s *Settings, head ledger.Head, places []heads.Place) error {
	return durable.ReplaceFile(publishedFile(s), 0o600, func(w io.Writer) error {
		_, err := w.Write(publishedText(head, places))
		return err
	})
}

// Entries counts entries of the ledger.
func Entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return wording.Count(n) + " entries"
}

// tellHead says what is wrong with a place of heads.
func tellHead(run *Run, seen heads.Seen) {
	switch seen.State {
	case heads.Unreached:
		run.Notice(Note{Message: seen.Place + " was not given the head of the ledger: " + seen.Reason, Hint: "the next run tries again"})
	case heads.Contradicts:
		run.Notice(Note{Message: seen.Place + ": " + seen.Reason, Hint: "sessctl doctor says what can be done"})
	}
}

// CompareHeads asks every place for its head and holds the ledger against it.
func CompareHeads(ctx context.Context, run *Run) (all []heads.Seen, err error) {
	places, err := HeadPlaces(run)
	if err != nil {
		return nil, err
	}
	size, err := LedgerOf(run).Size()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, headsTimeout)
	defer cancel()
	for _, place := range places {
		all = append(all, heads.Compare(ctx, LedgerOf(run), size, place))
	}
	return all, nil
}
