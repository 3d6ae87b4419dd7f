package tailcache

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// later is a clock by which every log was left alone long enough.
func later() time.Time { return time.Now().Add(time.Hour) }

func open(dir, stamp string) *Cache {
	return Open(Options{File: filepath.Join(dir, "cache", "sizes"), Stamp: stamp, Now: later})
}

func write(t interface{ Fatal(...any) }, path, text string) os.FileInfo {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// cachedTail is an entry in which every field is set.
func cachedTail(tokens int64) session.CachedTail {
	at := time.Date(2026, 5, 1, 10, 0, 0, 123456789, time.UTC)
	return session.CachedTail{
		Head: session.Head{ID: "id", Version: 3, Time: at, Found: true, Continued: true, Fragment: true},
		Tail: session.Tail{
			Tokens: tokens, TokenSource: session.TokensFromUsage, Messages: 7, MessagesExact: true,
			LastRole: session.RoleAssistant, Answered: true, LastActivity: at.Add(time.Hour), LastRecord: at.Add(2 * time.Hour), Torn: true, ContextWindow: 258_400,
		},
		Name: session.Name{Title: "Why does the import fail?", Project: "/home/lea/api", From: session.Origin{Runtime: "pi", Session: "s1", At: 1_780_000_000_000}}, Named: true, Refused: "a record of a type that is not known", Judged: true,
	}
}

// A field that is not remembered would make sizes say another thing the second
// time.
func TestEveryFieldIsTried(t *testing.T) {
	tried := cachedTail(1)
	for _, of := range []any{tried.Head, tried.Tail, tried.Name, tried} {
		for v, i := reflect.ValueOf(of), 0; i < v.NumField(); i++ {
			if v.Field(i).IsZero() {
				t.Errorf("%T: nothing tries %s", of, v.Type().Field(i).Name)
			}
		}
	}
}

func keep(t interface{ Fatal(...any) }, c *Cache, path string, info os.FileInfo, g session.CachedTail) {
	log, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c.Keep(path, info, log, g)
}

func TestRemembered(t *testing.T) {
	dir := t.TempDir()
	want := map[string]session.CachedTail{}
	first := open(dir, "one")
	for i, text := range []string{"", "short", string(bytes.Repeat([]byte("long "), 1000))} {
		path := filepath.Join(dir, string(rune('a'+i)))
		want[path] = cachedTail(int64(i) - 1)
		keep(t, first, path, write(t, path, text), want[path])
	}
	empty := filepath.Join(dir, "empty")
	want[empty] = session.CachedTail{}
	keep(t, first, empty, write(t, empty, "text"), want[empty])
	if err := first.Save(); err != nil {
		t.Fatal(err)
	}
	second := open(dir, "one")
	for path, w := range want {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := second.Seen(path); ok {
			t.Errorf("%s: known before it was looked at", path)
		}
		got, ok := second.Find(path, info)
		if diff := cmp.Diff(w, got); !ok || diff != "" {
			t.Errorf("%s: %v\n%s", path, ok, diff)
		}
		if again, ok := second.Seen(path); !ok || again != got {
			t.Errorf("%s: %v, %v after it was looked at", path, again, ok)
		}
	}
	if other := open(dir, "two"); len(other.known) != 0 {
		t.Error("another program's cache was used")
	}
}

// TestDamaged: whatever byte is wrong or missing, nothing is known.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	c := open(dir, "one")
	keep(t, c, log, write(t, log, "text"), cachedTail(5))
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	if len(open(dir, "one").known) != 1 {
		t.Fatal("the whole cache is not read")
	}
	damaged := [][]byte{append(bytes.Clone(whole), 'x')}
	for i := range whole {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 0x10
		damaged = append(damaged, flipped, whole[:i])
	}
	for i, text := range damaged {
		write(t, c.file, string(text))
		if n := len(open(dir, "one").known); n != 0 {
			t.Errorf("damage %d: %d logs known", i, n)
		}
	}
}

