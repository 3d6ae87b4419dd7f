package compact_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// kept is an archived log of the workspace.
func (h *workspace) kept(text string) compact.Archived {
	sum := sha256.Sum256([]byte(text))
	h.archive.copies["old"] = text
	return compact.Archived{ID: "old", Path: "/archive/old", SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(text))}
}

// request asks for an archived log at the place of the workspace's own.
func (h *workspace) request(text string) compact.RestoreRequest {
	return compact.RestoreRequest{Archive: h.kept(text), Place: session.Place{
		Path: h.ref.Path, Kept: h.ref.Path + ".aside", SecondKept: h.ref.Path + ".spare", Ref: h.ref,
	}}
}

func (h *workspace) restore(r compact.RestoreRequest) (compact.RestoreResult, error) {
	h.t.Helper()
	p, err := h.PlanRestore(context.Background(), r)
	if err != nil {
		return compact.RestoreResult{}, err
	}
	return h.Restore(context.Background(), p)
}

func (h *workspace) wantFile(path, text string) {
	h.t.Helper()
	got, err := os.ReadFile(path)
	if text == "" && os.IsNotExist(err) {
		return
	}
	if err != nil || string(got) != text {
		h.t.Fatalf("%s holds %d bytes (%v), want %d", filepath.Base(path), len(got), err, len(text))
	}
}

func (h *workspace) wantJournal(n int) {
	h.t.Helper()
	left, err := h.Journal.List()
	if err != nil || len(left) != n {
		h.t.Fatalf("journal %v, %v; want %d", left, err, n)
	}
}

