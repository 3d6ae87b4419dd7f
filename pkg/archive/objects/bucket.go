package objects

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/sessctl/sessctl/pkg/archive"
)

// Options say which storage, and how copies are kept there.
type Options struct {
	// URL is s3://bucket or s3://bucket/prefix.
	URL string
	// Endpoint is the address of the storage, https://host:port; "" is Amazon's.
	// http:// is allowed for storage on this host or in a network of one's own.
	Endpoint string
	Region   string // "" lets the storage say
	// Retain is how long the storage keeps a copy from being deleted (object lock,
	// governance mode); 0 does not ask for it.
	Retain time.Duration
	// Recipients are the age recipients (age1...) to which copies are encrypted;
	// none leaves copies as they are.
	Recipients []string
	// Identities is the text of an age identity file, with which encrypted copies
	// are read; "" reads none.
	Identities string
	// Scratch is a directory for encrypted files on their way; it is made.
	Scratch string
	// Getenv is asked for AWS_SHARED_CREDENTIALS_FILE and AWS_PROFILE.
	Getenv func(string) string
	// Now is the time; nil is time.Now.
	Now func() time.Time
	// Retries is how often a request is tried again; 0 is 5.
	Retries int
	// Silence is how long the storage may neither take nor send a byte before the
	// connection counts as broken; 0 is a minute.
	Silence time.Duration
	// AtOnce is the largest object that is put at once, and Part how large the
	// parts of larger ones are, at least 5 MiB; 0 is 5 GiB and 64 MiB.
	AtOnce, Part int64
}

// Bucket is a place for copies. It may be used by several goroutines.
type Bucket struct {
	place
	notes
	core    minio.Core
	options Options

	recipients []age.Recipient
	identities []age.Identity
}

// Open returns the place that the options name. Nothing is asked of the storage
// yet. The keys are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or those of the
// shared credentials file.
func Open(o Options) (*Bucket, error) {
	at, err := url.Parse(o.URL)
	if err != nil || at.Scheme != "s3" || at.Host == "" || at.RawQuery != "" || at.User != nil {
		return nil, fmt.Errorf("%q is not the address of a bucket: write s3://bucket/prefix", o.URL)
	}
	if err := s3utils.CheckValidBucketName(at.Host); err != nil {
		return nil, fmt.Errorf("%q: %w", at.Host, err)
	}
	host, secure, err := endpoint(o.Endpoint)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Retries == 0 {
		o.Retries = 5
	}
	if o.Silence == 0 {
		o.Silence = time.Minute
	}
	o.AtOnce, o.Part = cmp.Or(o.AtOnce, mostAtOnce), cmp.Or(o.Part, partBytes)
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", o.URL, err)
	}
	transport.ResponseHeaderTimeout = o.Silence
	transport.DialContext = dialWatched(transport.DialContext, o.Silence)
	patiently := &patient{next: transport, tries: o.Retries}
	keys := credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{Filename: o.Getenv("AWS_SHARED_CREDENTIALS_FILE"), Profile: o.Getenv("AWS_PROFILE")},
	})
	core, err := minio.NewCore(host, &minio.Options{Creds: keys, Secure: secure, Region: o.Region, Transport: patiently, MaxRetries: o.Retries})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", o.URL, err)
	}
	b := &Bucket{place: place{name: at.Host, prefix: strings.Trim(at.Path, "/")}, notes: notes{dir: o.Scratch}, core: *core, options: o}
	if len(o.Recipients) > 0 {
		if b.recipients, err = age.ParseRecipients(strings.NewReader(strings.Join(o.Recipients, "\n"))); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRecipients, err)
		}
	}
	if o.Identities != "" {
		if b.identities, err = age.ParseIdentities(strings.NewReader(o.Identities)); err != nil {
			return nil, errors.New("read the identities: this is not an age identity file") // what it holds is secret
		}
	}
	return b, nil
}

// endpoint is the host of an address, and whether it is spoken to by TLS.
func endpoint(address string) (host string, secure bool, err error) {
	if address == "" {
		return "s3.amazonaws.com", true, nil
	}
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || strings.Trim(at.Path, "/") != "" || at.User != nil {
		return "", false, fmt.Errorf("%q is not the address of a storage: write https://host:port", address)
	}
	return at.Host, at.Scheme == "https", nil
}

// object is what is put: its bytes, their number and their hash.
type object struct {
	key       string
	body      content
	bytes     int64
	sha256    string
	kind      string // MIME type
	encrypted bool

	part     int64    // how large its parts are, 0 if it is put at once
	sums     [][]byte // of its parts
	checksum string   // of its parts, as storages give it
}

// content are the bytes of an object.
type content interface {
	io.ReadSeeker
	io.ReaderAt
}

// ownHash is the metadata that says what the bytes of the object hash to. It is
// for people; nothing is concluded from it.
const ownHash = "X-Amz-Meta-Sessctl-Sha256"

