package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// Records of a log like pi's, with everything that makes salvage hard: objects
// in arrays that begin like records, braces and quotes in text, escapes.
var logRecords = []string{
	`{"type":"session","version":3,"id":"s1","timestamp":"2026-01-10T09:00:00.000Z","cwd":"/home/demo"}`,
	`{"type":"message","id":"m1","parentId":null,"message":{"role":"user","content":[{"type":"text","text":"naïve {\"type\":\"message\"} \\ \u00e4 {"},{"type":"text","text":"two"}],"timestamp":1768035601000}}`,
	`{"type":"message","id":"m2","parentId":"m1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"exec","arguments":{"command":"ls","env":{}}}],"usage":{"input":1,"output":2.5e1,"cost":{"total":0.0}},"stopReason":"toolUse"}}`,
	`{"type":"message","id":"m3","parentId":"m2","message":{"role":"toolResult","content":[],"isError":false,"details":null}}`,
}

func scanText(t *testing.T, text string) (*entryDecoder, Counts) {
	t.Helper()
	d, counts, err := scanBytes(t, []byte(text), Options{})
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return d, counts
}

// checkScan checks which records were read of text and what was counted.
func checkScan(t *testing.T, text string, records []string, want Counts) {
	t.Helper()
	d, got := scanText(t, text)
	if diff := cmp.Diff(records, d.raws); diff != "" {
		t.Fatalf("%q: %s", text, diff)
	}
	want.Records, want.Lines, want.Bytes, want.FirstBad = len(records), got.Lines, int64(len(text)), got.FirstBad
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q: %s", text, diff)
	}
}

