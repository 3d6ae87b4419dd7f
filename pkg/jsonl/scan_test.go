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

// eachCut calls f with every true beginning of every record, the record, and
// the next record.
func eachCut(f func(fragment, record string)) {
	for i, broken := range logRecords {
		record := logRecords[(i+1)%len(logRecords)]
		for k := 1; k < len(broken); k++ {
			f(broken[:k], record)
		}
	}
}

// A writer crashed in the middle of a record and went on with the next: the
// next one is read, wherever the crash was.
func TestSalvageRecordBehindAFragment(t *testing.T) {
	all := strings.Join(logRecords, "\n") + "\n"
	eachCut(func(fragment, record string) {
		want := append(append([]string{}, logRecords...), record, logRecords[3])
		checkScan(t, all+fragment+record+"\n"+logRecords[3]+"\n", want, Counts{Bad: 1, Salvaged: 1})
	})
}

// The same with a hole that a power cut left, with two records behind the
// fragment, and with the next fragment behind the record.
func TestSalvageBetweenFragments(t *testing.T) {
	all := strings.Join(logRecords, "\n") + "\n"
	known := append([]string{}, logRecords...)
	eachCut(func(fragment, record string) {
		one, two := append(known, record), append(known, record, logRecords[1])
		checkScan(t, all+fragment+strings.Repeat("\x00", 20)+record+"\n", one, Counts{Bad: 1, Salvaged: 1})
		checkScan(t, all+fragment+record+logRecords[1]+"\n", two, Counts{Bad: 1, Salvaged: 2})
		checkScan(t, all+fragment+record+` {"type":"mess`+"\n", one, Counts{Bad: 1, Salvaged: 1})
		checkScan(t, all+fragment+record+` {"type":"mess`, one, Counts{Bad: 1, Salvaged: 1, Torn: true, TornBytes: 13})
		checkScan(t, all+fragment+record, one, Counts{Bad: 1, Salvaged: 1})
	})
}

// A fragment alone is a bad line, and nothing inside of it is taken for a
// record; as the last line it is pending.
func TestSalvageNothingFromAFragment(t *testing.T) {
	all := strings.Join(logRecords, "\n") + "\n"
	eachCut(func(fragment, record string) {
		want := append(append([]string{}, logRecords...), record)
		checkScan(t, all+fragment+"\n"+record+"\n", want, Counts{Bad: 1})
		checkScan(t, all+fragment, logRecords, Counts{Torn: true, TornBytes: int64(len(fragment))})
	})
}

// Line feeds that were lost cost nothing.
func TestSalvageSeveralRecordsOnALine(t *testing.T) {
	for _, between := range []string{"", " ", "\t \r", "\x00\x00"} {
		line := strings.Join(logRecords, between)
		checkScan(t, line+"\n", logRecords, Counts{Salvaged: 4})
		checkScan(t, line, logRecords, Counts{Salvaged: 4})
	}
	eachCut(func(fragment, record string) {
		checkScan(t, record+fragment+"\n", []string{record}, Counts{Bad: 1, Salvaged: 1})
		checkScan(t, record+fragment, []string{record}, Counts{Salvaged: 1, Torn: true, TornBytes: int64(len(fragment))})
	})
}

// A log without any line feed is one line, and every record of it is read,
// whatever the size of the records.
func TestSalvageThousandsOfRecordsOnALine(t *testing.T) {
	for _, test := range []struct {
		record string
		n      int
	}{
		{`{}`, 100_000}, {logRecords[2], 10_000}, {`{"text":"` + strings.Repeat(`line\n`, 170) + `"}`, 2000},
		{`{"text":"` + strings.Repeat(`line\n`, 20_000) + `","n":[true,null,-1.5e3]}`, 20},
	} {
		line := strings.Repeat(test.record, test.n)
		n := 0
		counts, err := Scan(context.Background(), strings.NewReader(line), Options{}, func(r *Record) error {
			if len(r.Raw) > len(test.record) {
				return ErrSyntax
			}
			n++
			return nil
		})
		want := Counts{Lines: 1, Records: test.n, Salvaged: test.n, Bytes: int64(len(line))}
		if diff := cmp.Diff(want, counts); diff != "" || err != nil || n != test.n {
			t.Errorf("%d times %.40q: %v %s", test.n, test.record, err, diff)
		}
	}
}

