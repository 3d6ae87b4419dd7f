package workspace

import (
	"context"
	"io"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/archive/objects"
)

// OffSiteCopies looks at copies on object storage, for one run: a storage that does
// not answer, or refuses, is not asked for each.
type OffSiteCopies struct {
	Bucket *objects.Bucket
	away   error // why it is not asked any more
}

// CopiesOffSite is nil where no object storage is configured.
func CopiesOffSite(run *Run) (*OffSiteCopies, error) {
	if run.Config.Archive.Remote == "" {
		return nil, nil
	}
	bucket, err := Bucket(run)
	return &OffSiteCopies{Bucket: bucket}, err
}

// Lasting returns the archives as ones of which only a file that is here and a copy
// that the storage has now count. Something is deleted because of them.
func Lasting(run *Run, archives *archive.Store) *archive.Store {
	copies, err := CopiesOffSite(run)
	switch {
	case err != nil:
		return archives.CountingCopies(func(context.Context, archive.Entry) error { return err })
	case copies == nil:
		return archives
	}
	return archives.CountingCopies(copies.Whole)
}

// Look asks the storage for the checksum of a copy now. One that is encrypted and
// that nobody here can read is an error: it cannot be known to be of use. One whose
// entry was found on the storage is read to its end: what the entry says of it is
// what somebody has written there.
func (c *OffSiteCopies) Look(ctx context.Context, e archive.Entry) (archive.Remote, error) {
	r, err := c.lookOnly(ctx, e)
	if err == nil && !e.Remote.Seen {
		err = c.read(ctx, e)
	}
	return r, err
}

// read reads a copy from the storage, not from the cache.
func (c *OffSiteCopies) read(ctx context.Context, e archive.Entry) error {
	from, to := io.Pipe()
	go func() { to.CloseWithError(c.Bucket.Fetch(ctx, e, to)) }()
	defer from.Close()
	return archive.Prove(ctx, e, from)
}

func (c *OffSiteCopies) lookOnly(ctx context.Context, e archive.Entry) (archive.Remote, error) {
	if c.away != nil {
		return archive.Remote{}, c.away
	}
	r, err := c.Bucket.Check(ctx, e)
	if err == nil {
		err = c.Bucket.Opens(ctx, e)
	}
	if OfAll(err) {
		c.away = err
	}
	return r, err
}

// Whole is look for what is deleted because of the copy.
func (c *OffSiteCopies) Whole(ctx context.Context, e archive.Entry) error {
	_, err := c.Look(ctx, e)
	return err
}

// Known looks at a copy because of which nothing is copied once more: nothing is
// lost if it turns out to be gone, so a storage that does not answer is believed.
func (c *OffSiteCopies) Known(ctx context.Context, e archive.Entry) error {
	if _, err := c.lookOnly(ctx, e); !isAway(err) {
		return err
	}
	return nil
}
