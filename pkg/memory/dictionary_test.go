package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// dictionarySum pins the dictionary: texts in memories can be read only with it.
const dictionarySum = "b43b81e833b4238f2dc17e041777e0cde50e7f4da6d1cabec2ae19083d593ec7"

// The dictionary is the one that texts were written with, and what it has is
// dictionary.txt. It was made with -update, of that and of the pages of the
// documentation as they were then.
func TestDictionaryStays(t *testing.T) {
	phrases, err := os.ReadFile("dictionary.txt")
	if err != nil {
		t.Fatal(err)
	}
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" && len(dictionary) == 0 {
		if err := os.WriteFile("dictionary.bin", makeDictionary(t, phrases), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	sum := sha256.Sum256(dictionary)
	if got := hex.EncodeToString(sum[:]); got != dictionarySum {
		t.Errorf("the dictionary is another one: %s", got)
	}
	inspected, err := zstd.InspectDictionary(dictionary)
	if err != nil || inspected.ID() != 1 || string(inspected.Content()) != strings.ReplaceAll(string(phrases), "\r\n", "\n") {
		t.Error("the dictionary is not dictionary.txt", err)
	}
}

func makeDictionary(t *testing.T, phrases []byte) []byte {
	samples := [][]byte{}
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for ; len(text) >= 700 && len(samples) < 100; text = text[700:] {
			samples = append(samples, text[:700])
		}
	}
	for text := phrases; len(text) >= 300; text = text[300:] {
		samples = append(samples, text[:300])
	}
	made, err := zstd.BuildDict(zstd.BuildDictOptions{ID: 1, Contents: samples, History: phrases, Offsets: [3]int{1, 4, 8}, Level: zstd.SpeedFastest})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// A text comes back as it was, whatever it is, also one that was compressed
// without the dictionary.
func TestTextsComeBack(t *testing.T) {
	w, err := newTextWriter()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"", "a", "I've been thinking about it for a long time. \xff\x00", strings.Repeat("über den Fluß 漢字 ", 5000)}
	for _, n := range []int{leastPacked, leastPacked + 1, leastAlone - 1, leastAlone, leastAlone + 1} {
		texts = append(texts, strings.Repeat("go test ./importer printed 17 lines. ", n)[:n])
	}
	for _, text := range texts {
		for _, kept := range []any{w.kept(text), plain.EncodeAll([]byte(text), nil)} {
			var got keptText
			if err := got.Scan(kept); err != nil || string(got) != text {
				t.Errorf("%q: %q, %v", text[:min(len(text), 40)], got[:min(len(got), 40)], err)
			}
		}
	}
}
