package objects

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"filippo.io/age"
	"github.com/minio/minio-go/v7"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
)

// mostCopies bounds how many damaged objects of an archive an upload passes by.
const mostCopies = 20

// Upload puts a copy of an archive's file on the storage and reads its checksum
// back. file is the archive's file as it is stored; it is read from its start and
// must hash to e.StoredSHA256, or nothing is entered. A copy that is there from an
// earlier upload is compared and taken; [ErrUnknown] is returned for one that is
// encrypted and that nobody here can compare, and [ErrDiffers] for an object that
// holds something else. number is 1, or that of the next object where those before it
// were found to be damaged ([Bucket.NumberOf]): they stay, as nothing there is
// replaced. What is returned is true at the time of return.
func (b *Bucket) Upload(ctx context.Context, e archive.Entry, file *os.File, number int) (r archive.Remote, err error) {
	again := number > 1
	for ; number <= mostCopies; number++ {
		if r, err = b.uploadAs(ctx, e, file, number); !again || !errors.Is(err, ErrDiffers) {
			break
		}
	}
	if number > mostCopies {
		return r, fmt.Errorf("%s: there are %d objects of archive %s, all damaged", b.URL(), mostCopies, e.ID)
	}
	if err != nil {
		return r, err
	}
	e.Remote = &r
	return r, b.putEntry(ctx, e, number)
}

// uploadAs puts the object of a number, encrypted if there are recipients.
func (b *Bucket) uploadAs(ctx context.Context, e archive.Entry, file *os.File, number int) (archive.Remote, error) {
	key := b.key(e.ObjectName(number))
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return archive.Remote{}, err
	}
	if len(b.recipients) > 0 {
		return b.uploadSealed(ctx, e, file, key+sealedEnd)
	}
	return b.put(ctx, object{key: key, body: file, bytes: e.StoredBytes, sha256: e.StoredSHA256, kind: "application/octet-stream"})
}

// uploadSealed puts an encrypted copy, if there is none yet.
func (b *Bucket) uploadSealed(ctx context.Context, e archive.Entry, file *os.File, key string) (r archive.Remote, err error) {
	r, err = b.meet(ctx, e, key)
	if !errors.Is(err, ErrMissing) {
		return r, err
	}
	sealed, err := b.seal(ctx, e, file)
	if err != nil {
		return archive.Remote{}, err
	}
	defer func() { err = errors.Join(err, sealed.file.Close(), durable.RemoveFile(sealed.file.Name())) }() // a later run sweeps what is left
	o := object{key: key, body: sealed.file, bytes: sealed.bytes, sha256: sealed.sha256, kind: "application/octet-stream", encrypted: true}
	if err := b.partsOf(ctx, &o); err != nil {
		return archive.Remote{}, err
	}
	if err := b.noteSent(e.ID, b.urlOf(o.key), o); err != nil {
		return archive.Remote{}, err
	}
	if err := b.send(ctx, o); err != nil && !isThere(err) {
		return archive.Remote{}, fmt.Errorf("put %s: %w", o.key, err)
	}
	return b.meet(ctx, e, key)
}

// sealed is an encrypted file on its way.
type sealed struct {
	file   *os.File
	bytes  int64
	sha256 string
}

// seal encrypts a file. The hash of what is encrypted is compared on the way.
func (b *Bucket) seal(ctx context.Context, e archive.Entry, file io.Reader) (s sealed, err error) {
	if err := durable.MakeDir(b.options.Scratch, 0o700); err != nil {
		return s, err
	}
	at, plain, cipher := filepath.Join(b.options.Scratch, e.ID+sealedEnd), sha256.New(), sha256.New()
	err = durable.ReplaceFile(at, 0o600, func(to io.Writer) error {
		out, err := age.Encrypt(io.MultiWriter(to, cipher), b.recipients...)
		if err != nil {
			return fmt.Errorf("encrypt archive %s: %w", e.ID, err)
		}
		if _, err := io.Copy(out, io.TeeReader(stoppable{ctx, file}, plain)); err != nil {
			return err
		}
		if hex.EncodeToString(plain.Sum(nil)) != e.StoredSHA256 {
			return fmt.Errorf("archive %s: %w: %s", e.ID, archive.ErrCorrupt, e.Path)
		}
		return out.Close()
	})
	if err != nil {
		return s, err
	}
	if s.file, err = durable.OpenRegular(at); err != nil {
		return s, err
	}
	info, err := s.file.Stat()
	if err != nil {
		return s, errors.Join(err, s.file.Close())
	}
	s.bytes, s.sha256 = info.Size(), hex.EncodeToString(cipher.Sum(nil))
	return s, nil
}

