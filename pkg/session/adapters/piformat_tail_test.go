package adapters_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

func piformatTailOf(log []byte, modTime time.Time) (session.Tail, error) {
	return piformat.Tail(context.Background(), bytes.NewReader(log), int64(len(log)), modTime)
}

// naiveLastTime returns the time of the last record that has one of its own.
func naiveLastTime(log []byte) time.Time {
	records := naiveRead(log, false)
	for i := len(records) - 1; i >= 0; i-- {
		times := []json.RawMessage{records[i].piformatObject["timestamp"]}
		if body := piformatObjectOf(records[i].piformatObject["message"]); records[i].kind == "message" {
			times = append([]json.RawMessage{body["timestamp"]}, times...)
		}
		for _, raw := range times {
			if ms, _, ok := naiveTime(raw); ok {
				return time.UnixMilli(ms).UTC()
			}
		}
	}
	return time.Time{}
}

// piformatShort returns a log without its filler, for messages.
func piformatShort(log []byte) []byte { return bytes.ReplaceAll(log, []byte("xxxxxxxx"), nil) }

// compareTail checks Tail against a walk over the whole log.
func compareTail(t rapid.TB, log []byte) {
	t.Helper()
	got, err := piformatTailOf(log, time.Time{})
	_, _, scanErr := scanAll(log, session.ScanOptions{})
	if errors.Is(scanErr, session.ErrUnknownFormat) != errors.Is(err, session.ErrUnknownFormat) {
		t.Fatalf("Tail says %v, Scan says %v\n%s", err, scanErr, piformatShort(log))
	}
	if err != nil {
		if !errors.Is(err, session.ErrUnknownFormat) {
			t.Fatal(err)
		}
		return
	}
	want := naiveTail(log)
	want.LastActivity, want.Torn = naiveLastTime(log), got.Torn
	if len(log) > session.ExactTail {
		want.MessagesExact, want.Messages = got.MessagesExact, got.Messages
		if got.LastActivity.IsZero() {
			want.LastActivity = got.LastActivity // no time in what was looked at
		}
	}
	want.LastRecord = want.LastActivity // the file has no time
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-oracle +Tail): %s\n%s", diff, piformatShort(log))
	}
}

func TestPiformatTailAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { compareTail(t, drawLog(t)) })
}

// The same for logs that are longer than what Tail looks at.
func TestPiformatTailOfLongLogAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		filler := fmt.Sprintf(`{"type":"custom","customType":"x","data":%q}`, strings.Repeat("x", 9000))
		var long bytes.Buffer
		for line := range bytes.Lines(log) {
			long.Write(line)
			if bytes.HasSuffix(line, []byte("\n")) && rapid.IntRange(0, 2).Draw(t, "filler") == 0 {
				long.WriteString(strings.Repeat(filler+"\n", rapid.IntRange(1, 12).Draw(t, "fillers")))
			}
		}
		compareTail(t, long.Bytes())
	})
}

func TestPiformatTailSamples(t *testing.T) {
	files := sessionFiles(t, "pi", "openclaw", "real/pi", "real/openclaw-2026.7.1", "real/openclaw-2026.9.6", "real/openclaw-migrated-9.6")
	for name, log := range files {
		t.Run(name, func(t *testing.T) { compareTail(t, log) })
	}
}

func TestPiformatTailTestdata(t *testing.T) {
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func(second int) time.Time { return time.Date(2026, 3, 2, 8, 0, second, 0, time.UTC) }
	for name, want := range map[string]session.Tail{
		"forks.jsonl": {
			Tokens: 1800, TokenSource: session.TokensFromUsage, Messages: 15, MessagesExact: true,
			LastRole: session.RoleAssistant, Answered: true, LastActivity: clock(17),
		},
		// The summary (14), what stays from record 3 on (5 + 5), 11 runes, and the prompt.
		"version1.jsonl": {
			Tokens: 14 + 5 + 5 + 11 + 1050 - 6, TokenSource: session.TokensFromEstimate, Messages: 5, MessagesExact: true,
			LastRole: session.RoleUser, LastActivity: clock(6),
		},
		// Nothing before the reset counts.
		"openclaw.jsonl": {
			Tokens: 5, TokenSource: session.TokensFromEstimate, Messages: 6, MessagesExact: true,
			LastRole: session.RoleUser, LastActivity: clock(9),
		},
		// The last record is torn; what was before it counts.
		"damaged.jsonl": {
			Tokens: 1200 + 2, TokenSource: session.TokensFromUsage, Messages: 6, MessagesExact: true,
			LastRole: session.RoleUser, Torn: true, LastActivity: clock(8),
		},
		"shapes.jsonl": {
			Tokens: 1000 + 2 + 9, TokenSource: session.TokensFromUsage, Messages: 4, MessagesExact: true,
			LastRole: session.RoleUser, LastActivity: clock(5).Add(500 * time.Millisecond),
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := readTestdata(t, name)
			want.LastRecord = want.LastActivity // all before the file's time
			got, err := piformatTailOf(log, at)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got): %s", diff)
			}
			if n, err := piformat.CountMessages(context.Background(), bytes.NewReader(log)); err != nil || n != got.Messages {
				t.Errorf("CountMessages says %d (%v), Tail %d", n, err, got.Messages)
			}
		})
	}
}