// What is torn or odd around the end of a window is found in the next one.
func TestSalvageObjectsOfEveryLength(t *testing.T) {
	for _, end := range []string{`"}`, `","b":true}`, `","b":null}`, `","b":-12.5e+10}`, `","key":[{}]}`, `\\"}`, `\u00e4"}`} {
		for n := firstWindow - 30; n < firstWindow+5; n++ {
			record := `{"a":"` + strings.Repeat("x", n-6) + end
			checkScan(t, record+record+"\n", []string{record, record}, Counts{Salvaged: 2})
			checkScan(t, record+record+record[:len(record)-1]+"\n", []string{record, record}, Counts{Salvaged: 2, Bad: 1})
		}
	}
}

func TestSalvageOddLines(t *testing.T) {
	record := logRecords[1]
	for _, test := range []struct {
		line    string
		records int
		counts  Counts
	}{
		{record + `garbage`, 1, Counts{Bad: 1, Salvaged: 1}},
		{record + `"`, 1, Counts{Bad: 1, Salvaged: 1}},
		{record + `,`, 0, Counts{Bad: 1}}, // a part of an array
		{record + `}`, 0, Counts{Bad: 1}}, // a part of an object
		{`[` + record + `,` + record + `]`, 0, Counts{Bad: 1}},
		{`lo world"}]}}` + record, 1, Counts{Bad: 1, Salvaged: 1}}, // the end of a record, after a hole
		{`{"a":NaN,"b":{"c":{"d":1}}}`, 0, Counts{Bad: 1}},
		{`{"text":"say {"a":1} now"}`, 0, Counts{Bad: 1}}, // quotes that were not escaped
		{`{}{}`, 2, Counts{Salvaged: 2}},
		{`{}`, 1, Counts{}},
		{`42`, 0, Counts{Bad: 1}}, {`"text"`, 0, Counts{Bad: 1}}, {`null`, 0, Counts{Bad: 1}}, {`[]`, 0, Counts{Bad: 1}}, {`true`, 0, Counts{Bad: 1}},
		{`}`, 0, Counts{Bad: 1}}, {`{`, 0, Counts{Bad: 1}}, {`{"`, 0, Counts{Bad: 1}}, {`{{{{`, 0, Counts{Bad: 1}}, {`{"{"{"{"`, 0, Counts{Bad: 1}},
		{"\xef\xbb\xbf" + record, 1, Counts{Bad: 1, Salvaged: 1}}, // a byte order mark in the middle of the stream
		{"", 0, Counts{Blank: 1}}, {" \t\r", 0, Counts{Blank: 1}}, {"\x00\x00", 0, Counts{Blank: 1, NULBytes: 2}}, {" \x00 ", 0, Counts{Blank: 1}},
	} {
		d, got := scanText(t, logRecords[0]+"\n"+test.line+"\n")
		want := test.counts
		want.Records, want.Lines, want.Bytes, want.FirstBad = 1+test.records, 2, got.Bytes, got.FirstBad
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s\n%q", test.line, diff, d.raws)
		}
	}
}

// A hostile line must not cost more than a constant times its length.
func TestSalvageIsBounded(t *testing.T) {
	for _, unit := range []string{`{"a":`, `{"`, `{"type":"x",`, `{"a":1} x`, `[{"a":1},`, `{}`} {
		raw := strings.Repeat(unit, 3<<20/len(unit))
		for _, complete := range []bool{true, false} {
			n := 0
			s := &scan{decode: func(r *Record) error {
				n++
				return ErrSyntax
			}}
			line := &Line{Raw: []byte(raw), Length: int64(len(raw)), Complete: complete}
			if err := s.line(line); err != nil {
				t.Fatal(err)
			}
			used := salvagePasses*len(raw) + salvageFloor - s.work
			if used > 20*len(raw) || s.counts.Bad > 1 {
				t.Errorf("%s: %d bytes were looked at in %d, %d bad lines", unit, used, len(raw), s.counts.Bad)
			}
		}
	}
}
