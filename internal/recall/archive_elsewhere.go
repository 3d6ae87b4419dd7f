package recall

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/archive/objects"
	"github.com/sessctl/sessctl/pkg/hooks"
)

// Asked is an archive as a person names it.
type Asked struct {
	Name  string // its id, the start of one, or a session
	Lines string // as typed, "" for all
	On    string // host of the shared memory that has it, "" for this one
}

// command is what shows it on its host.
func (a Asked) command() string {
	text := "sessctl archives show " + hooks.QuoteWord(a.Name)
	if a.Lines != "" {
		text += " --lines " + a.Lines
	}
	return OnHost(a.On, text)
}

// FindArchive finds an archive here, or the copy of one that another host of the shared
// memory has. From then on the run reads the copies of that host. Where there is none, the
// error has the command that shows it there.
func FindArchive(ctx context.Context, run *workspace.Run, store *archive.Store, asked Asked) (archive.Entry, error) {
	e, err := selection.FindArchive(ctx, store, asked.Name)
	if f := (*failure.Error)(nil); asked.On == "" || !errors.As(err, &f) || f.Code != "unknown_archive" {
		return e, err
	}
	if !IsHostName(asked.On) {
		return e, failure.Usage("sessctl fleet hosts lists them", "--on: %q is not the name of a host", asked.On)
	}
	e, err = copyOn(ctx, run, store, asked)
	if err != nil && ctx.Err() == nil {
		err = &failure.Error{Code: "elsewhere", Exit: failure.ExitFailed, Hint: asked.command(), Err: fmt.Errorf("archive %s is on %s: %w", wording.Visible(asked.Name), asked.On, err)}
	}
	return e, err
}

// copyOn is the archive of a host whose copy is where this host has its own: what another
// host says is asked of no other storage.
func copyOn(ctx context.Context, run *workspace.Run, store *archive.Store, asked Asked) (e archive.Entry, err error) {
	place, err := placeOf(ctx, run, asked.On)
	if err != nil {
		return e, err
	}
	own, there := run.Config.Archive.Remote, bucketOf(place)
	switch {
	case place == "":
		return e, errors.New("it has told of no copies on object storage")
	case own == "" || bucketOf(own) != there:
		return e, fmt.Errorf("its copies are in the bucket %s, that of archive.remote is another", there)
	}
	run.Config.Archive.Remote = place
	bucket, err := workspace.Bucket(run)
	if err != nil {
		return e, err
	}
	e, err = objects.EntryOf(ctx, bucket, asked.Name)
	if errors.Is(err, objects.ErrMissing) {
		return e, fmt.Errorf("%s has no copy of it", place)
	}
	if err == nil && (e.ID != asked.Name || archive.ID(e.Meta, e.SHA256) != e.ID) {
		err = errors.New("what is there under its name is another archive")
	}
	if err != nil {
		return e, err
	}
	if e, err = archive.Foreign(store, e); err != nil || !e.Remote.Encrypted {
		return e, err
	}
	if run.Config.Archive.Identity == "" {
		return e, errors.New("its copy is encrypted, and archive.identity names no key")
	}
	if err = bucket.Opens(ctx, e); errors.Is(err, objects.ErrNoIdentity) {
		err = errors.New("its copy is encrypted, and the key of archive.identity does not open it")
	}
	return e, err
}

// placeOf is where a host of the shared memory has its copies, "" for nowhere.
func placeOf(ctx context.Context, run *workspace.Run, host string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, run.Config.Memory.Remote.Timeout)
	defer cancel()
	shared, err := workspace.OpenShared(ctx, &run.Settings, false)
	if err != nil {
		return "", err
	}
	defer shared.Close()
	counts, err := shared.Count(ctx)
	return counts.Host(host).Archives, err
}

func bucketOf(place string) string {
	u, err := url.Parse(place)
	if err != nil || u.Scheme != "s3" {
		return ""
	}
	return u.Host
}
