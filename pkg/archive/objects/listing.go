package objects

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/sessctl/sessctl/pkg/archive"
)

// entryName is the name of an entry below the prefix. The entry of an archive whose
// first object is damaged stays; that of the next one has its number.
func entryName(id string, number int) string {
	if number > 1 {
		id += "." + strconv.Itoa(number)
	}
	return path.Join("entries", id+".json")
}

// parseEntryName is the reverse of entryName, of the last part of a name.
func parseEntryName(base string) (id string, number int, ok bool) {
	base, ok = strings.CutSuffix(base, ".json")
	if !ok {
		return "", 0, false
	}
	id, end, numbered := strings.Cut(base, ".")
	if !numbered {
		return base, 1, true
	}
	number, err := strconv.Atoi(end)
	return id, number, err == nil && number > 1
}

// list gives what the storage has below a name, in its order.
func (b *Bucket) list(ctx context.Context, below string) iter.Seq2[minio.ObjectInfo, error] {
	return func(yield func(minio.ObjectInfo, error) bool) {
		listing, stop := context.WithCancel(ctx)
		defer stop()
		for found := range b.core.Client.ListObjects(listing, b.name, minio.ListObjectsOptions{Prefix: b.key(below) + "/", Recursive: true}) {
			if found.Err != nil {
				yield(found, fmt.Errorf("list %s: %w", b.URL(), explain(found.Err)))
				return
			}
			if !yield(found, nil) {
				return
			}
		}
	}
}

// Entries gives, by the names of archives, the entries of the copies that are below
// the prefix: of an archive that was uploaded again because its copy was damaged, the
// last one. One that cannot be read comes as an error with its key; the others follow.
func (b *Bucket) Entries(ctx context.Context) iter.Seq2[archive.Entry, error] {
	return func(yield func(archive.Entry, error) bool) {
		last := map[string]int{}
		for found, err := range b.list(ctx, "entries") {
			if err != nil {
				yield(archive.Entry{}, err)
				return
			}
			if id, number, ok := parseEntryName(path.Base(found.Key)); ok {
				last[id] = max(last[id], number)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(last)) {
			if !yield(b.entry(ctx, b.key(entryName(id, last[id])))) {
				return
			}
		}
	}
}

// EntryOf is the entry of one archive below the prefix, see [Bucket.Entries]. It is
// [ErrMissing] if there is none.
func EntryOf(ctx context.Context, b *Bucket, id string) (e archive.Entry, err error) {
	if e, err = b.entry(ctx, b.key(entryName(id, 1))); err != nil {
		return e, err
	}
	for number := 2; number <= mostCopies; number++ {
		later, err := b.entry(ctx, b.key(entryName(id, number)))
		if errors.Is(err, ErrMissing) {
			break
		}
		if err != nil {
			return e, err
		}
		e = later
	}
	return e, nil
}

// Listing is what the storage says that it has, at one time: by address, the length
// and the version of each copy.
type Listing map[string]Listed

// Listed is one object of a listing.
type Listed struct {
	Bytes int64
	ETag  string
}

// List asks the storage once for all copies below the prefix. [ErrNoBucket] is
// returned where there is no such bucket. What it says is enough to find what is gone
// or was put there anew; only reading finds bytes that have rotted.
func (b *Bucket) List(ctx context.Context) (Listing, error) {
	all := Listing{}
	for found, err := range b.list(ctx, "archives") {
		if err != nil {
			return nil, err
		}
		all[b.urlOf(found.Key)] = Listed{Bytes: found.Size, ETag: strings.Trim(found.ETag, `"`)}
	}
	return all, nil
}

// Has reports whether a recorded copy is in the listing as it was seen last.
func (l Listing) Has(r archive.Remote) bool {
	there, found := l[r.URL]
	return found && there.Bytes == r.Bytes && (r.ETag == "" || there.ETag == "" || there.ETag == r.ETag)
}
