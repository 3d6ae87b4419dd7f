package adapters_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// A log whose records none is known to be of this format, one of which says something
// by its rules, is of an unknown format, from the beginning and from the end.
func TestPiformatBlank(t *testing.T) {
	for name, test := range map[string]struct {
		log     string
		unknown bool
	}{
		"a summary without an id":        {`{"type":"compaction","timestamp":1768035601000,"summary":"hello","tokensBefore":50000}`, true},
		"a custom message without an id": {`{"type":"custom_message","timestamp":1768035601000,"customType":"ci","content":null}`, true},
		"bookkeeping without an id":      {`{"type":"model_change","timestamp":1768035601000}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			log := []byte(test.log + "\n")
			said, _, err := scanAll(log, session.ScanOptions{})
			if errors.Is(err, session.ErrUnknownFormat) != test.unknown || err == nil && len(said) > 0 {
				t.Errorf("a scan gives %d messages and the error %v", len(said), err)
			}
			if _, err := piformatTailOf(log, time.Time{}); errors.Is(err, session.ErrUnknownFormat) != test.unknown {
				t.Errorf("the end gives the error %v", err)
			}
		})
	}
}
