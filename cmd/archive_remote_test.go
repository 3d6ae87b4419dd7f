package cmd

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive/objects"
)

// What a storage says ends the command with a hint, and with the exit code of what
// was done until then.
func TestWhatStorageSays(t *testing.T) {
	for _, kind := range []error{objects.ErrNoBucket, objects.ErrRefused, objects.ErrClock, objects.ErrLocked, objects.ErrAway, objects.ErrBusy, objects.ErrFull, objects.ErrUnable} {
		if !workspace.OfAll(fmt.Errorf("put x: %w", kind)) {
			t.Errorf("%v: the next archive is tried", kind)
		}
		err := workspace.ExplainBucket(fmt.Errorf("put x: %w", kind))
		var f *failure.Error
		if !errors.As(err, &f) || f.Hint == "" || f.Code != "object_storage" || failure.ExitCode(err) != failure.ExitFailed {
			t.Errorf("%v: %#v", kind, err)
		}
		done := workspace.UploadDocument{Archives: []workspace.UploadRow{{Outcome: workspace.OutcomeOffSite}}}
		if code := failure.ExitCode(done.Partly(err)); code != failure.ExitPartly {
			t.Errorf("%v after an archive that was uploaded: exit %d", kind, code)
		}
		if code := failure.ExitCode((workspace.UploadDocument{}).Partly(err)); code != failure.ExitFailed {
			t.Errorf("%v at the first archive: exit %d", kind, code)
		}
	}
	if workspace.OfAll(objects.ErrDiffers) || workspace.OfAll(objects.ErrMissing) {
		t.Error("one archive's error ends the others")
	}
}

// A full storage is no matter of keys, and one that does not know a request is not
// overloaded.
func TestWhatStorageAnswers(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	for _, c := range []struct {
		status int
		code   string
		want   error
	}{
		{http.StatusForbidden, "QuotaExceeded", objects.ErrFull}, {http.StatusForbidden, "XMinioAdminBucketQuotaExceeded", objects.ErrFull},
		{http.StatusNotImplemented, "NotImplemented", objects.ErrUnable}, {http.StatusForbidden, "AccessDenied", objects.ErrRefused},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", c.code)
		}))
		bucket, err := objects.Open(objects.Options{URL: "s3://backups/h", Endpoint: server.URL, Region: "here", Retries: 1, Getenv: func(string) string { return "" }, Scratch: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bucket.List(t.Context()); !errors.Is(err, c.want) {
			t.Errorf("%d %s: %v", c.status, c.code, err)
		}
		server.Close()
	}
}
