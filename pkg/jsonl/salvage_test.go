package jsonl

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