func TestPiformatTailLastActivity(t *testing.T) {
	said := time.Date(2026, 3, 2, 8, 0, 1, 0, time.UTC)
	for name, c := range map[string]struct {
		log           string
		modTime, want time.Time
		record        time.Time
	}{
		"of the last record":     {tailHeader + tailUser, said.Add(time.Hour), said, said},
		"not in the future":      {tailHeader + tailUser, said.Add(-time.Hour), said.Add(-time.Hour), said},
		"of the file":            {`{"type":"message","id":"a","message":{"role":"user","content":"x"}}`, said, said, time.Time{}},
		"of the record before":   {tailUser + `{"type":"label","id":"a","timestamp":"yesterday"}`, said.Add(time.Hour), said, said},
		"of an empty file":       {"", said, said, time.Time{}},
		"without a file's times": {tailUser, time.Time{}, said, said},
	} {
		t.Run(name, func(t *testing.T) {
			tail, err := piformatTailOf([]byte(c.log), c.modTime)
			if err != nil || !tail.LastActivity.Equal(c.want) || !tail.LastRecord.Equal(c.record) {
				t.Errorf("last activity %v, want %v; last record %v, want %v (%v)", tail.LastActivity, c.want, tail.LastRecord, c.record, err)
			}
		})
	}
}

// readerAt counts what is read.
type readerAt struct {
	io.ReaderAt
	bytes int64
}

func (r *readerAt) ReadAt(p []byte, offset int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, offset)
	r.bytes += int64(n)
	return n, err
}

func TestPiformatTailReadsLittle(t *testing.T) {
	log := longLog(20 << 20)
	r := &readerAt{ReaderAt: bytes.NewReader(log)}
	tail, err := piformat.Tail(context.Background(), r, int64(len(log)), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if r.bytes > session.ExactTail {
		t.Errorf("%d bytes were read", r.bytes)
	}
	if tail.TokenSource != session.TokensFromUsage || !tail.Answered || tail.MessagesExact {
		t.Errorf("%+v", tail)
	}
	exact, err := piformat.CountMessages(context.Background(), bytes.NewReader(log))
	if err != nil || tail.Messages < exact*9/10 || tail.Messages > exact*11/10 {
		t.Errorf("%d messages are estimated, there are %d (%v)", tail.Messages, exact, err)
	}
}

func TestPiformatTailStopsInStrangeFile(t *testing.T) {
	r := &readerAt{ReaderAt: strings.NewReader(strings.Repeat("2026-03-02 08:00:00 INFO nothing happened\n", 1<<18))}
	size := int64(len("2026-03-02 08:00:00 INFO nothing happened\n") << 18)
	_, err := piformat.Tail(context.Background(), r, size, time.Time{})
	if !errors.Is(err, session.ErrUnknownFormat) {
		t.Errorf("error %v", err)
	}
	if r.bytes > 2<<20 {
		t.Errorf("%d bytes of a file that is no session were read", r.bytes)
	}
}

func TestPiformatTailErrors(t *testing.T) {
	log := longLog(1 << 20)
	if _, err := piformat.Tail(context.Background(), bytes.NewReader(log[:1000]), int64(len(log)), time.Time{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v of a log that became shorter", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := piformat.Tail(ctx, bytes.NewReader(log), int64(len(log)), time.Time{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v when cancelled", err)
	}
	if _, err := piformatTailOf([]byte("\xFF\xFE{\x00}\x00\n\x00"), time.Time{}); !errors.Is(err, session.ErrUnknownFormat) {
		t.Errorf("error %v of UTF-16", err)
	}
}

// What is no session must not look like an empty one; what may become one is
// no error.
func TestPiformatRefuseOrWait(t *testing.T) {
	for text, refuse := range map[string]bool{
		"hello": true, "<html>\n</html>\n": true, `{"foo":1}`: true, "[1]\n": true, "[1": true, "{\n\"type\":\"session\"\n}\n": true,
		"oops\n" + `{"type":"sess`:  true,
		`{"type":"session","id":"5`: false, "\xEF\xBB\xBF\x00\n" + `{"type":"session","id":"5`: false, "": false, "\n\n": false, "\x00\x00": false,
	} {
		if _, _, err := scanAll([]byte(text), session.ScanOptions{}); errors.Is(err, session.ErrUnknownFormat) != refuse {
			t.Errorf("Scan of %q: %v", text, err)
		}
		if _, err := piformatTailOf([]byte(text), time.Time{}); errors.Is(err, session.ErrUnknownFormat) != refuse {
			t.Errorf("Tail of %q: %v", text, err)
		}
	}
}

func FuzzPiformatTail(f *testing.F) {
	own, _ := filepath.Glob("testdata/piformat/*.jsonl")
	for _, depth := range []string{"*", "*/*", "*/*/*", "*/*/*/*", "*/*/*/*/*"} {
		samples, _ := filepath.Glob("../../../../shared/samples*/" + depth + ".jsonl")
		own = append(own, samples...)
	}
	for _, name := range own {
		log, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(log) <= session.ExactTail {
			f.Add(log)
		}
	}
	f.Add([]byte("{\"type\":\"message\",\"message\":{}}\n{\"message\":{\"timestamp\":1000000000}}\n")) // a time that belongs to no message
	f.Fuzz(func(t *testing.T, log []byte) {
		if len(log) > session.ExactTail || salvageable(log) || strange(log) || bytes.HasPrefix(log, []byte("\xFF\xFE")) || bytes.HasPrefix(log, []byte("\xFE\xFF")) {
			return
		}
		compareTail(t, log)
	})
}