// put puts an object that is not there yet. One that is there is compared. The
// storage is asked first: some take no condition, and the bytes of an upload that
// is repeated need not be sent for that.
func (b *Bucket) put(ctx context.Context, o object) (archive.Remote, error) {
	if err := b.partsOf(ctx, &o); err != nil {
		return archive.Remote{}, err
	}
	_, err := b.stat(ctx, o.key)
	if err == nil {
		return b.readBack(ctx, o)
	}
	if errors.Is(err, ErrMissing) {
		err = b.send(ctx, o)
	}
	if err != nil && !isThere(err) {
		return archive.Remote{}, fmt.Errorf("put %s: %w", o.key, err)
	}
	return b.readBack(ctx, o)
}

// send sends an object that was not there a moment ago.
func (b *Bucket) send(ctx context.Context, o object) error {
	options := minio.PutObjectOptions{ContentType: o.kind, UserMetadata: map[string]string{ownHash: o.sha256}}
	if b.options.Retain > 0 {
		options.Mode, options.RetainUntilDate = minio.Governance, b.options.Now().Add(b.options.Retain)
	}
	if o.part > 0 {
		return b.sendParts(ctx, o, options)
	}
	sum, err := hex.DecodeString(o.sha256)
	if err != nil {
		return err
	}
	options.UserMetadata["X-Amz-Checksum-Sha256"] = base64.StdEncoding.EncodeToString(sum)
	unconditional := options
	options.SetMatchETagExcept("*")
	_, err = b.core.PutObject(ctx, b.name, o.key, o.body, o.bytes, "", o.sha256, options)
	if takesNoCondition(err) {
		if _, err = o.body.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err = b.core.PutObject(ctx, b.name, o.key, o.body, o.bytes, "", o.sha256, unconditional)
	}
	return explain(err)
}

// readBack asks the storage what it has, and compares.
func (b *Bucket) readBack(ctx context.Context, o object) (archive.Remote, error) {
	there, err := b.look(ctx, o.key, o.checksum)
	if err != nil {
		return archive.Remote{}, err
	}
	if !there.is(o.sha256, o.bytes) {
		return archive.Remote{}, there.differs(b.urlOf(o.key), o.sha256, o.bytes)
	}
	return b.remote(there, o)
}

// state is what the storage says of an object.
type state struct {
	bytes  int64
	sha256 string // as it was asked for or read, never from metadata
	etag   string
	retain time.Time

	parts bool // the checksum of its parts is the one that was wanted
}

// is reports whether these are the bytes of such a hash.
func (s state) is(sha256 string, bytes int64) bool {
	return s.bytes == bytes && (s.parts || s.sha256 == sha256)
}

func (s state) differs(url, sha256 string, bytes int64) error {
	return fmt.Errorf("%s: %w: %d bytes, sha256 %s, expected %d bytes, %s", url, ErrDiffers, s.bytes, s.sha256, bytes, sha256)
}

// stat asks for the length of an object.
func (b *Bucket) stat(ctx context.Context, key string) (state, error) {
	s, _, err := b.ask(ctx, key, false)
	return s, err
}

// ask asks for the length and the checksum of an object.
func (b *Bucket) ask(ctx context.Context, key string, checksum bool) (s state, sum string, err error) {
	info, err := b.core.StatObject(ctx, b.name, key, minio.StatObjectOptions{Checksum: checksum})
	if err != nil {
		return s, "", fmt.Errorf("look at %s: %w", key, explain(err))
	}
	s.bytes, s.etag = info.Size, info.ETag
	s.retain, _ = time.Parse(time.RFC3339, info.Metadata.Get("X-Amz-Object-Lock-Retain-Until-Date")) // zero: it is not kept
	return s, info.ChecksumSHA256, nil
}

// look asks for the length and the checksum of an object. Where the storage keeps
// no checksum, or one of other parts than are known here, the object is read.
func (b *Bucket) look(ctx context.Context, key, parts string) (state, error) {
	s, said, err := b.ask(ctx, key, true)
	if err != nil {
		return state{}, err
	}
	if parts != "" && said == parts {
		s.parts, s.sha256 = true, said
		return s, nil
	}
	if sum, err := base64.StdEncoding.DecodeString(said); err == nil && len(sum) == sha256.Size {
		s.sha256 = hex.EncodeToString(sum)
		return s, nil
	}
	hash := sha256.New()
	if s.bytes, err = b.get(ctx, key, hash); err != nil {
		return state{}, err
	}
	s.sha256 = hex.EncodeToString(hash.Sum(nil))
	return s, nil
}

// get reads an object to its end. Where the connection breaks off, it goes on from
// there.
func (b *Bucket) get(ctx context.Context, key string, to io.Writer) (int64, error) {
	at, etag := int64(0), ""
	for try := 1; ; try++ {
		p := part{key: key, at: at, etag: etag}
		err := b.getPart(ctx, &p, to)
		at, etag = p.at, p.etag
		if err == nil {
			return at, nil
		}
		if !p.broken || try >= b.options.Retries || ctx.Err() != nil {
			return at, fmt.Errorf("read %s: %w", key, explain(err))
		}
	}
}

