package embed

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden vectors anew; needs another builtinVersion")

// goldenFile is testdata/golden/builtin.json.
type goldenFile struct {
	Model   string         `json:"model"`
	Terms   string         `json:"terms"` // SHA-256 of the terms of every word of the table
	Vectors []goldenVector `json:"vectors"`
}

type goldenVector struct {
	Kind    string      `json:"kind"` // "document" or "query"
	Text    string      `json:"text"`
	SHA256  string      `json:"sha256"`  // of the components as little-endian float32
	Largest []component `json:"largest"` // for people who look for the difference
}

type component struct {
	Dim   int     `json:"dim"`
	Value float32 `json:"value"`
}

// goldenTexts each reach another corner of the scanner, the stemmer, the table
// or the sums.
func goldenTexts() []string {
	return []string{
		"the quick brown fox jumps over the lazy dog",
		"Caroline's children went hiking on the 9th; they hadn't bought tickets.",
		"open pkg/session/openclaw/store.go:214 in func readSessionIDs (v1.2.3, sha256Sum, HTTPServer)",
		"Ünïcödé café, Straße, Łódź, Ελλάδα, Москва, नमस्ते दुनिया",
		"取り込み処理が止まった。데이터를 보관했다 ภาษาไทย",
		"xqzzyv",
		prose,
		code,
		chunkOf(japanese, 3500),
	}
}

// TestGoldenVectors fails when a text gets another vector than it used to, by
// a change of the code or on another platform: stored vectors would then meet
// different ones under the same name.
func TestGoldenVectors(t *testing.T) {
	path := filepath.Join("testdata", "golden", "builtin.json")
	want, got := readGolden(t, path), currentVectors(t)
	if cmp.Equal(want, got) {
		return
	}
	if !*update {
		t.Fatalf("vectors changed; count up builtinVersion, then run with -update (-want +got):\n%s", cmp.Diff(want, got))
	}
	if want.Model == got.Model && !slices.Equal(hashes(want), hashes(got)[:1+len(want.Vectors)]) {
		t.Fatalf("vectors changed under the same name %s; count up builtinVersion first", got.Model)
	}
	data, err := json.MarshalIndent(got, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readGolden(t *testing.T, path string) (g goldenFile) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		if *update {
			return goldenFile{}
		}
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func currentVectors(t *testing.T) goldenFile {
	t.Helper()
	e := newBuiltin(t)
	g := goldenFile{Model: e.Model().String(), Terms: hashTerms(e)}
	for _, text := range goldenTexts() {
		documents, err := e.EmbedDocuments(context.Background(), []string{text})
		if err != nil {
			t.Fatal(err)
		}
		query, err := e.EmbedQuery(context.Background(), text)
		if err != nil {
			t.Fatal(err)
		}
		g.Vectors = append(g.Vectors, describeVector("document", text, documents[0]), describeVector("query", text, query))
	}
	return g
}

func describeVector(kind, text string, v []float32) goldenVector {
	data, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(data)
	components := make([]component, len(v))
	for i, x := range v {
		components[i] = component{i, x}
	}
	slices.SortStableFunc(components, func(a, b component) int {
		switch x, y := a.Value*a.Value, b.Value*b.Value; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return goldenVector{Kind: kind, Text: text, SHA256: hex.EncodeToString(sum[:]), Largest: components[:6]}
}

// hashTerms sees any change to stems and stop words, in whichever of the
// 40,000 words of the table.
func hashTerms(e *Builtin) string {
	sum := sha256.New()
	var terms []byte
	for row := range e.table.Len() {
		terms = append(AppendTerms(terms[:0], e.table.Word(row)), '\n')
		sum.Write(terms)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// hashes lists what may not change under the same name; the file may grow.
func hashes(g goldenFile) []string {
	list := []string{g.Terms}
	for _, v := range g.Vectors {
		list = append(list, v.SHA256)
	}
	return list
}

func newBuiltin(t testing.TB) *Builtin {
	t.Helper()
	e, err := NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	return e
}