func TestRestoreWhereNothingIs(t *testing.T) {
	h := newWorkspace(t, 6)
	r := h.request(h.log)
	must(t, os.Remove(h.ref.Path))
	r.Place.Path = filepath.Join(filepath.Dir(h.ref.Path), "new", "dir", "s1.jsonl")
	result, err := h.restore(r)
	if err != nil || result.Outcome != compact.Restored {
		t.Fatal(result, err)
	}
	h.wantFile(r.Place.Path, h.log)
	h.wantJournal(0)
	if info, err := os.Stat(filepath.Dir(r.Place.Path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
	result, err = h.restore(r)
	if err != nil || result.Outcome != compact.NothingToDo {
		t.Fatal(result, err)
	}
}

func TestRestoreRefusesOtherBytes(t *testing.T) {
	for name, c := range map[string]struct{ there, archived, reason string }{
		"grown":   {"one\ntwo\n", "one\n", "the archived bytes and 4 more"},
		"longer":  {"one\ntwo\n", "six\n", "4 bytes longer"},
		"shorter": {"one\n", "one\ntwo\n", "4 bytes shorter"},
		"other":   {"one\n", "two\n", "as long as the archive"},
	} {
		h := newWorkspace(t, 1)
		must(t, os.WriteFile(h.ref.Path, []byte(c.there), 0o600))
		_, err := h.restore(h.request(c.archived))
		var different *compact.DifferentError
		if !errors.As(err, &different) || !strings.Contains(different.Reason, c.reason) {
			t.Errorf("%s: %v, want %q", name, err, c.reason)
		}
		h.wantFile(h.ref.Path, c.there)
		h.wantJournal(0)
	}
}

func TestRestoreOverOtherBytes(t *testing.T) {
	h := newWorkspace(t, 6)
	r := h.request("older\n")
	r.Force = true
	result, err := h.restore(r)
	if err != nil || result.Outcome != compact.Restored || h.archive.copies[result.Replaced.ID] != h.log {
		t.Fatal(result, err)
	}
	h.wantFile(h.ref.Path, "older\n")
	h.wantFile(result.Kept, h.log)
	h.wantJournal(1)
	// a late line is archived before the old log goes
	late := h.log + "late\n"
	must(t, os.WriteFile(result.Kept, []byte(late), 0o600))
	must(t, h.settle())
	h.wantJournal(0)
	found := false
	for _, text := range h.archive.copies {
		found = found || text == late
	}
	if !found {
		t.Error("the late line is nowhere")
	}
	h.wantFile(h.ref.Path, "older\n")
}

// What a run that was killed between its steps leaves is finished or taken back.
func TestSettleRestore(t *testing.T) {
	const old = "older\n"
	for name, c := range map[string]struct {
		live, aside, spare     string
		wantLive, wantAside    string
		archived, wantArchived bool // the log is in an archive already; it must be after
	}{
		"nothing done":               {live: "log", wantLive: "log"},
		"copy made":                  {live: "log", aside: old, wantLive: "log"},
		"moved aside, not exchanged": {aside: old, spare: "log", wantLive: old},
		"exchanged":                  {live: old, aside: "log", wantLive: old, wantArchived: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newWorkspace(t, 1)
			r := h.request(old)
			for path, text := range map[string]string{r.Place.Path: c.live, r.Place.Kept: c.aside, r.Place.SecondKept: c.spare} {
				os.Remove(path)
				if text != "" {
					must(t, os.WriteFile(path, []byte(text), 0o600))
				}
			}
			must(t, h.Journal.Write(compact.Intent{
				Schema: 1, ID: "x", Kind: compact.KindRestore, Restore: &compact.Restoration{Path: r.Place.Path, Archive: r.Archive, SecondKept: r.Place.SecondKept},
				Rotation: session.Rotation{Runtime: "test", Store: h.store.dir, Live: r.Place.Path, Kept: r.Place.Kept, Snapshot: session.Snapshot{Inode: 1}},
			}))
			temp := filepath.Join(filepath.Dir(r.Place.Path), "."+filepath.Base(r.Place.Path)+".sessctl-0123456789abcdef.tmp")
			must(t, os.WriteFile(temp, nil, 0o600))
			must(t, h.settle())
			h.wantJournal(0)
			h.wantFile(r.Place.Path, c.wantLive)
			h.wantFile(temp, "")
			var all []string
			for _, text := range h.archive.copies {
				all = append(all, text)
			}
			if (c.wantArchived || c.spare != "") && !strings.Contains(strings.Join(all, "|"), "log") {
				t.Errorf("the replaced log is in no archive: %q", all)
			}
		})
	}
}

func TestRestoreOfADamagedArchive(t *testing.T) {
	h := newWorkspace(t, 3)
	r := h.request("older\n")
	delete(h.archive.copies, "old")
	r.Force = true
	if _, err := h.restore(r); !errors.Is(err, errDisk) {
		t.Fatal(err)
	}
	h.wantFile(h.ref.Path, h.log)
	h.wantJournal(0)
}

// A destination of one's own choice is a file; one that the log came from is in
// a store, or nowhere.
func TestFindPlaceOutsideOfStores(t *testing.T) {
	ctx, now, dir := context.Background(), time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC), t.TempDir()
	d := compact.Destination{Log: session.Ref{Runtime: "test", Agent: "a", ID: "s1", Path: filepath.Join(dir, "gone.jsonl")}}
	if _, _, err := compact.FindPlace(ctx, nil, d, now); !errors.Is(err, session.ErrElsewhere) {
		t.Error(err)
	}
	d.To = dir
	if _, _, err := compact.FindPlace(ctx, nil, d, now); !errors.Is(err, compact.ErrDirectory) {
		t.Error(err)
	}
	d.To = filepath.Join(dir, "s1.jsonl")
	for _, there := range []bool{false, true} {
		p, store, err := compact.FindPlace(ctx, nil, d, now)
		if err != nil || store != nil || p.There != there || p.Path != d.To || p.Ref.Path != d.To || p.Ref.ID != "s1" || p.Kept == p.SecondKept {
			t.Errorf("%+v, %v, %v", p, store, err)
		}
		must(t, os.WriteFile(d.To, []byte("x"), 0o600))
	}
}
