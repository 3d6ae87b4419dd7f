package archive

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// An entry of the catalogue that is read is the one of its archive, and is written
// as it was read; what others have put there is refused.
func FuzzEntry(f *testing.F) {
	const deep = 20_000
	meta := Meta{Runtime: "pi", Agent: "a", Session: "s", Source: "/w/s.jsonl"}
	e := Entry{Schema: schema, ID: ID(meta, "00"), Meta: meta, SHA256: "00", Path: "/x", Compression: CompressionNone}
	good, err := json.Marshal(e)
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{
		"", "{}", "[]", "null", string(good), strings.Replace(string(good), `"/x"`, `"../../x"`, 1), strings.Replace(string(good), `"schema":`, `"schema":9`, 1),
		strings.Replace(string(good), `"bytes":0`, `"bytes":-1`, 1), `{"id":1}`, `{"remote":[]}`, strings.Repeat("[", deep), strings.Repeat(`{"remote":`, deep) + "1" + strings.Repeat("}", deep),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := parseEntry(e.ID, text)
		if err != nil {
			return
		}
		var written bytes.Buffer
		if err := encodeEntry(read)(&written); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, err := parseEntry(e.ID, written.Bytes())
		first, _ := json.Marshal(read)
		second, _ := json.Marshal(again)
		if err != nil || read.ID != e.ID || read.Bytes < 0 || !bytes.Equal(first, second) {
			t.Errorf("%q is %s, and then %s, %v", text, first, second, err)
		}
	})
}
