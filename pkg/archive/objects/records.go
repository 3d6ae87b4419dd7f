package objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"filippo.io/age"
)

// Beside the copies lie the records of a host: receipts, what was forgotten, and what
// is pinned. Their names end with the hash of what they hold, so a record that
// changes is another object, and nothing is replaced.

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
	Sealed bool // it is encrypted
}

// Records are the records of hosts in a bucket.
type Records struct{ Bucket *Bucket }

// NewRecord names a file of a host's records.
func NewRecord(host, name string, text []byte) Record {
	sum := sha256.Sum256(text)
	return Record{Host: host, Name: name, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(text))}
}

// Is reports whether an object is the one of a file, as far as its name and, unless
// it is encrypted, its length tell.
func (r Record) Is(file Record) bool {
	return r.Host == file.Host && r.Name == file.Name && r.SHA256 == file.SHA256 && (r.Sealed || r.Bytes == file.Bytes)
}

func (p place) recordKey(r Record) string {
	key := p.key(path.Join(recordsName, r.Host, r.Name+"."+r.SHA256))
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
	dot := strings.LastIndexByte(below, '.')
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

// Put puts a file of a host's records, encrypted if there are recipients, and
// reads its checksum back.
func (h Records) Put(ctx context.Context, host, name string, text []byte) error {
	b := h.Bucket
	r := NewRecord(host, name, text)
	if len(text) > mostRecord {
		return fmt.Errorf("put %s: it has %d bytes, more than %d", name, len(text), mostRecord)
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
			return fmt.Errorf("encrypt %s: %w", name, err)
		}
		text = cipher.Bytes()
	}
	sum := sha256.Sum256(text)
	_, err := b.put(ctx, object{key: b.recordKey(r), body: bytes.NewReader(text), bytes: int64(len(text)), sha256: hex.EncodeToString(sum[:]), kind: "application/octet-stream"})
	return err
}

// Get reads a record. [ErrDiffers] is returned for one that is not what its name
// says, [ErrNoIdentity] for an encrypted one without a key.
func (h Records) Get(ctx context.Context, r Record) ([]byte, error) {
	b := h.Bucket
	var text bytes.Buffer
	var err error
	if r.Sealed {
		err = b.unseal(ctx, b.recordKey(r), io.Discard, &text)
	} else {
		_, err = b.get(ctx, b.recordKey(r), &text)
	}
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(text.Bytes()); hex.EncodeToString(sum[:]) != r.SHA256 {
		return nil, fmt.Errorf("%s: %w: sha256 %x, expected %s", b.urlOf(b.recordKey(r)), ErrDiffers, sum, r.SHA256)
	}
	return text.Bytes(), nil
}
