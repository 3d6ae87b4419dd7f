package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzScan checks what must hold of any bytes: every line that is one object
// is a record, whatever stands around it; every record is an object at the
// place it says; the bytes add up; and the reads make no difference.
func FuzzScan(f *testing.F) {
	f.Add([]byte(strings.Join(logRecords, "\n")), uint8(7))
	f.Add([]byte(logRecords[1]+logRecords[2][:40]+logRecords[3]+"\n{}\n\x00\x00{}{\"a\":1}x\n[{}]\n"), uint8(1))
	f.Add([]byte(`{"type":{"type":"a"}`+"\n"+`{"type":"a"}`+"\n"+`{"type":"a","b":[{"type":"a"}`), uint8(200))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		var records []Record
		decode := func(r *Record) error {
			var c Cursor
			if c.Reset(r.Raw); c.Kind() != Object {
				return ErrSyntax
			}
			if _, err := value(&c); err != nil {
				return err
			}
			record := *r
			record.Raw = bytes.Clone(r.Raw)
			records = append(records, record)
			return nil
		}
		counts, err := Scan(context.Background(), bytes.NewReader(data), Options{}, decode)
		if isUTF16(data) {
			return
		}
		if err != nil || counts.Bytes != int64(len(data)) || counts.Records != len(records) {
			t.Fatalf("%+v %v", counts, err)
		}
		whole := map[int64]bool{}
		for _, r := range records {
			if !bytes.Equal(data[r.Offset:r.Offset+r.Length], r.Raw) || !json.Valid(r.Raw) {
				t.Fatalf("at %d there is no %q", r.Offset, r.Raw)
			}
			if !r.Salvaged {
				whole[r.Offset] = true
			}
		}
		lines := naiveLines(data)
		for _, line := range lines {
			text := bytes.Trim(line.Raw, " \t\r\x00")
			if len(text) > 0 && text[0] == '{' && json.Valid(text) && !whole[line.Offset+int64(bytes.Index(data[line.Offset:], text))] {
				t.Fatalf("the record %q was not read", text)
			}
		}
		if counts.Lines != len(lines) || counts.Bad > counts.Lines-counts.Blank {
			t.Fatalf("%+v of %d lines", counts, len(lines))
		}
		first := records
		records = nil
		again, err := Scan(context.Background(), &pieces{r: bytes.NewReader(data), sizes: []int{int(size), 1}}, Options{}, decode)
		if diff := cmp.Diff(counts, again); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
		if diff := cmp.Diff(first, records); diff != "" {
			t.Fatal(diff)
		}
	})
}
