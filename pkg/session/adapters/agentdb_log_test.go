package adapters_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/sessctl/sessctl/internal/fakeagentdb"
	"github.com/sessctl/sessctl/pkg/session/openclaw/agentdb"
)

func agentdbPacked(n int64, text string) fakeagentdb.Row {
	r := fakeagentdb.Packed(fakeagentdb.Row{Session: "s", Seq: 7, JSON: text})
	r.Length = n
	return r
}

func window(t *testing.T, size int, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, zstd.WithWindowSize(size), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var b strings.Builder
	w.Reset(&b)
	for range len(text) / 1024 {
		if _, err := w.Write([]byte(text[:1024])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}

// A row that cannot be read is an error that names it: nothing is left out in
// silence, and no row makes more than it says.
func TestAgentdbDamagedRows(t *testing.T) {
	whole := agentdbPacked(9, `{"a":"b"}`)
	for name, c := range map[string]struct {
		row fakeagentdb.Row
		err error
	}{
		"shorter than it says":   {agentdbPacked(10, `{"a":"b"}`), agentdb.ErrLength},
		"longer than it says":    {agentdbPacked(8, `{"a":"b"}`), agentdb.ErrLength},
		"a bomb":                 {agentdbPacked(100, strings.Repeat("a", 64<<20)), agentdb.ErrLength},
		"a bomb that says so":    {agentdbPacked(64<<20, strings.Repeat("a", 64<<20)), agentdb.ErrLength},
		"a window of 64 MiB":     {fakeagentdb.Row{Session: "s", Seq: 7, Packed: window(t, 64<<20, strings.Repeat("b", 1<<20)), Length: 1 << 20}, agentdb.ErrCompression},
		"not compressed at all":  {fakeagentdb.Row{Session: "s", Seq: 7, Packed: []byte(`{"a":"b"}`), Length: 9}, agentdb.ErrCompression},
		"cut short":              {fakeagentdb.Row{Session: "s", Seq: 7, Packed: whole.Packed[:len(whole.Packed)-3], Length: 9}, nil},
		"neither kind of record": {fakeagentdb.Row{Session: "s", Seq: 7}, nil},
		"no length":              {agentdbPacked(0, `{"a":"b"}`), nil},
		"a negative length":      {agentdbPacked(-5, `{"a":"b"}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := opened(t, agentdbWritten(t, fakeagentdb.Content{Version: 23, Rows: []fakeagentdb.Row{{Session: "s", Seq: 3, JSON: "{}"}, c.row}}))
			log, err := d.Log(t.Context(), "s")
			if err == nil {
				_, err = io.ReadAll(io.NewSectionReader(log, 0, log.Size()))
			}
			if err == nil || !strings.Contains(err.Error(), "row 7 of session s") || c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("%v, want %v", err, c.err)
			}
			if _, err := d.Sessions(t.Context()); err != nil {
				t.Error("the other sessions cannot be listed any more:", err)
			}
		})
	}
}

// A record is one line, and the log as long as the rows say.
func TestAgentdbRecordsOfSeveralLines(t *testing.T) {
	rows := []fakeagentdb.Row{
		{Session: "s", Seq: 1, JSON: "{\n  \"a\": 1\n}"},
		{Session: "s", Seq: 5, JSON: "{\"a\":\n"}, // not JSON: kept as it is
		fakeagentdb.Packed(fakeagentdb.Row{Session: "s", Seq: 9, JSON: "{\"ü\":\n2}"}),
	}
	d := opened(t, agentdbWritten(t, fakeagentdb.Content{Version: 23, Rows: rows}))
	if got, want := text(t, d, "s"), "{   \"a\": 1 }\n{\"a\":\n\n{\"ü\": 2}\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