// TestDecode: a file with a right digest and a wrong content is refused too.
func TestDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Cache{stamp: "s", known: []entry{{path: "path", seen: cachedTail(1)}}}
		text := c.encode()
		text = text[:len(text)-32]
		at := rapid.IntRange(len(format)+2, len(text)-1).Draw(t, "at")
		decode(string(text[:at])+rapid.String().Draw(t, "tail"), "s") // must end
		if known, err := decode(string(text[:at]), "s"); err == nil {
			t.Fatalf("the first %d of %d bytes were read: %v", at, len(text), known)
		}
	})
}

// TestSameEverythingButText: size, times and inode are those of the log that
// was seen, only its end is not. On a file system that is trusted no program
// can do that; on another the end is compared.
func TestSameEverythingButText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	c := open(t.TempDir(), "one")
	keep(t, c, path, write(t, path, "one text"), cachedTail(5))
	info := write(t, path, "two text")
	k, ok := keyOf(info)
	if !ok {
		t.Skip("files are not told apart here")
	}
	c.tells[k.device] = false
	c.find(path).key = k
	if g, ok := c.Find(path, info); ok {
		t.Errorf("known: %v", g)
	}
	write(t, path, "one text")
	info, _ = os.Lstat(path)
	c.find(path).key, _ = keyOf(info)
	if _, ok := c.Find(path, info); !ok {
		t.Error("the text that was seen is not known: the test cannot fail")
	}
}

// TestTimeSetBack: a log that was changed in its middle, with its time set
// back, is not what it was.
func TestTimeSetBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	text := bytes.Repeat([]byte("text "), 1000)
	c := open(t.TempDir(), "one")
	info := write(t, path, string(text))
	keep(t, c, path, info, cachedTail(5))
	if c.find(path).young {
		t.Skip("files are not told apart here")
	}
	text[10] = 'X'
	write(t, path, string(text))
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	after, _ := os.Lstat(path)
	if !after.ModTime().Equal(info.ModTime()) || after.Size() != info.Size() {
		t.Fatal("the time was not set back")
	}
	if g, ok := c.Find(path, after); ok {
		t.Errorf("known: %v", g)
	}
}

// TestReplaced: another file of the same size and time at the same path is not
// the log that was seen, nor is the first one after it came back with its time.
func TestReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	c := open(t.TempDir(), "one")
	info := write(t, path, "one text")
	keep(t, c, path, info, cachedTail(5))
	if c.find(path).young {
		t.Skip("files are not told apart here")
	}
	waitForTick(t, path, info)
	write(t, path+".new", "two text")
	if err := os.Chtimes(path+".new", info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	after, _ := os.Lstat(path)
	if g, ok := c.Find(path, after); ok {
		t.Errorf("known: %v", g)
	}
}

// TestNotOpened: a log that has not changed is not opened where its times
// tell, so that one that may not be read any more is still known.
func TestNotOpened(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	if !durable.ChangeTimeTells(dir) {
		t.Skip("times do not tell here")
	}
	c := open(t.TempDir(), "one")
	keep(t, c, path, write(t, path, "text"), cachedTail(5))
	info, _ := os.Lstat(path)
	if _, ok := c.Find(path, info); !ok {
		t.Fatal("not known")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Find(path, info); !ok {
		t.Error("it was opened again")
	}
}

// TestYoung: what was changed a moment ago is known in this run only.
func TestYoung(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	info := write(t, path, "text")
	for _, test := range []struct {
		name  string
		clock time.Time
		g     session.CachedTail
		known int
	}{
		{"just now", info.ModTime().Add(settled / 2), cachedTail(1), 0},
		{"in the future", info.ModTime().Add(-time.Hour), cachedTail(1), 0},
		{"left alone", info.ModTime().Add(time.Hour), cachedTail(1), 1},
		{"a time that cannot be written", info.ModTime().Add(time.Hour), session.CachedTail{Head: session.Head{Time: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}}, 0},
	} {
		file := filepath.Join(t.TempDir(), "sizes")
		o := Options{File: file, Stamp: "s", Now: func() time.Time { return test.clock }}
		c := Open(o)
		keep(t, c, path, info, test.g)
		if _, ok := c.Seen(path); !ok {
			t.Errorf("%s: not known in the run itself", test.name)
		}
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
		if n := len(Open(o).known); n != test.known {
			t.Errorf("%s: %d logs known to the next run, want %d", test.name, n, test.known)
		}
	}
}

// TestGone: a log that is not there any more is forgotten, one that was only
// not looked at is not.
func TestGone(t *testing.T) {
	dir := t.TempDir()
	c := open(dir, "one")
	for _, name := range []string{"stays", "goes", "grows"} {
		path := filepath.Join(dir, name)
		keep(t, c, path, write(t, path, "text"), cachedTail(1))
	}
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "goes")); err != nil {
		t.Fatal(err)
	}
	next := open(dir, "one")
	grows := filepath.Join(dir, "grows")
	info := write(t, grows, "text and more")
	if _, ok := next.Find(grows, info); ok {
		t.Error("a log that has grown is known")
	}
	keep(t, next, grows, info, cachedTail(2))
	if err := next.Save(); err != nil {
		t.Fatal(err)
	}
	last := open(dir, "one")
	if len(last.known) != 2 || last.find(grows).seen != cachedTail(2) || last.find(filepath.Join(dir, "stays")) == nil {
		t.Errorf("known: %v", last.known)
	}
}

