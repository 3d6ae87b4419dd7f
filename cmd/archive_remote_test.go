package cmd

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sessctl/sessctl/pkg/archive/objects"
)

// What a storage says ends the command with a hint, and with the exit code of what
// was done until then.
func TestWhatStorageSays(t *testing.T) {
	for _, kind := range []error{objects.ErrNoBucket, objects.ErrRefused, objects.ErrClock, objects.ErrLocked, objects.ErrAway, objects.ErrBusy} {
		if !ofAll(fmt.Errorf("put x: %w", kind)) {
			t.Errorf("%v: the next archive is tried", kind)
		}
		err := explainBucket(fmt.Errorf("put x: %w", kind))
		var f *failure
		if !errors.As(err, &f) || f.hint == "" || f.code != "object_storage" || exitCode(err) != exitFailed {
			t.Errorf("%v: %#v", kind, err)
		}
		done := uploadDocument{Archives: []uploadRow{{Outcome: outcomeOffSite}}}
		if code := exitCode(done.partly(err)); code != exitPartly {
			t.Errorf("%v after an archive that was uploaded: exit %d", kind, code)
		}
		if code := exitCode((uploadDocument{}).partly(err)); code != exitFailed {
			t.Errorf("%v at the first archive: exit %d", kind, code)
		}
	}
	if ofAll(objects.ErrDiffers) || ofAll(objects.ErrMissing) {
		t.Error("one archive's error ends the others")
	}
}