// part is an object from a byte on.
type part struct {
	key    string
	at     int64  // the next byte
	etag   string // of the object that the bytes before were of
	broken bool   // the connection broke off
}

// getPart reads an object from a byte on, to its end.
func (b *Bucket) getPart(ctx context.Context, p *part, to io.Writer) error {
	options := minio.GetObjectOptions{}
	if p.at > 0 {
		if err := errors.Join(options.SetRange(p.at, 0), options.SetMatchETag(p.etag)); err != nil {
			return err
		}
	}
	body, info, header, err := b.core.GetObject(ctx, b.name, p.key, options)
	if err != nil {
		return err
	}
	defer body.Close()
	if p.at > 0 && header.Get("Content-Range") == "" {
		return errors.New("the connection broke off, and the storage does not give the rest alone")
	}
	p.etag = info.ETag
	source := &noted{Reader: body}
	n, err := io.Copy(to, source)
	p.at += n
	if err == nil && info.Size >= 0 && n != info.Size { // a proxy may not say how much follows
		err, source.err = io.ErrUnexpectedEOF, io.ErrUnexpectedEOF
	}
	p.broken = source.err != nil
	return err
}

// noted notes how reading ended, which tells it from how writing did.
type noted struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (n *noted) Read(p []byte) (int, error) {
	read, err := n.Reader.Read(p)
	if err != nil && err != io.EOF {
		n.err = err
	}
	return read, err
}

// Answers returns nil if the storage answers at all, be it that it refuses, and
// otherwise [ErrAway] or [ErrBusy].
func (b *Bucket) Answers(ctx context.Context) error {
	_, err := b.core.StatObject(ctx, b.name, b.key("entries"), minio.StatObjectOptions{})
	if err = explain(err); errors.Is(err, ErrAway) || errors.Is(err, ErrBusy) {
		return err
	}
	return ctx.Err()
}

// Check asks the storage for length and checksum of a recorded copy and compares
// them. It returns the record with the time of this look, [ErrMissing] when the
// object is gone, and [ErrDiffers] when it is another.
func (b *Bucket) Check(ctx context.Context, e archive.Entry) (archive.Remote, error) {
	key, err := b.keyOf(e.Remote)
	if err != nil {
		return archive.Remote{}, err
	}
	r := *e.Remote
	there, err := b.look(ctx, key, r.Checksum)
	if err != nil {
		return archive.Remote{}, err
	}
	if !r.Encrypted && r.SHA256 != e.StoredSHA256 {
		return r, fmt.Errorf("%s: %w: it is a copy of another file than %s", r.URL, ErrDiffers, e.StoredSHA256)
	}
	if !there.is(r.SHA256, r.Bytes) {
		return r, there.differs(r.URL, r.SHA256, r.Bytes)
	}
	r.ETag = there.etag
	r.CheckedAt, r.RetainUntil = b.options.Now().UTC().Truncate(time.Second), there.retain
	return r, nil
}

// mostEntry bounds an entry, in bytes; far above what names and paths can fill.
const mostEntry = 1 << 20

// putEntry puts the entry of a copy, with which it can be found: that of a second
// object has a second entry, see [Bucket.Entries].
func (b *Bucket) putEntry(ctx context.Context, e archive.Entry, number int) error {
	e.Superseded = nil
	recorded := *e.Remote
	recorded.CheckedAt, recorded.Seen, recorded.ETag = recorded.CheckedAt.UTC(), false, "" // by whoever reads it
	e.Remote = &recorded
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("write the entry of %s: %w", e.ID, err)
	}
	sum := sha256.Sum256(text)
	key := b.key(entryName(e.ID, number))
	_, err = b.put(ctx, object{key: key, body: bytes.NewReader(text), bytes: int64(len(text)), sha256: hex.EncodeToString(sum[:]), kind: "application/json"})
	if !errors.Is(err, ErrDiffers) {
		return err
	}
	there, err := b.entry(ctx, key) // that of an earlier upload, or of another host
	if err != nil {
		return err
	}
	if there.ID != e.ID || there.SHA256 != e.SHA256 || there.Remote == nil {
		return fmt.Errorf("%s: %w", key, ErrDiffers)
	}
	return nil
}

func (b *Bucket) entry(ctx context.Context, key string) (e archive.Entry, err error) {
	info, err := b.core.StatObject(ctx, b.name, key, minio.StatObjectOptions{})
	if err != nil {
		return e, fmt.Errorf("look at %s: %w", key, explain(err))
	}
	if info.Size > mostEntry {
		return e, fmt.Errorf("%s: it has %d bytes, which is no entry", key, info.Size)
	}
	var text bytes.Buffer
	if _, err := b.get(ctx, key, &text); err != nil {
		return e, err
	}
	if err := json.Unmarshal(text.Bytes(), &e); err != nil {
		return e, fmt.Errorf("read %s: %w", key, err)
	}
	return e, nil
}
