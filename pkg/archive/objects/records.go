package objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"filippo.io/age"
)

// Beside the copies lie the records of a host: receipts, what was forgotten, and what
// is pinned. Their names end with the hash of what they hold, so a record that
// changes is another object, and nothing is replaced: that of one whose object was
// found to hold something else has the next number.

// recordsName is the directory of records below the prefix.
const recordsName = "records"

// mostRecord bounds a record, in bytes.
const mostRecord = 64 << 20

// Record is a file of a host's records on the storage.
type Record struct {
	Host   string
	Name   string // below the host's directory of records, with slashes
	SHA256 string // of the file, in lower-case hexadecimal
	Bytes  int64  // of the object
	At     time.Time
	Number int  // of the object, from 1 on
	Sealed bool // it is encrypted
}

// Records are the records of hosts in a bucket.
type Records struct{ Bucket *Bucket }

// NewRecord names a file of a host's records.
func NewRecord(host, name string, text []byte) Record {
	sum := sha256.Sum256(text)
	return Record{Host: host, Name: name, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(text)), Number: 1}
}

// Names reports whether an object has the name of a file, whatever it holds.
func (r Record) Names(file Record) bool {
	return r.Host == file.Host && r.Name == file.Name && r.SHA256 == file.SHA256
}

// Is reports whether an object is the one of a file, as far as its name and, unless
// it is encrypted, its length tell. [Records.Holds] reads it.
func (r Record) Is(file Record) bool {
	return r.Names(file) && (r.Sealed || r.Bytes == file.Bytes)
}

func (p place) recordKey(r Record) string {
	key := p.key(path.Join(recordsName, r.Host, r.Name+"."+r.SHA256))
	if r.Number > 1 {
		key += "." + strconv.Itoa(r.Number)
	}
	if r.Sealed {
		key += sealedEnd
	}
	return key
}

// sealedEnd ends the names of encrypted objects.
const sealedEnd = ".age"

// parseRecord is the reverse of recordKey, of what follows the directory of records.
func parseRecord(below string) (r Record, ok bool) {
	below, r.Sealed = strings.CutSuffix(below, sealedEnd)
	r.Number = 1
	dot := strings.LastIndexByte(below, '.')
	if n, err := strconv.Atoi(below[dot+1:]); dot > 0 && err == nil && n > 1 && n <= mostCopies {
		below, r.Number = below[:dot], n
		dot = strings.LastIndexByte(below, '.')
	}
	if dot < 0 || len(below)-dot-1 != 2*sha256.Size {
		return r, false
	}
	r.SHA256 = below[dot+1:]
	r.Host, r.Name, ok = strings.Cut(below[:dot], "/")
	return r, ok
}

// List asks the storage once for the records of all hosts below the prefix.
func (h Records) List(ctx context.Context) (all []Record, err error) {
	b := h.Bucket
	for found, err := range b.list(ctx, recordsName) {
		if err != nil {
			return nil, err
		}
		r, ok := parseRecord(strings.TrimPrefix(found.Key, b.key(recordsName)+"/"))
		if r.Bytes, r.At = found.Size, found.LastModified; ok {
			all = append(all, r)
		}
	}
	return all, nil
}

// Put puts a file of a host's records under the name of r, encrypted if there are
// recipients, and reads its checksum back.
func (h Records) Put(ctx context.Context, r Record, text []byte) error {
	b := h.Bucket
	if len(text) > mostRecord {
		return fmt.Errorf("put %s: it has %d bytes, more than %d", r.Name, len(text), mostRecord)
	}
	if r.Number > mostCopies {
		return fmt.Errorf("%s: there are %d objects of the record %s, all damaged", b.URL(), mostCopies, r.Name)
	}
	if r.Sealed = len(b.recipients) > 0; r.Sealed {
		var cipher bytes.Buffer
		out, err := age.Encrypt(&cipher, b.recipients...)
		if err == nil {
			_, err = out.Write(text)
		}
		if err == nil {
			err = out.Close()
		}
		if err != nil {
			return fmt.Errorf("encrypt %s: %w", r.Name, err)
		}
		text = cipher.Bytes()
	}
	sum := sha256.Sum256(text)
	_, err := b.put(ctx, object{key: b.recordKey(r), body: bytes.NewReader(text), bytes: int64(len(text)), sha256: hex.EncodeToString(sum[:]), kind: "application/octet-stream"})
	return err
}

// Holds reads a record and reports whether it is what its name says. One that is
// encrypted, and that nobody here can read, is believed.
func (h Records) Holds(ctx context.Context, r Record) (bool, error) {
	_, err := h.Get(ctx, r)
	switch {
	case err == nil, errors.Is(err, ErrNoIdentity):
		return true, nil
	case errors.Is(err, ErrDiffers), errors.Is(err, ErrMissing):
		return false, nil
	}
	return false, err
}

// Get reads a record. [ErrDiffers] is returned for one that is not what its name
// says, [ErrNoIdentity] for an encrypted one without a key.
func (h Records) Get(ctx context.Context, r Record) ([]byte, error) {
	b := h.Bucket
	key := b.recordKey(r)
	var text bytes.Buffer
	_, err := b.get(ctx, key, &atMost{&text, mostRecord + mostSeal})
	if errors.Is(err, errTooLong) {
		return nil, fmt.Errorf("%s: %w: more than a record can have", b.urlOf(key), ErrDiffers)
	}
	if err != nil {
		return nil, err
	}
	if r.Sealed {
		if text, err = b.opened(key, &text); err != nil {
			return nil, err
		}
	}
	if sum := sha256.Sum256(text.Bytes()); hex.EncodeToString(sum[:]) != r.SHA256 {
		return nil, fmt.Errorf("%s: %w: sha256 %x, expected %s", b.urlOf(key), ErrDiffers, sum, r.SHA256)
	}
	return text.Bytes(), nil
}

// opened is what an encrypted record holds.
func (b *Bucket) opened(key string, cipher io.Reader) (text bytes.Buffer, err error) {
	if len(b.identities) == 0 {
		return text, fmt.Errorf("%s: %w", key, ErrNoIdentity)
	}
	plain, err := b.decrypt(key, cipher)
	if err == nil {
		_, err = text.ReadFrom(plain)
	}
	if err != nil && !errors.Is(err, ErrNoIdentity) {
		err = fmt.Errorf("%s: %w: %w", b.urlOf(key), ErrDiffers, err)
	}
	return text, err
}

// mostSeal bounds what encryption adds to a record, in bytes.
const mostSeal = 1 << 20

var errTooLong = errors.New("it is too long")

// atMost takes so many bytes and no more.
type atMost struct {
	to   *bytes.Buffer
	most int
}

// Write implements io.Writer.
func (w *atMost) Write(p []byte) (int, error) {
	if w.to.Len()+len(p) > w.most {
		return 0, errTooLong
	}
	return w.to.Write(p)
}
