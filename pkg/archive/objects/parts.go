package objects

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/sessctl/sessctl/pkg/archive"
)

// An object that is too large to be put at once is sent in parts, each with its
// SHA-256, and is there only when the storage was told that they are all. Of such an
// object storages keep no SHA-256 of the whole but one of those of its parts, which
// says as much: it is computed here from the same bytes, and compared.

const (
	// mostAtOnce is the largest object that is put at once, the most that S3 takes.
	mostAtOnce = 5 << 30
	// partBytes is how large parts are, if there are not too many of them.
	partBytes = 64 << 20
	// mostParts is how many an object may have.
	mostParts = 10_000
)

// partsOf computes how large the parts of an object are, and the checksum that a
// storage gives of it then. It returns [archive.ErrCorrupt] when the bytes are not
// those that they should be: then nothing is sent.
func (b *Bucket) partsOf(ctx context.Context, o *object) error {
	if o.bytes <= b.options.AtOnce {
		return nil
	}
	o.part = b.options.Part
	for o.bytes > o.part*mostParts {
		o.part *= 2
	}
	whole, composite := sha256.New(), sha256.New()
	for at := int64(0); at < o.bytes; at += o.part {
		sum := sha256.New()
		if _, err := io.Copy(io.MultiWriter(whole, sum), stoppable{ctx, o.section(at)}); err != nil {
			return err
		}
		o.sums = append(o.sums, sum.Sum(nil))
		composite.Write(o.sums[len(o.sums)-1])
	}
	if got := hex.EncodeToString(whole.Sum(nil)); got != o.sha256 {
		return fmt.Errorf("%w: the file has sha256 %s, expected %s", archive.ErrCorrupt, got, o.sha256)
	}
	o.checksum = fmt.Sprintf("%s-%d", base64.StdEncoding.EncodeToString(composite.Sum(nil)), len(o.sums))
	return nil
}

// section is the part of an object that begins at a byte.
func (o *object) section(at int64) *io.SectionReader {
	return io.NewSectionReader(o.body, at, min(o.part, o.bytes-at))
}

// sendParts sends an object in parts that was not there a moment ago. What an
// earlier try has left of it is removed where the storage allows that.
func (b *Bucket) sendParts(ctx context.Context, o object, options minio.PutObjectOptions) error {
	_ = b.core.RemoveIncompleteUpload(ctx, b.name, o.key) // it costs room on the storage, and nothing else
	options.UserMetadata["X-Amz-Checksum-Algorithm"] = "SHA256"
	upload, err := b.core.NewMultipartUpload(ctx, b.name, o.key, options)
	if err != nil {
		return explain(err)
	}
	if err = b.complete(ctx, o, upload); err != nil && !isThere(err) || errors.Is(err, errPrecondition) {
		const patience = 10 * time.Second
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		_ = b.core.AbortMultipartUpload(ending, b.name, o.key, upload) // the next try removes it
	}
	return err
}

// complete sends the parts and has the storage make the object, unless there is one
// by now.
func (b *Bucket) complete(ctx context.Context, o object, upload string) error {
	var parts []minio.CompletePart
	for i, sum := range o.sums {
		section, encoded := o.section(int64(i)*o.part), base64.StdEncoding.EncodeToString(sum)
		header := http.Header{"X-Amz-Checksum-Sha256": {encoded}}
		part, err := b.core.PutObjectPart(ctx, b.name, o.key, upload, i+1, section, section.Size(), minio.PutObjectPartOptions{Sha256Hex: hex.EncodeToString(sum), CustomHeader: header})
		if err != nil {
			return explain(err)
		}
		parts = append(parts, minio.CompletePart{PartNumber: i + 1, ETag: part.ETag, ChecksumSHA256: encoded})
	}
	conditional := minio.PutObjectOptions{}
	conditional.SetMatchETagExcept("*")
	_, err := b.core.CompleteMultipartUpload(ctx, b.name, o.key, upload, parts, conditional)
	if takesNoCondition(err) {
		_, err = b.core.CompleteMultipartUpload(ctx, b.name, o.key, upload, parts, minio.PutObjectOptions{})
	}
	return explain(err)
}
