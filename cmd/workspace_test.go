package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A clock before 2020 knows no time yet: nothing is made with it. Before 1970
// there are no ids.
func TestAClockBeforeEverySessionChangesNothing(t *testing.T) {
	for _, year := range []int{1904, 1969, 1970, 2019} {
		dir := filepath.Join(t.TempDir(), "data")
		a := &app{
			streams: newStreams(strings.NewReader(""), nil, nil), getenv: func(string) string { return "" },
			now: func() time.Time { return time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC) },
		}
		a.global.DataDir = dir
		_, err := a.lock(t.Context())
		if f := (*failure)(nil); !errors.As(err, &f) || f.code != "clock" {
			t.Errorf("%d: %v", year, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%d: a data directory was made", year)
		}
	}
}
