package smallpackages_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/relocate"
	"github.com/sessctl/sessctl/pkg/retention"
)

var retentionNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestRetentionChoose(t *testing.T) {
	const day = 24 * time.Hour
	all := []retention.Candidate{
		{ID: "old", Owner: "a", Time: retentionNow.Add(-91 * day)},
		{ID: "limit", Owner: "a", Time: retentionNow.Add(-90 * day)},
		{ID: "new", Owner: "a", Time: retentionNow.Add(-day)},
		{ID: "future", Owner: "a", Time: retentionNow.Add(day)},
		{ID: "only", Owner: "b", Time: retentionNow.Add(-400 * day)},
	}
	want := map[string]string{"old": "", "limit": "not old enough", "new": "not old enough", "future": "among the newest of its agent", "only": "among the newest of its agent"}
	got := map[string]string{}
	for _, v := range retention.Choose(all, retention.Policy{MaxAge: 90 * day, Keep: 1}, retentionNow) {
		got[v.ID] = v.Reason
		if v.Goes != (v.Reason == "") {
			t.Errorf("%+v", v)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	verdicts := retention.Choose(all, retention.Policy{MaxAge: 90 * day}, retentionNow)
	if verdicts[3].Goes || verdicts[3].Reason != "its time is in the future" || !verdicts[4].Goes {
		t.Errorf("%+v", verdicts)
	}
}

// Whatever the times, the newest of every owner stay and nothing young goes.
func TestRetentionChooseKeepsTheNewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []retention.Candidate
		for i := range rapid.IntRange(0, 30).Draw(t, "n") {
			age := time.Duration(rapid.IntRange(-5, 20).Draw(t, "age")) * time.Hour
			all = append(all, retention.Candidate{ID: fmt.Sprint(i), Owner: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "owner"), Time: retentionNow.Add(-age)})
		}
		p := retention.Policy{MaxAge: 5 * time.Hour, Keep: rapid.IntRange(0, 4).Draw(t, "keep")}
		stay := map[string]int{}
		total := map[string]int{}
		verdicts := retention.Choose(all, p, retentionNow)
		for _, v := range verdicts {
			total[v.Owner]++
			if !v.Goes {
				stay[v.Owner]++
			} else if retentionNow.Sub(v.Time) <= p.MaxAge {
				t.Fatalf("%+v is not old", v)
			}
			for _, w := range verdicts {
				if v.Goes && !w.Goes && w.Owner == v.Owner && w.Time.Before(v.Time) {
					t.Fatalf("%+v goes and the older %+v stays", v, w)
				}
			}
		}
		for owner, n := range total {
			if stay[owner] < min(p.Keep, n) {
				t.Fatalf("%d of %d stay of %s", stay[owner], n, owner)
			}
		}
	})
}

func TestRetentionAudit(t *testing.T) {
	a := retention.Audit{Path: filepath.Join(t.TempDir(), "deep", "audit.jsonl")}
	if lines, err := a.Lines(); err != nil || lines != nil {
		t.Fatal(lines, err)
	}
	line := retention.Line{Time: retentionNow, Action: retention.ActionTrash, Kind: "archive", Path: "/a\nb", Bytes: 3}
	if err := a.Append(line); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(a.Path, os.O_APPEND|os.O_WRONLY, 0) // a torn line
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString(`{"time":"20`)
	f.Close()
	if err := a.Append(line); err != nil {
		t.Fatal(err)
	}
	lines, err := a.Lines()
	line.Hash = line.Sum()
	if diff := cmp.Diff([]retention.Line{line, line}, lines); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if recorded, err := a.Recorded(); err != nil || len(recorded) != 2 || !recorded[1].At.Equal(line.Time) {
		t.Error(recorded, err)
	}
	if info, err := os.Stat(a.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

func TestRetentionTrash(t *testing.T) {
	dir := t.TempDir()
	trash := retention.Trash{Dir: filepath.Join(dir, "records")}
	from := filepath.Join(dir, "files", "x.jsonl")
	write(t, from, "text")
	item := retention.Item{ID: "id1", Kind: "archive", From: from, To: retention.Place(from, "id1"), At: retentionNow, Until: retentionNow.Add(7 * 24 * time.Hour)}
	for range 2 { // the second time finds it done
		if err := trash.Put(item); err != nil {
			t.Fatal(err)
		}
	}
	if moved, err := trash.Recover(item); err != nil || !moved {
		t.Error(moved, err)
	}
	got, err := trash.Get("id")
	item.Schema, item.Hash = 1, item.Sum()
	if diff := cmp.Diff(item, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, err := trash.Get("x"); !errors.Is(err, retention.ErrNotInTrash) {
		t.Error(err)
	}
	write(t, from, "another")
	if err := trash.TakeBack(item); !errors.Is(err, fs.ErrExist) {
		t.Error("a file that is there was replaced:", err)
	}
	if err := os.Remove(from); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := trash.TakeBack(item); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(from); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if moved, err := trash.Recover(item); err != nil || moved {
		t.Error(moved, err)
	}
	if err := errors.Join(trash.Put(item), trash.Remove(item)); err != nil {
		t.Fatal(err)
	}
	if items, err := trash.List(); err != nil || len(items) > 0 {
		t.Error(items, err)
	}
	if _, err := os.Lstat(item.To); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// A record that was altered leads nowhere.
func TestRetentionTrashRefusesOddRecords(t *testing.T) {
	dir := t.TempDir()
	trash := retention.Trash{Dir: dir}
	for name, text := range map[string]string{
		"a.json": `{"schema":1,"id":"a","from":"/x/y","to":"/etc/passwd"}`,
		"b.json": `{"schema":1,"id":"c","from":"/x/y","to":"/x/.sessctl-trash/c.y"}`,
		"d.json": `{"schema":2,"id":"d","from":"/x/y","to":"/x/.sessctl-trash/d.y"}`,
		"e.json": `{`,
	} {
		path := filepath.Join(dir, name)
		write(t, path, text)
		if items, err := trash.List(); err == nil {
			t.Errorf("%s: %v", name, items)
		}
		os.Remove(path)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The trash of a home that has moved is where the home is.
func TestRetentionTrashOfAMovedHome(t *testing.T) {
	root := t.TempDir()
	old, now := filepath.Join(root, "old"), filepath.Join(root, "new")
	from := filepath.Join(old, "files", "x.jsonl")
	write(t, from, "text")
	item := retention.Item{ID: "id1", Kind: "session", From: from, To: retention.Place(from, "id1")}
	if err := (retention.Trash{Dir: filepath.Join(old, "data", "records")}).Put(item); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(old, now); err != nil {
		t.Fatal(err)
	}
	trash := retention.Trash{Dir: filepath.Join(now, "data", "records"), Moves: relocate.Of(filepath.Join(now, "data"), filepath.Join(old, "data"))}
	items, err := trash.List()
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	if err := trash.TakeBack(items[0]); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(now, "files", "x.jsonl")); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
}
