package objects

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/sessctl/sessctl/internal/httpclient"
)

var (
	// ErrMissing is returned when the object is not there.
	ErrMissing = errors.New("it is not on the storage")
	// ErrDiffers is returned when an object of that name has other bytes than it
	// should have. It is left as it is.
	ErrDiffers = errors.New("the object has other bytes")
	// ErrNoBucket is returned when there is no such bucket.
	ErrNoBucket = errors.New("there is no such bucket")
	// ErrRefused is returned when the storage refuses: key, signature or rights.
	ErrRefused = errors.New("the storage refuses")
	// ErrClock is returned when the clocks of host and storage are too far apart.
	ErrClock = errors.New("the clocks of this host and of the storage differ too much")
	// ErrLocked is returned when the bucket cannot keep objects from being deleted.
	ErrLocked = errors.New("the bucket has no object lock")
	// ErrRecipients is returned when what copies are to be encrypted for is no public
	// key of age.
	ErrRecipients = errors.New("the recipients cannot be used")
	// ErrNoIdentity is returned when an object is encrypted and none of the
	// identities can read it.
	ErrNoIdentity = errors.New("it is encrypted, and there is no identity for it")
	// ErrAway is returned when no connection to the storage comes about, or none
	// that lasts.
	ErrAway = errors.New("the storage does not answer")
	// ErrFull is returned when the storage or the quota of the bucket is full.
	ErrFull = errors.New("the storage is full")
	// ErrUnable is returned when the storage does not know a request that is needed.
	ErrUnable = errors.New("the storage does not know this request")
	// ErrBusy is returned when the storage cannot serve, however often it is asked.
	ErrBusy = errors.New("the storage is overloaded or out of order")
	// ErrUnknown is returned when an encrypted object is there that this host has
	// not sent, as far as it knows, and that nobody here can decrypt to compare it.
	ErrUnknown = errors.New("an encrypted object of that name is there, and whether it is the copy is not known")
)

// errThere says that an object of that name is there already.
var errThere = errors.New("it is there already")

// errPrecondition is errThere where the storage says so itself.
var errPrecondition = fmt.Errorf("%w, says the storage", errThere)

func isThere(err error) bool { return errors.Is(err, errThere) }

// explain puts one of our errors before that of the storage.
func explain(err error) error {
	if err == nil {
		return nil
	}
	var broken net.Error
	if errors.As(err, &broken) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", ErrAway, httpclient.WithoutURL(err))
	}
	said := minio.ToErrorResponse(err)
	kind := map[string]error{
		"NoSuchKey": ErrMissing, "NotFound": ErrMissing, "NoSuchBucket": ErrNoBucket, "PreconditionFailed": errPrecondition, "NoSuchUpload": errThere, "RequestTimeTooSkewed": ErrClock,
		"AccessDenied": ErrRefused, "InvalidAccessKeyId": ErrRefused, "SignatureDoesNotMatch": ErrRefused, "ObjectLockConfigurationNotFoundError": ErrLocked,
		"QuotaExceeded": ErrFull, "XMinioAdminBucketQuotaExceeded": ErrFull, "XMinioStorageFull": ErrFull,
	}[said.Code]
	switch {
	case kind != nil:
	case said.Code == "InvalidRequest" && strings.Contains(strings.ReplaceAll(said.Message, " ", ""), "ObjectLockConfiguration"):
		kind = ErrLocked
	case said.StatusCode == http.StatusPreconditionFailed:
		kind = errPrecondition
	case said.StatusCode == http.StatusInsufficientStorage:
		kind = ErrFull
	case said.StatusCode == http.StatusNotImplemented:
		kind = ErrUnable
	case said.StatusCode == http.StatusForbidden:
		kind = ErrRefused
	case said.StatusCode >= http.StatusInternalServerError, said.StatusCode == http.StatusTooManyRequests, said.Code == "SlowDown":
		kind = ErrBusy
	default:
		return err
	}
	return fmt.Errorf("%w (%s)", kind, strings.TrimSuffix(said.Message, "."))
}

// takesNoCondition reports the answer of a storage that does not know
// If-None-Match.
func takesNoCondition(err error) bool {
	said := minio.ToErrorResponse(err)
	return err != nil && (said.Code == "NotImplemented" || said.StatusCode == http.StatusNotImplemented)
}
