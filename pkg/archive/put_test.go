package archive_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/archive"
)

func TestPut(t *testing.T) {
	for compression, suffix := range map[string]string{"none": ".jsonl", "zstd": ".jsonl.zst"} {
		t.Run(compression, func(t *testing.T) {
			root := t.TempDir()
			s := open(t, root, compression)
			data := sessionText(300_000, 1)
			e := put(t, s, "s1", data)
			sum := fmt.Sprintf("%x", sha256.Sum256([]byte(data)))
			stored, err := os.ReadFile(e.Path)
			if err != nil {
				t.Fatal(err)
			}
			want := archive.Entry{
				Schema: 1, ID: archive.ID(meta("s1"), sum), Meta: meta("s1"),
				Path:   filepath.Join(root, "archive", "openclaw", "coordinator", "s1."+noonStamp+"."+sum[:8]+suffix),
				SHA256: sum, Bytes: 300_000, Lines: int64(strings.Count(data, "\n")) + 1, Compression: compression,
				StoredSHA256: fmt.Sprintf("%x", sha256.Sum256(stored)), StoredBytes: int64(len(stored)),
				CreatedAt: noon, ToolVersion: "test",
			}
			if diff := cmp.Diff(want, e); diff != "" {
				t.Error("entry (-want +got):\n", diff)
			}
			if compression == "zstd" && len(stored) > len(data)/3 {
				t.Errorf("compressed to %d of %d bytes", len(stored), len(data))
			}
			got, err := s.Get(context.Background(), e.ID)
			if diff := cmp.Diff(e, got); diff != "" || err != nil {
				t.Error("entry read back (-put +got):\n", diff, err)
			}
			if read(t, s, e) != data {
				t.Error("the archive is not the session")
			}
			wantFiles := []string{"archive/openclaw/coordinator/" + filepath.Base(e.Path), "archives/" + e.ID + ".json"}
			if diff := cmp.Diff(wantFiles, files(t, root)); diff != "" {
				t.Error("files (-want +got):\n", diff)
			}
		})
	}
}

