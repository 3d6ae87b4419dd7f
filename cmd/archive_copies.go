package cmd

import (
	"context"
	"io"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/archive/objects"
)

// offSiteCopies looks at copies on object storage, for one run: a storage that does
// not answer, or refuses, is not asked for each.
type offSiteCopies struct {
	bucket *objects.Bucket
	away   error // why it is not asked any more
}

// offSiteCopies is nil where no object storage is configured.
func (a *invocation) offSiteCopies() (*offSiteCopies, error) {
	if a.config.Archive.Remote == "" {
		return nil, nil
	}
	bucket, err := a.bucket()
	return &offSiteCopies{bucket: bucket}, err
}

// lasting returns the archives as ones of which only a file that is here and a copy
// that the storage has now count. Something is deleted because of them.
func (a *invocation) lasting(archives *archive.Store) *archive.Store {
	copies, err := a.offSiteCopies()
	switch {
	case err != nil:
		return archives.CountingCopies(func(context.Context, archive.Entry) error { return err })
	case copies == nil:
		return archives
	}
	return archives.CountingCopies(copies.whole)
}

// look asks the storage for the checksum of a copy now. One that is encrypted and
// that nobody here can read is an error: it cannot be known to be of use. One whose
// entry was found on the storage is read to its end: what the entry says of it is
// what somebody has written there.
func (c *offSiteCopies) look(ctx context.Context, e archive.Entry) (archive.Remote, error) {
	r, err := c.lookOnly(ctx, e)
	if err == nil && !e.Remote.Seen {
		err = c.read(ctx, e)
	}
	return r, err
}

// read reads a copy from the storage, not from the cache.
func (c *offSiteCopies) read(ctx context.Context, e archive.Entry) error {
	from, to := io.Pipe()
	go func() { to.CloseWithError(c.bucket.Fetch(ctx, e, to)) }()
	defer from.Close()
	return archive.Prove(ctx, e, from)
}

func (c *offSiteCopies) lookOnly(ctx context.Context, e archive.Entry) (archive.Remote, error) {
	if c.away != nil {
		return archive.Remote{}, c.away
	}
	r, err := c.bucket.Check(ctx, e)
	if err == nil {
		err = c.bucket.Opens(ctx, e)
	}
	if ofAll(err) {
		c.away = err
	}
	return r, err
}

// whole is look for what is deleted because of the copy.
func (c *offSiteCopies) whole(ctx context.Context, e archive.Entry) error {
	_, err := c.look(ctx, e)
	return err
}

// known looks at a copy because of which nothing is copied once more: nothing is
// lost if it turns out to be gone, so a storage that does not answer is believed.
func (c *offSiteCopies) known(ctx context.Context, e archive.Entry) error {
	if _, err := c.lookOnly(ctx, e); !isAway(err) {
		return err
	}
	return nil
}
