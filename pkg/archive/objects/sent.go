package objects

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
)

// Encrypting a file twice makes two different objects, so an encrypted object that
// is found under the name of a copy cannot be compared with the file. It counts in
// two cases: it is one that this host has sent, whose hash was noted before, or it
// was read to its end now and holds the file. What the object says of itself is
// no reason: whoever may write to the storage can have it say anything.

// sentEnd ends the names of notes of what was sent, in the scratch directory.
const sentEnd = ".sent.json"

// sent is an encrypted object that this host has begun to send.
type sent struct {
	URL      string `json:"url"`
	SHA256   string `json:"sha256"`
	Bytes    int64  `json:"size_bytes"`
	Checksum string `json:"checksum,omitempty"` // of its parts
}

// Noted returns of which archive a file in the scratch directory notes what was
// sent. The note is needed until the catalogue has the copy.
func Noted(name string) (id string, ok bool) { return strings.CutSuffix(name, sentEnd) }

// notes are those of what was sent, in a directory.
type notes struct{ dir string }

func (n notes) path(id string) string { return filepath.Join(n.dir, id+sentEnd) }

// Recorded removes the note of what was sent of an archive, when the catalogue has
// its copy.
func (n notes) Recorded(id string) error { return durable.RemoveFile(n.path(id)) }

// readSent reads what was noted, nothing if there is no note or none that can be
// read.
func (n notes) readSent(id string) (list []sent) {
	text, err := durable.ReadSmall(n.path(id), 1<<20)
	if err != nil || json.Unmarshal(text, &list) != nil {
		return nil
	}
	return list
}

// noteSent notes what is about to be sent.
func (n notes) noteSent(id, url string, o object) error {
	list := append(n.readSent(id), sent{URL: url, SHA256: o.sha256, Bytes: o.bytes, Checksum: o.checksum})
	return durable.ReplaceFile(n.path(id), 0o600, func(to io.Writer) error { return json.NewEncoder(to).Encode(list) })
}

// meet looks whether an encrypted object that is there is the copy of an archive's
// file. [ErrMissing] is returned when there is none, [ErrUnknown] when nobody here
// can tell, and [ErrDiffers] when it holds something else.
func (b *Bucket) meet(ctx context.Context, e archive.Entry, key string) (archive.Remote, error) {
	known := b.readSent(e.ID)
	if r := e.Remote; r != nil && r.Seen && r.Encrypted {
		known = append(known, sent{r.URL, r.SHA256, r.Bytes, r.Checksum})
	}
	known = slices.DeleteFunc(known, func(s sent) bool { return s.URL != b.urlOf(key) })
	for _, s := range known {
		there, err := b.look(ctx, key, s.Checksum)
		if err != nil {
			return archive.Remote{}, err
		}
		if there.is(s.SHA256, s.Bytes) {
			return b.remote(there, object{key: key, sha256: s.SHA256, bytes: s.Bytes, checksum: s.Checksum, encrypted: true})
		}
	}
	r, err := b.meetUnknown(ctx, e, key)
	if recorded := e.Remote; errors.Is(err, ErrUnknown) && recorded != nil && recorded.Seen && recorded.URL == b.urlOf(key) {
		err = fmt.Errorf("%s: %w: it is not what was uploaded", recorded.URL, ErrDiffers)
	}
	return r, err
}

// meetUnknown reads an encrypted object that is not known to be ours.
func (b *Bucket) meetUnknown(ctx context.Context, e archive.Entry, key string) (archive.Remote, error) {
	there, err := b.stat(ctx, key)
	if err != nil {
		return archive.Remote{}, err
	}
	if len(b.identities) == 0 {
		return archive.Remote{}, fmt.Errorf("%s: %w", b.urlOf(key), ErrUnknown)
	}
	cipher, plain := sha256.New(), sha256.New()
	if err := b.unseal(ctx, key, cipher, plain); err != nil {
		if errors.Is(err, ErrNoIdentity) {
			err = ErrUnknown
		}
		return archive.Remote{}, fmt.Errorf("%s: %w", b.urlOf(key), err)
	}
	if got := hex.EncodeToString(plain.Sum(nil)); got != e.StoredSHA256 {
		return archive.Remote{}, fmt.Errorf("%s: %w: it holds sha256 %s, expected %s", b.urlOf(key), ErrDiffers, got, e.StoredSHA256)
	}
	there.sha256 = hex.EncodeToString(cipher.Sum(nil))
	return b.remote(there, object{key: key, sha256: there.sha256, bytes: there.bytes, encrypted: true})
}

// remote is the record of an object that was found to be as it should.
func (b *Bucket) remote(there state, o object) (archive.Remote, error) {
	r := archive.Remote{URL: b.urlOf(o.key), SHA256: o.sha256, Bytes: o.bytes, Checksum: o.checksum, ETag: there.etag, Encrypted: o.encrypted, Seen: true, CheckedAt: b.options.Now().UTC().Truncate(time.Second), RetainUntil: there.retain}
	if b.options.Retain > 0 && r.RetainUntil.IsZero() {
		return archive.Remote{}, fmt.Errorf("%s: %w", r.URL, ErrLocked)
	}
	return r, nil
}
