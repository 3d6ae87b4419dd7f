package cmd

import (
	"context"

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
func (a *app) offSiteCopies() (*offSiteCopies, error) {
	if a.config.Archive.Remote == "" {
		return nil, nil
	}
	bucket, err := a.bucket()
	return &offSiteCopies{bucket: bucket}, err
}

// look asks the storage for the checksum of a copy now. One that is encrypted and
// that nobody here can read is an error: it cannot be known to be of use.
func (c *offSiteCopies) look(ctx context.Context, e archive.Entry) (archive.Remote, error) {
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

// known is look for what is not copied once more because of the copy: nothing is
// lost if it turns out to be gone, so a storage that does not answer is believed.
func (c *offSiteCopies) known(ctx context.Context, e archive.Entry) error {
	if err := c.whole(ctx, e); !isAway(err) {
		return err
	}
	return nil
}
