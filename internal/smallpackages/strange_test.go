package smallpackages_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
)

// TestKnownLogsRaiseNoDoubt: a log of a version that is known is never stopped by a
// record of a type that is not. The samples that are called "drift" have invented types.
func TestKnownLogsRaiseNoDoubt(t *testing.T) {
	stores, looked := storesOf(), 0
	stores[session.FormatFragment] = stores[session.FormatPi]
	for _, path := range wholeLogs(t) {
		log := plainLog(t, path)
		store := stores[session.Detect(path, log[:min(len(log), session.HeadSize)])]
		if store == nil || strings.Contains(path, "schema_drift") {
			continue
		}
		looked++
		scan, err := session.ScanActive(t.Context(), store, func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(log)), nil
		}, func() func(*session.Message) error { return func(*session.Message) error { return nil } })
		if err != nil || scan.Doubt != (session.Doubt{}) {
			t.Errorf("%s: %v, %v", path, scan.Doubt, err)
		}
	}
	if looked == 0 {
		t.Error("no log was looked at")
	}
	t.Logf("%d logs", looked)
}
