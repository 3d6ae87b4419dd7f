package memory

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

// Vectors that are written in parts are those that are written at once.
func TestRowsWrittenInParts(t *testing.T) {
	whole, e := embeddingStore(t)
	parts, _ := embeddingStore(t)
	source := Source{Agent: "a", Session: "s"}
	for _, after := range [][]Record{toEmbed()[:50], toEmbed()} { // the block is there when all are put
		if _, err := whole.PutEmbedded(t.Context(), source, Embedding{e.embedder, e.model}, sequence(after, nil)); err != nil {
			t.Fatal(err)
		}
		if err := putInParts(t, parts, e, source, after); err != nil {
			t.Fatal(err)
		}
	}
	if blocks := tableOf(t, parts, "SELECT block FROM vector_blocks"); len(blocks) != 3 {
		t.Errorf("%d blocks of %d vectors", len(blocks), len(namesOf(t, parts)))
	}
	if diff := gocmp.Diff(namesOf(t, whole), namesOf(t, parts)); diff != "" {
		t.Error(diff)
	}
	sameVectors(t, whole, parts)
	mustVerify(t, parts)
}

// putInParts writes rows of vectors after each third of the records.
func putInParts(t *testing.T, s *Store, e *embedding, source Source, list []Record) error {
	return s.inTransaction(t.Context(), func(tx *sql.Tx) error {
		w, err := s.newEmbeddingWriter(t.Context(), tx, e, &PutResult{})
		if err != nil {
			return err
		}
		defer w.close()
		for i, r := range list {
			if err := w.put(source.complete(r)); err != nil {
				return err
			}
			if i%(len(list)/3) == 0 {
				if err := w.settle(); err != nil {
					return err
				}
				if err := w.vectors.Flush(); err != nil {
					return err
				}
			}
		}
		return w.finish()
	})
}

// Words whose numbers are of another vocabulary go into a segment of their own.
func TestWordsOfTwoVocabularies(t *testing.T) {
	s, e := embeddingStore(t)
	err := s.inTransaction(t.Context(), func(tx *sql.Tx) error {
		w, err := s.newEmbeddingWriter(t.Context(), tx, e, &PutResult{})
		if err != nil {
			return err
		}
		defer w.close()
		for id, text := range []string{"crane", "heron"} {
			r := Record{ID: fmt.Sprint(id), Agent: "a", Session: "s", Text: text, Category: "session_history", Branch: "active", Position: id}
			if err := errors.Join(w.put(r), w.settle()); err != nil {
				return err
			}
			w.ahead.preparer.reader.Renew()
		}
		return w.finish()
	})
	if err != nil {
		t.Fatal(err)
	}
	mustVerify(t, s)
	if r, err := s.Recall(t.Context(), Query{Text: "crane", Rank: RankText}, nil, e.model); err != nil || len(r.Hits) != 1 || r.Hits[0].ID != "0" {
		t.Errorf("%+v, %v", r, err)
	}
}

// Texts of leastAlone bytes and more are read without the dictionary, shorter ones
// with it alone.
func TestWhichTextsNeedTheDictionary(t *testing.T) {
	w, err := newTextWriter()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for size, alone := range map[int]bool{leastAlone: true, leastAlone - 1: false} {
		kept, _ := w.appendKept(nil, strings.Repeat("a", size))
		if _, err := plain.DecodeAll(kept.([]byte), nil); (err == nil) != alone {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// Short texts are kept as they are, as is what does not become shorter, and what is
// kept in the room of others stands behind them.
func TestHowTextsAreKept(t *testing.T) {
	w, err := newTextWriter()
	if err != nil {
		t.Fatal(err)
	}
	room := []byte("of another text")
	for text, packed := range map[string]bool{
		strings.Repeat("a", leastPacked): false, strings.Repeat("a", leastPacked+1): true, strings.Repeat("beam ", leastAlone/5): true,
		"q9Zx7Lw2Kv5Tj8Hb3Nf6Rc1Pd4Mg0SyUeOiAqWzXsEcVrFbTgNhYmJuKlIoPq7Zw3Xe9Rv": false,
	} {
		kept, all := w.appendKept(room, text)
		part, isPacked := kept.([]byte)
		if isPacked != packed || !bytes.HasPrefix(all, room) || isPacked && !bytes.Equal(all[len(room):], part) {
			t.Errorf("%d bytes: packed %v", len(text), isPacked)
		}
		if plain, ok := unpackText(part); packed && (!ok || plain != text || len(part) >= len(text)) {
			t.Errorf("%d bytes became %d", len(text), len(part))
		}
	}
}
