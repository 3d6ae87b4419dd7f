package jsonl

import (
	"context"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
)

// repeated yields head, then n bytes of unit over and over, then tail, and
// holds little of it.
type repeated struct {
	head, unit, tail string
	n                int64
	block            string // unit many times
	at               int64
}

func newRepeated(head, unit, tail string, n int64) *repeated {
	return &repeated{head: head, unit: unit, tail: tail, n: n, block: strings.Repeat(unit, 1+readSize/len(unit))}
}

func (r *repeated) size() int64 { return int64(len(r.head)) + r.n + int64(len(r.tail)) }

// ReadAt implements io.ReaderAt.
func (r *repeated) ReadAt(p []byte, offset int64) (int, error) {
	read := 0
	for read < len(p) {
		at := offset + int64(read) - int64(len(r.head))
		switch {
		case at < 0:
			read += copy(p[read:], r.head[at+int64(len(r.head)):])
		case at < r.n:
			free := p[read:min(len(p), read+int(min(r.n-at, readSize)))]
			read += copy(free, r.block[at%int64(len(r.unit)):])
		case at-r.n < int64(len(r.tail)):
			read += copy(p[read:], r.tail[at-r.n:])
		default:
			return read, io.EOF
		}
	}
	return read, nil
}

// Read implements io.Reader.
func (r *repeated) Read(p []byte) (int, error) {
	n, err := r.ReadAt(p, r.at)
	r.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// giants are logs with one line of 64 MB between two short ones.
func giants() map[string]*repeated {
	const size = 64_000_000
	const head, tail = `{"id":"first"}` + "\n" + `{"type":"message","id":"giant","message":{"content":[{"text":"before"},`, `{"text":"after"}]}}` + "\n" + `{"id":"last"}` + "\n"
	long := func(unit string) *repeated {
		return newRepeated(head, unit, tail, size/int64(len(unit))*int64(len(unit)))
	}
	image := long("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVpBQkNERUZHSElKS0xN")
	image.head += `{"data":"`
	image.tail = `"},` + tail
	return map[string]*repeated{
		"one image":        image,
		"many images":      long(`{"data":"` + strings.Repeat("base64+/", 100_000) + `"},`),
		"many texts":       long(`{"text":"` + strings.Repeat(`line of \"text\" \u00e4\n`, 40) + `"},`),
		"numbers":          long("1234567,"),
		"white space":      long(" \t"),
		"NULs":             long("\x00"),
		"open brackets":    long("["),
		"quotes":           long(`"",`),
		"backslashes":      long(`\`),
		"string and slash": long(`"\\\\\\\\`),
	}
}

// memory runs f and returns how many bytes it allocated in all. The garbage
// collector is not asked to help: what was allocated bounds what was held.
func memory(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// allowance is what one line of any length may cost: the buffer, which doubles
// up to 4.3 MiB, the index of a line of 4 MiB, and its text unescaped.
const allowance = 14 << 20

func TestMemoryOfGiantLines(t *testing.T) {
	for name, log := range giants() {
		if tier.Smoke() && name != "one image" && name != "many texts" { // what logs have; the rest is hostile
			continue
		}
		var d entryDecoder
		var counts Counts
		var err error
		used := memory(func() { counts, err = Scan(context.Background(), log, Options{}, d.decode) })
		if err != nil || counts.Lines != 3 || counts.CutLines != 1 || counts.Bytes != log.size() {
			t.Errorf("%s: %+v %v", name, counts, err)
		}
		if first, last := d.entries[0].ID, d.entries[len(d.entries)-1].ID; first != "first" || last != "last" {
			t.Errorf("%s: the lines around are %q and %q", name, first, last)
		}
		if used > allowance {
			t.Errorf("%s: %d bytes were allocated", name, used)
		}
		if strings.Contains(name, "image") {
			texts := d.entries[1].Texts
			if len(texts) != 2 || texts[0] != "before" || texts[1] != "after" {
				t.Errorf("%s: the texts beside it are %q", name, texts)
			}
		}
	}
}

func TestMemoryOfGiantLinesBackwards(t *testing.T) {
	tier.SkipSmoke(t, "it reads a dozen lines of 64 MB")
	for name, log := range giants() {
		var ids []string
		var err error
		used := memory(func() {
			b := NewBackwardReader(log, log.size(), Options{})
			for {
				var line Line
				if line, err = b.Prev(); err != nil {
					return
				}
				ids = append(ids, string(line.Raw[:min(len(line.Raw), 40)]))
			}
		})
		if err != io.EOF || len(ids) != 3 || ids[0] != `{"id":"last"}` || ids[2] != `{"id":"first"}` {
			t.Errorf("%s: %q %v", name, ids, err)
		}
		if used > allowance {
			t.Errorf("%s: %d bytes were allocated", name, used)
		}
	}
}

func TestMemoryDoesNotGrowWithTheFile(t *testing.T) {
	unit := `{"type":"message","id":"a","message":{"content":[{"type":"text","text":"` + strings.Repeat(`line\n`, 100) + `"}]}}` + "\n"
	var used [2]int64
	for i, n := range []int64{2000, 20_000} {
		log := newRepeated("", unit, "", n*int64(len(unit)))
		var c Cursor
		used[i] = memory(func() {
			counts, err := Scan(context.Background(), log, Options{}, func(r *Record) error {
				c.Reset(r.Raw)
				_, err := visit(&c)
				return err
			})
			if err != nil || counts.Records != int(n) {
				t.Errorf("%+v %v", counts, err)
			}
		})
	}
	if used[0] > 1<<20 || used[1] > used[0]+100_000 {
		t.Errorf("%d bytes were allocated for 1.3 MB, %d for 13 MB", used[0], used[1])
	}
}
