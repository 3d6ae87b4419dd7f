package workspace

import (
	"context"
	"errors"
	"io"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/archive/objects"
)

// OffSiteCopies looks at copies on object storage, for one run: a storage that does
// not answer, or refuses, is not asked for each.
type OffSiteCopies struct {
	Bucket *objects.Bucket
	away   error           // why it is not asked any more
	whole  map[string]bool // addresses of copies that were read to their end in this run
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
	return archives.CountingCopies(copies.Read)
}

// Look asks the storage for the checksum of a copy now. One that is encrypted and
// that nobody here can read is an error: it cannot be known to be of use. One whose
// entry was found on the storage is read to its end: what the entry says of it is
// what somebody has written there.
func (c *OffSiteCopies) Look(ctx context.Context, e archive.Entry) (archive.Remote, error) {
	if e.Remote != nil && !e.Remote.Seen {
		return c.readOnce(ctx, e)
	}
	return c.lookOnly(ctx, e)
}

// Read reads a copy to its end, once in a run, and asks for its checksum otherwise.
// It is for what is deleted for good because of the copy: a storage may answer with
// the checksum that it was given, whatever has become of the bytes.
func (c *OffSiteCopies) Read(ctx context.Context, e archive.Entry) error {
	_, err := c.readOnce(ctx, e)
	return err
}

func (c *OffSiteCopies) readOnce(ctx context.Context, e archive.Entry) (archive.Remote, error) {
	r, err := c.lookOnly(ctx, e)
	if err != nil || c.whole[r.URL] {
		return r, err
	}
	if err := ReadRemote(ctx, c.Bucket, e); err != nil {
		return r, err
	}
	if c.whole == nil {
		c.whole = map[string]bool{}
	}
	c.whole[r.URL] = true
	return r, nil
}

// ReadRemote reads the copy of an archive from the storage to its end, not from the
// cache, and compares its bytes.
func ReadRemote(ctx context.Context, bucket *objects.Bucket, e archive.Entry) error {
	from, to := io.Pipe()
	fetched := make(chan error, 1)
	go func() {
		err := bucket.Fetch(ctx, e, to)
		to.CloseWithError(err)
		fetched <- err
	}()
	proved := archive.Prove(ctx, e, from)
	_ = from.Close() // ends a fetch that nobody reads any more
	if err := <-fetched; err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	return proved
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

// Known looks at a copy because of which nothing is copied once more: nothing is
// lost if it turns out to be gone, so a storage that does not answer is believed.
func (c *OffSiteCopies) Known(ctx context.Context, e archive.Entry) error {
	if _, err := c.lookOnly(ctx, e); !isAway(err) {
		return err
	}
	return nil
}