// Fetch writes the archive's file, decrypted, to a writer. It returns
// [archive.ErrCorrupt] when what was read is not the file that the entry names:
// then what was written is of no use. [ErrNoIdentity] is returned when the copy is
// encrypted and there is no key for it.
func (b *Bucket) Fetch(ctx context.Context, e archive.Entry, to io.Writer) error {
	key, err := b.keyOf(e.Remote)
	if err != nil {
		return err
	}
	hash := sha256.New()
	out := io.MultiWriter(to, hash)
	if e.Remote.Encrypted {
		err = b.unseal(ctx, key, io.Discard, out)
	} else {
		_, err = b.get(ctx, key, out)
	}
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != e.StoredSHA256 {
		return fmt.Errorf("archive %s: %w: %s has sha256 %s, expected %s", e.ID, archive.ErrCorrupt, e.Remote.URL, got, e.StoredSHA256)
	}
	return nil
}

// unseal reads an encrypted object to its end: as it is, and decrypted.
func (b *Bucket) unseal(ctx context.Context, key string, cipher, to io.Writer) error {
	if len(b.identities) == 0 {
		return fmt.Errorf("%s: %w", key, ErrNoIdentity)
	}
	read, write := io.Pipe()
	go func() {
		_, err := b.get(ctx, key, io.MultiWriter(write, cipher))
		write.CloseWithError(err)
	}()
	defer read.Close()
	plain, err := b.decrypt(key, read)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, plain); err != nil {
		return fmt.Errorf("decrypt %s: %w", key, err)
	}
	_, err = io.Copy(io.Discard, read) // to its end: what follows is a part of the object
	return err
}

// Opens returns nil if the copy is not encrypted, or one of the identities opens it:
// the head of the object is read for that. That the rest can be decrypted then
// follows from its checksum, which is that of what was encrypted.
// [ErrNoIdentity] is returned when none does.
func (b *Bucket) Opens(ctx context.Context, e archive.Entry) error {
	key, err := b.keyOf(e.Remote)
	if err != nil || !e.Remote.Encrypted {
		return err
	}
	if len(b.identities) == 0 {
		return fmt.Errorf("%s: %w", key, ErrNoIdentity)
	}
	options := minio.GetObjectOptions{}
	if err := options.SetRange(0, mostHead-1); err != nil {
		return err
	}
	head, _, _, err := b.core.GetObject(ctx, b.name, key, options)
	if err != nil {
		return fmt.Errorf("read %s: %w", key, explain(err))
	}
	defer head.Close()
	_, err = b.decrypt(key, head)
	return err
}

// mostHead is how much of an encrypted object is read to see whether it can be
// decrypted: the recipients stand in its first lines.
const mostHead = 64 << 10

// decrypt begins to decrypt what an object holds.
func (b *Bucket) decrypt(key string, from io.Reader) (io.Reader, error) {
	plain, err := age.Decrypt(from, b.identities...)
	var none *age.NoIdentityMatchError
	switch {
	case errors.As(err, &none):
		return nil, fmt.Errorf("%s: %w", key, ErrNoIdentity)
	case err != nil:
		return nil, fmt.Errorf("decrypt %s: %w", key, err)
	}
	return plain, nil
}

// stoppable ends reading when the context does.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (s stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}