func TestScanRecords(t *testing.T) {
	text := "\xef\xbb\xbf" + `{"a":1}` + "\r\n\n" + "\x00\x00 " + `{"b":2} ` + "\n" + `{"c":3}{"d":4}` + "\nbad\n" + `{"x` + `{"e":5}` + "\n" + `{"f":6}`
	var got []Record
	counts, err := Scan(context.Background(), strings.NewReader(text), Options{}, func(r *Record) error {
		var c Cursor
		if c.Reset(r.Raw); c.Kind() != Object {
			return ErrSyntax
		}
		if err := c.End(); err != nil {
			return err
		}
		if at := text[r.Offset : r.Offset+r.Length]; at != string(r.Raw) {
			t.Errorf("at %d there is %q, not %q", r.Offset, at, r.Raw)
		}
		record := *r
		record.Raw = bytes.Clone(r.Raw)
		got = append(got, record)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Record{
		{Line: 1, Offset: 3, Length: 7, Raw: []byte(`{"a":1}`)},
		{Line: 3, Offset: 16, Length: 7, Raw: []byte(`{"b":2}`)},
		{Line: 4, Offset: 25, Length: 7, Raw: []byte(`{"c":3}`), Salvaged: true},
		{Line: 4, Offset: 32, Length: 7, Raw: []byte(`{"d":4}`), Salvaged: true},
		{Line: 6, Offset: 47, Length: 7, Raw: []byte(`{"e":5}`), Salvaged: true},
		{Line: 7, Offset: 55, Length: 7, Raw: []byte(`{"f":6}`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	bad := []BadLine{
		{Line: 5, Offset: 40, Reason: "not a JSON object"},
		{Line: 6, Offset: 44, Reason: "invalid JSON at byte 5: no colon after a key"},
	}
	wantCounts := Counts{Lines: 7, Blank: 1, Records: 6, Bad: 2, Salvaged: 3, NULBytes: 2, FirstBad: bad, Bytes: int64(len(text))}
	if diff := cmp.Diff(wantCounts, counts); diff != "" {
		t.Error(diff)
	}
}

func TestScanCutRecordsSayWhereTheyWere(t *testing.T) {
	long := `{"a":"` + strings.Repeat("x", 5000) + `"}`
	text := "{}\n\x00 " + long + "\n" + long + long + "\n"
	var offsets, lengths, cuts []int64
	counts, err := Scan(context.Background(), strings.NewReader(text), Options{MaxLine: 1000, MaxString: 100}, func(r *Record) error {
		var c Cursor
		c.Reset(r.Raw)
		if err := c.End(); err != nil {
			return err
		}
		offsets, lengths, cuts = append(offsets, r.Offset), append(lengths, r.Length), append(cuts, r.CutBytes)
		return nil
	})
	if err != nil || counts.CutLines != 2 || counts.CutBytes != 3*4900 || counts.Records != 4 {
		t.Fatalf("%+v %v", counts, err)
	}
	start := int64(5 + len(long) + 1)
	if cmp.Diff([]int64{0, 5, start, start}, offsets) != "" || cmp.Diff([]int64{0, 4900, 0, 0}, cuts) != "" || lengths[1] != int64(len(long)) {
		t.Errorf("offsets %v lengths %v cuts %v", offsets, lengths, cuts)
	}
}

func TestScanStopsAtOtherErrors(t *testing.T) {
	stop := errors.New("enough")
	for _, text := range []string{"{}\n{}\n{}\n", "{}{}{}\n"} {
		n := 0
		counts, err := Scan(context.Background(), strings.NewReader(text), Options{}, func(r *Record) error {
			if bytes.Count(r.Raw, []byte("{")) > 1 {
				return fmt.Errorf("two objects: %w", ErrSyntax)
			}
			if n++; n == 2 {
				return stop
			}
			return nil
		})
		if err != stop || counts.Records != 1 || n != 2 {
			t.Errorf("%q: %+v %v", text, counts, err)
		}
	}
}

func TestScanStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	counts, err := Scan(ctx, strings.NewReader(strings.Repeat("{}\n", 10_000)), Options{}, func(*Record) error {
		if n++; n == 1000 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || counts.Records < 1000 || counts.Records > 1000+contextEvery {
		t.Errorf("%d records, %v", counts.Records, err)
	}
}

func TestScanReportsReadErrorsAfterThePrefix(t *testing.T) {
	broken := errors.New("the disk is gone")
	d := &entryDecoder{}
	r := io.MultiReader(strings.NewReader(`{"id":"1"}`+"\n"+`{"id":"2`), iotest.ErrReader(broken))
	counts, err := Scan(context.Background(), r, Options{}, d.decode)
	if !errors.Is(err, broken) || counts.Records != 1 || !counts.Torn || counts.TornBytes != 8 {
		t.Errorf("%+v %v", counts, err)
	}
}

// decode is not asked twice about the same text.
func TestScanOffersEachTextOnce(t *testing.T) {
	for _, line := range []string{"{}", "42", `{"a":1}{"b":2}`, `{"a":"` + "\t" + `"}`, `{"x{"type":1}`, `{"a":1}x`} {
		seen := map[string]int{}
		_, err := Scan(context.Background(), strings.NewReader(line+"\n"), Options{}, func(r *Record) error {
			seen[string(r.Raw)]++
			return ErrSyntax
		})
		for text, n := range seen {
			if n > 1 {
				t.Errorf("%q: %q was offered %d times", line, text, n)
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
}

func ExampleScan() {
	log := `{"type":"message","text":"one"}
{"type":"mess{"type":"message","text":"two"}
{"type":"message","text":"thr`
	var c Cursor
	counts, err := Scan(context.Background(), strings.NewReader(log), Options{}, func(r *Record) error {
		c.Reset(r.Raw)
		if c.Kind() != Object {
			return ErrSyntax
		}
		var text []byte
		for ok := c.EnterObject(); ok && c.NextKey(); {
			switch string(c.Key()) {
			case "text":
				text, _ = c.Bytes()
			}
		}
		if err := c.End(); err != nil {
			return err // nothing was done yet, so the line can be salvaged
		}
		fmt.Printf("line %d: %s\n", r.Line, text)
		return nil
	})
	fmt.Println(counts.Records, "records,", counts.Bad, "bad line,", counts.TornBytes, "bytes pending,", err)
	// Output:
	// line 1: one
	// line 2: two
	// 2 records, 1 bad line, 29 bytes pending, <nil>
}
