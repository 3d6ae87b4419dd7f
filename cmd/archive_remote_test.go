package cmd

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive/objects"
)

// What a storage says ends the command with a hint, and with the exit code of what
// was done until then.
func TestWhatStorageSays(t *testing.T) {
	for _, kind := range []error{objects.ErrNoBucket, objects.ErrRefused, objects.ErrClock, objects.ErrLocked, objects.ErrAway, objects.ErrBusy} {
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