// What comes out is what went in, at every size around the buffers, for every
// way a reader may give it.
func TestRoundTrip(t *testing.T) {
	root := t.TempDir()
	text := sessionText(3*archive.BufferSize, 2)
	edges := []int{0, 1, 2, archive.BufferSize - 1, archive.BufferSize, archive.BufferSize + 1, 2*archive.BufferSize - 1, 2 * archive.BufferSize, 2*archive.BufferSize + 1}
	rapid.Check(t, func(t *rapid.T) {
		compression := rapid.SampledFrom([]string{"none", "zstd"}).Draw(t, "compression")
		size := rapid.OneOf(rapid.SampledFrom(edges), rapid.IntRange(0, 300)).Draw(t, "size")
		start := rapid.IntRange(0, 200).Draw(t, "start")
		reader := rapid.SampledFrom([]func(io.Reader) io.Reader{
			func(r io.Reader) io.Reader { return r }, iotest.HalfReader, iotest.DataErrReader,
		}).Draw(t, "reader")
		data := text[start : start+size]
		s, err := newStore(root, compression)
		if err != nil {
			t.Fatal(err)
		}
		m := meta(fmt.Sprintf("s-%d-%d-%s", start, size, compression))
		// The source goes on behind the session: not one byte more is taken.
		src := strings.NewReader(data + "more")
		e, err := s.Put(context.Background(), m, reader(io.LimitReader(src, int64(size))), int64(size), noon)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.OpenEntry(context.Background(), e)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		got, err := io.ReadAll(r)
		if err != nil || string(got) != data {
			t.Fatalf("read %d bytes of %d, %v", len(got), size, err)
		}
		if want := int64(len(strings.SplitAfter(data, "\n"))); e.Lines != want && (e.Lines != want-1 || data != "" && !strings.HasSuffix(data, "\n")) {
			t.Fatalf("%d lines in %q", e.Lines, data)
		}
		if err := s.Verify(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPutTakesOnlySize(t *testing.T) {
	s := open(t, t.TempDir(), "zstd")
	src := strings.NewReader("0123456789")
	e, err := s.Put(context.Background(), meta("s1"), src, 4, noon)
	if err != nil || read(t, s, e) != "0123" || src.Len() != 6 {
		t.Errorf("error %v, %d bytes left in the source", err, src.Len())
	}
}

// A failing source leaves no file at all.
func TestPutFailing(t *testing.T) {
	broken := errors.New("broken disk")
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	tests := map[string]struct {
		ctx  context.Context
		meta archive.Meta
		src  io.Reader
		size int64
		want error
	}{
		"short":            {context.Background(), meta("s"), strings.NewReader("123"), 4, io.ErrUnexpectedEOF},
		"short by a lot":   {context.Background(), meta("s"), strings.NewReader(sessionText(archive.BufferSize, 1)), archive.BufferSize + 1, io.ErrUnexpectedEOF},
		"empty":            {context.Background(), meta("s"), strings.NewReader(""), 1, io.ErrUnexpectedEOF},
		"broken":           {context.Background(), meta("s"), io.MultiReader(strings.NewReader("12"), iotest.ErrReader(broken)), 4, broken},
		"cancelled":        {gone, meta("s"), strings.NewReader("1234"), 4, context.Canceled},
		"cancelled midway": {midway(t), meta("s"), strings.NewReader(sessionText(3*archive.BufferSize, 1)), 3 * archive.BufferSize, context.Canceled},
	}
	for name, test := range tests {
		for _, compression := range []string{"none", "zstd"} {
			t.Run(name+" "+compression, func(t *testing.T) {
				root := t.TempDir()
				s := open(t, root, compression)
				_, err := s.Put(test.ctx, test.meta, test.src, test.size, noon)
				if !errors.Is(err, test.want) {
					t.Errorf("error is %v, want %v", err, test.want)
				}
				if left := files(t, root); len(left) != 0 {
					t.Errorf("left %v", left)
				}
			})
		}
	}
}

// midway is a context that ends after it has been asked twice.
func midway(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	return &asked{Context: ctx, cancel: cancel}
}

type asked struct {
	context.Context
	cancel context.CancelFunc
	times  int
}

func (a *asked) Err() error {
	if a.times++; a.times > 2 {
		a.cancel()
	}
	return a.Context.Err()
}

func TestPutNeedsNames(t *testing.T) {
	s := open(t, t.TempDir(), "none")
	for _, m := range []archive.Meta{{}, {Runtime: "r", Agent: "a"}, {Runtime: "r", Session: "s"}, {Agent: "a", Session: "s"}} {
		if _, err := s.Put(context.Background(), m, strings.NewReader(""), 0, noon); err == nil {
			t.Errorf("%+v was archived", m)
		}
	}
}

func TestOpenOptions(t *testing.T) {
	dir := func(archive.Meta) string { return "d" }
	for _, o := range []archive.Options{{}, {Dir: dir, Compression: "gzip"}, {Compression: "zstd"}} {
		if _, err := archive.Open("c", o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	if _, err := archive.Open("c", archive.Options{Dir: dir}); err != nil {
		t.Error(err)
	}
}

// The same bytes again give the first entry and no second file, later too and
// in another compression.
func TestPutAgain(t *testing.T) {
	root := t.TempDir()
	s := open(t, root, "none")
	data := sessionText(1000, 3)
	first := put(t, s, "s1", data)
	before := files(t, root)
	for _, compression := range []string{"none", "zstd"} {
		again, err := open(t, root, compression).Put(context.Background(), meta("s1"), strings.NewReader(data), 1000, noon.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Error("entry (-first +again):\n", diff)
		}
	}
	if diff := cmp.Diff(before, files(t, root)); diff != "" {
		t.Error("files (-before +after):\n", diff)
	}
	grown := put(t, s, "s1", data+"{}\n")
	other := put(t, s, "s2", data)
	if grown.ID == first.ID || other.ID == first.ID || len(entries(t, s)) != 3 {
		t.Error("other bytes or another session should have an archive of their own")
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are those of access lists there")
	}
	root := filepath.Join(t.TempDir(), "data")
	put(t, open(t, root, "none"), "s1", "x")
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		fi, err := d.Info()
		if err == nil && fi.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, fi.Mode().Perm(), want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Sessions whose ids become the same name, or differ by case only, keep their
// own archives even when everything else about them is the same.
func TestSimilarSessions(t *testing.T) {
	root := t.TempDir()
	s := open(t, root, "none")
	sessions := []string{"s1", "S1", "a/b", "a_b", "a b", "a:b", archive.SafeName("a/b"), "../s1", "..", ".", "-rf", "a\x00b", "é", "ü", "\xff", strings.Repeat("x", 300), strings.Repeat("x", 301), "CON", "nul.txt", "s1."}
	ids := map[string]string{}
	for _, session := range sessions {
		e := put(t, s, session, "same bytes\n")
		if other, ok := ids[e.Path]; ok {
			t.Errorf("%q and %q share %s", session, other, e.Path)
		}
		ids[e.Path] = session
		if dir := filepath.Dir(e.Path); dir != filepath.Join(root, "archive", "openclaw", "coordinator") {
			t.Errorf("%q went to %s", session, dir)
		}
		mustVerify(t, s, e)
	}
	if got := len(entries(t, s)); got != len(sessions) {
		t.Errorf("%d entries for %d sessions", got, len(sessions))
	}
}

// On a file system that ignores case the name may be taken by another session
// of the same bytes: then a longer one is chosen.
func TestNameTaken(t *testing.T) {
	root := t.TempDir()
	s := open(t, root, "none")
	first := put(t, s, "a/b", "same bytes\n")
	twin := strings.TrimSuffix(filepath.Base(first.Path), filepath.Ext(first.Path))
	second := put(t, s, strings.SplitN(twin, ".", 2)[0], "same bytes\n")
	if first.Path == second.Path || len(entries(t, s)) != 2 {
		t.Errorf("both are in %s", first.Path)
	}
	mustVerify(t, s, first)
	mustVerify(t, s, second)
}

// A directory that holds thousands of archives is read once, not for each
// session that is added to it.
func TestPutIntoALargeDirectory(t *testing.T) {
	root := t.TempDir()
	s := open(t, root, archive.CompressionNone)
	dir := filepath.Dir(put(t, s, "first", "a\n").Path)
	const files = 3000
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("other%d.20260304T110000Z.00000000.jsonl", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, root, archive.CompressionNone)
	put(t, s, "second", "b\n")
	n := 0
	if cost := testing.AllocsPerRun(3, func() { n++; put(t, s, fmt.Sprintf("s%d", n), "c\n") }); cost > files/2 {
		t.Errorf("one session more takes %.0f allocations beside %d files", cost, files)
	}
}

// Two data directories may share a directory of archives. A file that one finds
// there may be the other's: it gets a name of its own, so that what one deletes
// stays the other's.
func TestSharedDirectory(t *testing.T) {
	root := t.TempDir()
	shared := filepath.Join(root, "session_archive")
	var stores [2]*archive.Store
	var made [2]archive.Entry
	for i := range stores {
		s, err := archive.Open(filepath.Join(root, fmt.Sprint("data", i), "archives"), archive.Options{Dir: func(archive.Meta) string { return shared }})
		if err != nil {
			t.Fatal(err)
		}
		stores[i], made[i] = s, put(t, s, "s1", "one\ntwo\n")
	}
	if made[0].Path == made[1].Path {
		t.Fatalf("both catalogues name %s", made[0].Path)
	}
	a, _ := os.Stat(made[0].Path)
	b, _ := os.Stat(made[1].Path)
	if !os.SameFile(a, b) {
		t.Error("the bytes are there twice")
	}
	if err := os.Remove(made[0].Path); err != nil {
		t.Fatal(err)
	}
	mustVerify(t, stores[1], made[1])
	if again := put(t, stores[1], "s1", "one\ntwo\n"); again.Path != made[1].Path {
		t.Errorf("archived again at %s, want %s", again.Path, made[1].Path)
	}
}

// What was fetched once is not what was written now: an archive that is gone when it
// is to be read back is none.
func TestPutReadsBackWhatItWrote(t *testing.T) {
	root := t.TempDir()
	data := sessionText(10_000, 14)
	fetched := filepath.Join(root, "fetched")
	s, err := archive.Open(filepath.Join(root, "archives"), archive.Options{
		Dir:   func(archive.Meta) string { return filepath.Join(root, "archive") },
		Fetch: func(context.Context, archive.Entry) (*os.File, error) { return os.Open(fetched) },
	})
	if err != nil {
		t.Fatal(err)
	}
	e := put(t, s, "s1", data)
	if _, err := s.NoteRemote(context.Background(), e, archive.Remote{URL: "s3://bucket/log"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(e.Path, fetched); err != nil {
		t.Fatal(err)
	}
	s.SetStep(func(at string) {
		if at != "renamed" {
			return
		}
		if err := os.Remove(e.Path); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Put(context.Background(), meta("s1"), strings.NewReader(data), int64(len(data)), noon); !errors.Is(err, archive.ErrMissing) {
		t.Errorf("%v, not %v", err, archive.ErrMissing)
	}
}

// TestPutBegins archives a session again and again, grown or rewritten, and is told with
// which of the earlier ones each begins: the longest that ends with a line.
func TestPutBegins(t *testing.T) {
	for _, compression := range []string{"none", "zstd"} {
		rapid.Check(t, func(rt *rapid.T) {
			root, err := os.MkdirTemp(t.TempDir(), "")
			if err != nil {
				rt.Fatal(err)
			}
			told := map[string]string{}
			s, err := archive.Open(filepath.Join(root, "archives"), archive.Options{
				Dir: func(m archive.Meta) string { return filepath.Join(root, m.Runtime) }, Compression: compression,
				Entered: func(e archive.Entry) { told[e.ID] = e.Begins },
			})
			if err != nil {
				rt.Fatal(err)
			}
			var before []archive.Entry
			texts := map[string]string{}
			line := rapid.StringMatching(`[ab]{0,2}\n?`)
			for i := range rapid.IntRange(1, 6).Draw(rt, "archives") {
				text := strings.Join(rapid.SliceOfN(line, 0, 5).Draw(rt, "text"), "")
				if i > 0 && rapid.Bool().Draw(rt, "grown") {
					text = texts[before[i-1].ID] + text
				}
				e, err := s.Put(t.Context(), meta("s1"), strings.NewReader(text), int64(len(text)), noon.Add(time.Duration(i)*time.Second))
				if err != nil {
					rt.Fatal(err)
				}
				if _, again := texts[e.ID]; !again {
					if want := beginsWith(text, before, texts); told[e.ID] != want {
						rt.Fatalf("%q begins with %q, want %q: %q", text, told[e.ID], want, texts)
					}
				}
				before, texts[e.ID] = append(before, e), text
			}
		})
	}
}

// beginsWith is the longest of the archives before that a text begins with.
func beginsWith(text string, before []archive.Entry, texts map[string]string) (id string) {
	longest := 0
	for _, e := range before {
		if old := texts[e.ID]; strings.HasSuffix(old, "\n") && len(old) > longest && len(old) < len(text) && strings.HasPrefix(text, old) {
			id, longest = e.ID, len(old)
		}
	}
	return id
}
