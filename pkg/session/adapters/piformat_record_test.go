package adapters_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
	"pgregory.net/rapid"
)

func TestPiformatReadHeader(t *testing.T) {
	at := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		log   string
		want  piformat.Header
		found bool
	}{
		"version 3": {
			`{"type":"session","version":3,"id":"a","timestamp":"2026-03-02T08:00:00.000Z","cwd":"/x","parentSession":"/y.jsonl"}` + "\n",
			piformat.Header{ID: "a", Version: 3, CWD: "/x", ParentSession: "/y.jsonl", Time: at, Line: 1}, true,
		},
		"version 1":        {`{"type":"session","id":"a","timestamp":1772438400000,"cwd":null}`, piformat.Header{ID: "a", Version: 1, Time: at, Line: 1}, true},
		"odd version":      {`{"type":"session","id":"a","version":"4.0"}`, piformat.Header{ID: "a", Version: 4, Line: 1}, true},
		"not first":        {tailUser + `{"type":"session","id":"a","version":3}` + "\n", piformat.Header{ID: "a", Version: 3, Line: 2}, true},
		"after a bad line": {"oops\n" + `{"type":"session","id":"a","version":3}` + "\n", piformat.Header{ID: "a", Version: 3, Line: 2}, true},
		"the first of two": {`{"type":"session","id":"a","version":3}` + "\n" + `{"type":"session","id":"b","version":3}` + "\n", piformat.Header{ID: "a", Version: 3, Line: 1}, true},
		"none":             {tailUser, piformat.Header{}, false},
		"empty":            {"", piformat.Header{}, false},
		"without an id":    {`{"type":"session","version":3}`, piformat.Header{}, false},
		"torn":             {`{"type":"session","version":3,"id":"a"`, piformat.Header{}, false},
		"UTF-16":           {"\xFF\xFE{\x00}\x00", piformat.Header{}, false},
		"beyond the head":  {strings.Repeat(tailUser, session.HeadSize/len(tailUser)+1) + `{"type":"session","id":"a"}`, piformat.Header{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, found, err := piformat.ReadHeader(strings.NewReader(c.log))
			if err != nil || found != c.found {
				t.Errorf("found %v, %v", found, err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got): %s", diff)
			}
		})
	}
	broken := errors.New("broken")
	if _, _, err := piformat.ReadHeader(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// ReadHeader stops when it has the header.
func TestPiformatReadHeaderReadsLittle(t *testing.T) {
	log := longLog(2 << 20)
	r := bytes.NewReader(log)
	if _, found, err := piformat.ReadHeader(r); !found || err != nil {
		t.Fatal(found, err)
	}
	if read := len(log) - r.Len(); read > session.HeadSize {
		t.Errorf("%d bytes were read", read)
	}
}

func TestPiformatCountMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		want := 0
		for _, r := range naiveRead(log, false) {
			if r.kind == "message" {
				want++
			}
		}
		got, err := piformat.CountMessages(context.Background(), bytes.NewReader(log))
		if err != nil || got != want {
			t.Fatalf("%d messages, want %d (%v)\n%s", got, want, err, log)
		}
	})
}

func TestPiformatCountMessagesErrors(t *testing.T) {
	broken := errors.New("broken")
	if _, err := piformat.CountMessages(context.Background(), io.MultiReader(strings.NewReader(tailUser), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := piformat.CountMessages(ctx, strings.NewReader(tailUser)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