// TestAdd: an exact number is taken in only for the log that was seen.
func TestAdd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	c := open(dir, "one")
	keep(t, c, path, write(t, path, "text"), session.CachedTail{Tail: session.Tail{Messages: 9}})
	counted := func(n int) func(*session.CachedTail) {
		return func(seen *session.CachedTail) { seen.Tail.Messages, seen.Tail.MessagesExact = n, true }
	}
	c.Add(path, counted(12))
	if g, _ := c.Seen(path); g.Tail.Messages != 12 || !g.Tail.MessagesExact {
		t.Errorf("%+v", g.Tail)
	}
	write(t, path, "text and more")
	c.Add(path, counted(13))
	if g, _ := c.Seen(path); g.Tail.Messages != 12 {
		t.Errorf("%+v after the log has grown", g.Tail)
	}
	c.Add(filepath.Join(dir, "other"), counted(1)) // not known: nothing to do
}

// waitForTick returns when what changes from now on has another time of change
// than a log: the clock of these tests is ahead, so that young logs are
// remembered too.
func waitForTick(t interface{ Fatal(...any) }, path string, log os.FileInfo) {
	for start := time.Now(); time.Since(start) < 10*time.Second; {
		if now := write(t, path+".tick", ""); durable.Identify(now).Changed.After(durable.Identify(log).Changed) {
			return
		}
	}
}

// TestNeverWrong does at random to a log what programs do, and asks a cache
// that was read from the disk each time: what it knows is true.
func TestNeverWrong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "tailcache")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "log")
		text := "a"
		write(t, path, text)
		kept := map[int64]string{} // texts by the tokens that stand for them
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			before, _ := os.Lstat(path)
			waitForTick(t, path, before)
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				text += rapid.StringMatching(`[a-c]{1,300}`).Draw(t, "more")
				write(t, path, text)
			case 1:
				text = text[:len(text)-1] + rapid.StringMatching(`[a-c]`).Draw(t, "last")
				write(t, path, text)
			case 2:
				text = text[:len(text)-1] + rapid.StringMatching(`[a-c]`).Draw(t, "last")
				write(t, path, text)
				_ = os.Chtimes(path, before.ModTime(), before.ModTime())
			case 3:
				write(t, path+".new", text)
				_ = os.Rename(path+".new", path)
			}
			c := open(dir, "one")
			info, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			g, ok := c.Find(path, info)
			if ok && kept[g.Tail.Tokens] != text {
				t.Fatalf("step %d: %q is taken for %q", step, text, kept[g.Tail.Tokens])
			}
			if !ok {
				kept[int64(step)] = text
				keep(t, c, path, info, cachedTail(int64(step)))
			}
			if err := c.Save(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
