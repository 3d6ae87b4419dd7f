package archive_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/archive"
)

// change applies a change to the bytes of a file.
func change(t *testing.T, path string, fn func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, fn(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Every single bit of an archive that turns over is found, compressed or not. The
// smoke share turns over every seventh: each bit of a byte, and every byte.
func TestVerifyFindsEveryBit(t *testing.T) {
	for _, compression := range []string{"none", "zstd"} {
		t.Run(compression, func(t *testing.T) {
			s := open(t, t.TempDir(), compression)
			e := put(t, s, "s1", sessionText(400, 5))
			step := 1
			if tier.Smoke() {
				step = 7
			}
			for i := 0; i < int(e.StoredBytes)*8; i += step {
				flip := func(data []byte) []byte { data[i/8] ^= 1 << (i % 8); return data }
				change(t, e.Path, flip)
				if err := s.Verify(context.Background(), e); !errors.Is(err, archive.ErrCorrupt) {
					t.Fatalf("bit %d: %v, want ErrCorrupt", i, err)
				}
				change(t, e.Path, flip)
			}
			mustVerify(t, s, e)
		})
	}
}

func TestVerifyFindsLength(t *testing.T) {
	changes := map[string]func([]byte) []byte{
		"one byte less": func(data []byte) []byte { return data[:len(data)-1] },
		"half":          func(data []byte) []byte { return data[:len(data)/2] },
		"empty":         func([]byte) []byte { return nil },
		"one byte more": func(data []byte) []byte { return append(data, '\n') },
		"twice":         func(data []byte) []byte { return append(data, data...) },
	}
	for name, fn := range changes {
		for _, compression := range []string{"none", "zstd"} {
			s := open(t, t.TempDir(), compression)
			e := put(t, s, "s1", sessionText(300_000, 6))
			change(t, e.Path, fn)
			if err := s.Verify(context.Background(), e); !errors.Is(err, archive.ErrCorrupt) || !strings.Contains(err.Error(), e.Path) {
				t.Errorf("%s, %s: verify says %v", name, compression, err)
			}
			// The reader says it too, to whoever reads to the end.
			r, err := s.OpenEntry(context.Background(), e)
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, r)
			if !errors.Is(err, archive.ErrCorrupt) || n > e.Bytes {
				t.Errorf("%s, %s: read %d bytes of %d, %v", name, compression, n, e.Bytes, err)
			}
			r.Close()
		}
	}
}

func TestVerifyMissing(t *testing.T) {
	s := open(t, t.TempDir(), "none")
	e := put(t, s, "s1", "x")
	if err := os.Remove(e.Path); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(context.Background(), e); !errors.Is(err, archive.ErrMissing) {
		t.Error(err)
	}
	if _, err := s.OpenEntry(context.Background(), e); !errors.Is(err, archive.ErrMissing) {
		t.Error(err)
	}
	if err := os.Mkdir(e.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(context.Background(), e); err == nil {
		t.Error("a directory passed for an archive")
	}
}

// A small file that would unpack to a lot more than its entry says gives the
// entry's bytes at most.
func TestBomb(t *testing.T) {
	s := open(t, t.TempDir(), "zstd")
	e := put(t, s, "s1", sessionText(1000, 7))
	bomb, err := os.Create(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := zstd.NewWriter(bomb)
	if err != nil {
		t.Fatal(err)
	}
	for range 256 {
		if _, err := encoder.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(encoder.Close(), bomb.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := s.OpenEntry(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if !errors.Is(err, archive.ErrCorrupt) || len(got) != 1000 {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if n, err := r.Read(make([]byte, 10)); n != 0 || !errors.Is(err, archive.ErrCorrupt) {
		t.Errorf("then read %d, %v: the error should stay", n, err)
	}
}

// An archive that went bad is made again from the session; the bad file stays
// as it is and is named.
func TestPutAfterDamage(t *testing.T) {
	damages := map[string]func(t *testing.T, e archive.Entry){
		"altered": func(t *testing.T, e archive.Entry) {
			change(t, e.Path, func(data []byte) []byte { data[0] ^= 1; return data })
		},
		"deleted": func(t *testing.T, e archive.Entry) { os.Remove(e.Path) },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			s := open(t, root, "none")
			data := sessionText(1000, 8)
			bad := put(t, s, "s1", data)
			damage(t, bad)
			badBytes, _ := os.ReadFile(bad.Path)
			good := put(t, s, "s1", data)
			mustVerify(t, s, good)
			if got, err := s.Get(context.Background(), bad.ID); err != nil || got.Path != good.Path {
				t.Errorf("the catalogue names %s, %v", got.Path, err)
			}
			if name == "altered" {
				if len(good.Superseded) != 1 || good.Superseded[0] != bad.Path {
					t.Errorf("superseded is %v", good.Superseded)
				}
				after, err := os.ReadFile(bad.Path)
				if err != nil || string(after) != string(badBytes) || good.Path == bad.Path {
					t.Error("the damaged file was changed")
				}
			}
			if again := put(t, s, "s1", data); again.Path != good.Path {
				t.Error("a third copy was made")
			}
		})
	}
}

// A damaged entry is reported, hides no other one, and is written anew when
// its bytes are archived again, without a second copy of them.
func TestDamagedCatalogue(t *testing.T) {
	edit := func(fn func(map[string]any)) func([]byte) []byte {
		return func(data []byte) []byte {
			var fields map[string]any
			if err := json.Unmarshal(data, &fields); err != nil {
				panic(err)
			}
			fn(fields)
			data, _ = json.Marshal(fields)
			return data
		}
	}
	damages := map[string]func([]byte) []byte{
		"empty":           func([]byte) []byte { return nil },
		"torn":            func(data []byte) []byte { return data[:len(data)/2] },
		"not JSON":        func([]byte) []byte { return []byte("hello") },
		"null":            func([]byte) []byte { return []byte("null") },
		"newer schema":    edit(func(f map[string]any) { f["schema"] = 2 }),
		"other session":   edit(func(f map[string]any) { f["session"] = "s9" }),
		"other hash":      edit(func(f map[string]any) { f["sha256"] = strings.Repeat("0", 64) }),
		"other id":        edit(func(f map[string]any) { f["id"] = strings.Repeat("0", 16) }),
		"no path":         edit(func(f map[string]any) { f["path"] = "" }),
		"negative size":   edit(func(f map[string]any) { f["size_bytes"] = -1 }),
		"odd compression": edit(func(f map[string]any) { f["compression"] = "lzma" }),
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			s := open(t, root, "zstd")
			healthy := put(t, s, "s0", "healthy")
			data := sessionText(1000, 9)
			e := put(t, s, "s1", data)
			path := filepath.Join(root, "archives", e.ID+".json")
			change(t, path, damage)
			if got := entries(t, s); len(got) != 1 || got[0].ID != healthy.ID {
				t.Errorf("list gives %v", got)
			}
			damaged, err := s.Damaged(context.Background())
			if err != nil || len(damaged) != 1 || damaged[0].Path != path || damaged[0].Err == nil {
				t.Errorf("damaged gives %v, %v", damaged, err)
			}
			if _, err := s.Get(context.Background(), e.ID); err == nil || errors.Is(err, archive.ErrNotFound) {
				t.Errorf("get says %v", err)
			}
			again := put(t, s, "s1", data)
			if again.Path != e.Path || len(files(t, root)) != 4 {
				t.Errorf("it was archived again: %v", files(t, root))
			}
			if damaged, err := s.Damaged(context.Background()); err != nil || len(damaged) != 0 {
				t.Errorf("still damaged: %v, %v", damaged, err)
			}
		})
	}
}

// Files that are not entries do not disturb.
func TestStrayFilesInCatalogue(t *testing.T) {
	root := t.TempDir()
	s := open(t, root, "none")
	e := put(t, s, "s1", "x")
	for _, name := range []string{"README", "x.json", ".hidden.json", e.ID + ".json.bak", strings.ToUpper(e.ID) + ".txt"} {
		if err := os.WriteFile(filepath.Join(root, "archives", name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := entries(t, s); len(got) != 1 {
		t.Errorf("list gives %v", got)
	}
	if damaged, err := s.Damaged(context.Background()); err != nil || len(damaged) != 0 {
		t.Errorf("damaged gives %v, %v", damaged, err)
	}
}
