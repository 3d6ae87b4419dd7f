package smallpackages_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// TestExplainShared: whoever meets a shared memory of another version is told what
// to do about it.
func TestExplainShared(t *testing.T) {
	for _, c := range []struct {
		err        error
		code, says string
	}{
		{remote.ErrOlderSchema, "older_schema", "sessctl fleet init"},
		{remote.ErrNewerSchema, "newer_schema", "install that version of sessctl, or a later one"},
		{remote.ErrNotSetUp, "not_set_up", "sessctl fleet init"},
	} {
		var f *failure.Error
		err := workspace.ExplainShared(fmt.Errorf("connect: %w", c.err))
		if !errors.As(err, &f) || f.Code != c.code || !strings.Contains(f.Hint, c.says) || !errors.Is(err, c.err) {
			t.Errorf("%v: %+v", c.err, f)
		}
	}
}
