package compact_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// keeper is a compact.Rebuilder that notes what it was given.
type keeper struct {
	archives []string
	from     []string // archive of each record
	texts    []string
}

func (k *keeper) Rebuild(_ context.Context, _ session.Ref, archives []compact.Origin, records iter.Seq2[compact.ArchivedRecord, error]) (compact.Remembered, error) {
	for _, a := range archives {
		k.archives = append(k.archives, a.ID)
	}
	for r, err := range records {
		if err != nil {
			return compact.Remembered{}, err
		}
		k.from, k.texts = append(k.from, r.From.ID), append(k.texts, r.Text)
	}
	slices.Sort(k.archives)
	return compact.Remembered{Stored: len(k.texts)}, nil
}

// Archives whose bytes a longer one begins with are not read for themselves;
// others are, the oldest first; one that cannot be read is named.
func TestRebuildReadsEachByteOnce(t *testing.T) {
	h := newWorkspace(t, 1)
	long := newLog(12)
	short := newLog(5)
	other := strings.ReplaceAll(newLog(8), "message number", "another telling of")
	empty := strings.SplitAfter(long, "\n")[0]
	var logs []compact.ArchivedLog
	for i, text := range []string{other, long, short, empty, "lost"} {
		sum := sha256.Sum256([]byte(text))
		a := compact.Archived{ID: fmt.Sprintf("copy%d", i), SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(text))}
		if text != "lost" {
			h.archive.copies[a.ID] = text
		}
		logs = append(logs, compact.ArchivedLog{Ref: h.ref, Archived: a, CreatedAt: time.Unix(int64(100-i), 0)})
	}
	k := &keeper{}
	result, err := h.Rebuild(context.Background(), h.store, logs, h.policy(), k)
	if err != nil || result.Archives != 4 || len(result.Damaged) != 1 || result.Damaged[0].Archived.ID != "copy4" {
		t.Fatalf("%+v, %v", result, err)
	}
	if d := cmp.Diff([]string{"copy0", "copy1", "copy2", "copy3", "copy3"}, k.archives); d != "" { // two begin with the last
		t.Fatal(d)
	}
	if d := cmp.Diff([]string{"copy1", "copy1", "copy1", "copy0", "copy0"}, k.from); d != "" { // 12 and 8 messages in blocks of 4
		t.Fatal(d)
	}
}

// A session of which nothing can be read is left as it is.
func TestRebuildOfNothing(t *testing.T) {
	h := newWorkspace(t, 1)
	k := &keeper{}
	logs := []compact.ArchivedLog{{Ref: h.ref, Archived: compact.Archived{ID: "gone", Bytes: 7}}}
	result, err := h.Rebuild(context.Background(), h.store, logs, h.policy(), k)
	if err != nil || len(result.Damaged) != 1 || k.archives != nil {
		t.Fatalf("%+v, %v, %v", result, err, k.archives)
	}
}
