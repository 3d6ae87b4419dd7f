package smallpackages_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/ledger"
	"golang.org/x/mod/sumdb/tlog"
)

func ledgerLeaf(n int) ledger.Leaf {
	return ledger.Leaf{
		Kind: ledger.Made, At: 1764433514123 + int64(n), Runtime: "claude", Agent: "agent", Session: "11111111-1111-4111-8111-111111110001",
		ID: fmt.Sprintf("%016x", n), Bytes: 123456, SHA256: fmt.Sprintf("%064x", n), Archive: "0123456789abcdef",
	}
}

func ledgerLeafRead(n int) ledger.Leaf { f := ledgerLeaf(n); f.Version = 1; return f }

func ledgerLeaves(from, to int) (leaves []ledger.Leaf) {
	for n := from; n < to; n++ {
		leaves = append(leaves, ledgerLeaf(n))
	}
	return leaves
}

// naiveRoot is RFC 6962, section 2.1, to the letter.
func naiveRoot(texts [][]byte) tlog.Hash {
	if len(texts) == 1 {
		return tlog.RecordHash(texts[0])
	}
	k := 1
	for k*2 < len(texts) {
		k *= 2
	}
	return tlog.NodeHash(naiveRoot(texts[:k]), naiveRoot(texts[k:]))
}

func mustAppend(t *testing.T, l *ledger.Log, leaves ...ledger.Leaf) {
	t.Helper()
	if err := l.Append(t.Context(), leaves...); err != nil {
		t.Fatal(err)
	}
}

func ledgerTexts(t *testing.T, l *ledger.Log) (texts [][]byte) {
	t.Helper()
	err := l.Texts(t.Context(), 0, func(i int64, text []byte) error {
		if i != int64(len(texts)) {
			t.Fatalf("leaf %d comes as %d", len(texts), i)
		}
		texts = append(texts, bytes.Clone(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// wholeTree is the tree of all leaves.
func wholeTree(l *ledger.Log) (tlog.Tree, error) {
	size, err := l.Size()
	if err != nil {
		return tlog.Tree{}, err
	}
	return l.TreeAt(size)
}

// TestLedgerTree compares trees of growing ledgers with the definition.
func TestLedgerTree(t *testing.T) {
	l := ledger.Open(filepath.Join(t.TempDir(), "ledger"), nil)
	if tree, err := wholeTree(l); err != nil || tree.N != 0 {
		t.Fatalf("a ledger that is not there: %v, %v", tree, err)
	}
	trees := map[int64]tlog.Tree{}
	for _, to := range []int{1, 2, 7, 255, 256, 257, 700, 4095, 4096, 4097, 9000} {
		from, err := l.Size()
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, l, ledgerLeaves(int(from)/2, to)...) // half of them again
		texts := ledgerTexts(t, l)
		tree, err := wholeTree(l)
		if err != nil || tree.N != int64(to) || len(texts) != to || tree.Hash != naiveRoot(texts) {
			t.Fatalf("tree of %d leaves: %v, %v", to, tree, err)
		}
		if verified, err := l.Verify(t.Context()); err != nil || verified != tree {
			t.Fatalf("verify %d leaves: %v, %v", to, verified, err)
		}
		if head, err := l.Seal(t.Context()); err != nil || head.Tree != tree {
			t.Fatalf("seal %d leaves: %v, %v", to, head, err)
		}
		trees[tree.N] = tree
		checkEarlierTrees(t, l, trees)
	}
}

func checkEarlierTrees(t *testing.T, l *ledger.Log, trees map[int64]tlog.Tree) {
	t.Helper()
	for size, earlier := range trees {
		if at, err := l.TreeAt(size); err != nil || at != earlier {
			t.Errorf("tree at %d: %v, %v", size, at, err)
		}
	}
}

// TestLedgerHead checks what others are given.
func TestLedgerHead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	l := ledger.Open(dir, nil)
	if _, err := l.Sealed(); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the head of nothing: %v", err)
	}
	mustAppend(t, l, ledgerLeaves(0, 5)...)
	head, err := l.Seal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	read, err := ledger.ParseHead(head.Note, head.Verifier)
	if err != nil || read.Tree != head.Tree || !strings.HasPrefix(read.Origin, "sessctl-ledger-") {
		t.Errorf("%+v, %v", read, err)
	}
	changed := bytes.Replace(head.Note, []byte("\n5\n"), []byte("\n4\n"), 1)
	if _, err := ledger.ParseHead(changed, head.Verifier); err == nil {
		t.Error("a head that was changed is read")
	}
	for _, name := range []string{"key", "checkpoint", "tile-0", "leaves-000000.jsonl"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// TestLedgerTorn cuts the files of a ledger as a kill or a power cut may: the next append
// loses no complete leaf and adds what is missing, once.
func TestLedgerTorn(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 6))
	for range 40 {
		dir := filepath.Join(t.TempDir(), "ledger")
		l := ledger.Open(dir, nil)
		size := 1 + random.IntN(600)
		mustAppend(t, l, ledgerLeaves(0, size)...)
		last := filepath.Join(dir, "leaves-000000.jsonl")
		whole := fileText(t, last)
		if err := os.WriteFile(last, append(whole, `{"v":1,"kind":"made","at":"20`...), 0o600); err != nil {
			t.Fatal(err)
		}
		for level := range 2 {
			tile := filepath.Join(dir, fmt.Sprintf("tile-%d", level))
			if info, err := os.Stat(tile); err == nil && os.Truncate(tile, random.Int64N(info.Size()+1)) != nil {
				t.Fatal("cannot be cut")
			}
		}
		if tree, err := wholeTree(l); err != nil || tree.N != int64(size) || tree.Hash != naiveRoot(ledgerTexts(t, l)) {
			t.Fatalf("%d leaves, torn: %v, %v", size, tree, err)
		}
		mustAppend(t, l, ledgerLeaves(0, size+3)...)
		if tree, err := l.Verify(t.Context()); err != nil || tree.N != int64(size+3) {
			t.Fatalf("%d leaves, and 3 more: %v, %v", size, tree, err)
		}
		if got := fileText(t, last); !bytes.HasPrefix(got, whole) || bytes.Count(got, []byte("\n")) != size+3 {
			t.Fatalf("%d leaves: a complete one is lost", size)
		}
	}
}

func fileText(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestLedgerInTurn lets several append at once.
func TestLedgerInTurn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	var all sync.WaitGroup
	for who := range 4 {
		all.Go(func() {
			l := ledger.Open(dir, nil)
			for n := range 10 {
				if err := l.Append(context.Background(), ledgerLeaf(who*100+n), ledgerLeaf(1000+n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if tree, err := ledger.Open(dir, nil).Verify(t.Context()); err != nil || tree.N != 50 {
		t.Errorf("%v, %v", tree, err)
	}
}

// TestLedgerTampered changes a ledger in ways that leave a well-formed one, and in others.
func TestLedgerTampered(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"a byte of a leaf": func(t *testing.T, dir string) {
			rewriteFile(t, filepath.Join(dir, "leaves-000001.jsonl"), func(b []byte) []byte { return bytes.Replace(b, []byte("claude"), []byte("gemini"), 1) })
		},
		"a leaf is gone": func(t *testing.T, dir string) {
			rewriteFile(t, filepath.Join(dir, "leaves-000001.jsonl"), func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] })
		},
		"a leaf of an earlier file is gone": func(t *testing.T, dir string) {
			rewriteFile(t, filepath.Join(dir, "leaves-000000.jsonl"), func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] })
		},
		"the last leaf is gone": func(t *testing.T, dir string) {
			rewriteFile(t, filepath.Join(dir, "leaves-000001.jsonl"), func(b []byte) []byte { return b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1] })
		},
		"a file is gone": func(t *testing.T, dir string) { removeNamed(t, filepath.Join(dir, "leaves-000000.jsonl")) },
		"the last file is gone": func(t *testing.T, dir string) {
			removeNamed(t, filepath.Join(dir, "leaves-000001.jsonl"))
			removeNamed(t, filepath.Join(dir, "tile-0"))
			removeNamed(t, filepath.Join(dir, "tile-1"))
		},
		"a hash": func(t *testing.T, dir string) {
			rewriteFile(t, filepath.Join(dir, "tile-0"), func(b []byte) []byte { b[40]++; return b })
		},
		"another head": func(t *testing.T, dir string) {
			rewriteFile(t, filepath.Join(dir, "checkpoint"), func(b []byte) []byte { return bytes.Replace(b, []byte("\n4100\n"), []byte("\n4000\n"), 1) })
		},
		"all is rewritten": func(t *testing.T, dir string) {
			for _, name := range []string{"leaves-000000.jsonl", "leaves-000001.jsonl", "tile-0", "tile-1"} {
				removeNamed(t, filepath.Join(dir, name))
			}
			mustAppend(t, ledger.Open(dir, nil), ledgerLeaves(1, 4101)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := ledger.Open(filepath.Join(t.TempDir(), "ledger"), nil)
			mustAppend(t, l, ledgerLeaves(0, 4100)...)
			if _, err := l.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
			change(t, l.Dir())
			if _, err := l.Verify(t.Context()); !errors.Is(err, ledger.ErrDamaged) {
				t.Errorf("verify says %v", err)
			}
			err := l.Remake(t.Context())
			if name == "a hash" && err == nil {
				_, err = l.Verify(t.Context())
			} else if name != "a hash" && err == nil {
				err = errors.New("it was made whole")
			} else {
				err = nil
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func rewriteFile(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	if err := os.WriteFile(path, change(fileText(t, path)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func removeNamed(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// TestLedgerLeafIsCanonical accepts one text of a leaf only.
func TestLedgerLeafIsCanonical(t *testing.T) {
	text, err := ledgerLeaf(7).Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ledger.Parse(text)
	if err != nil || again != ledgerLeafRead(7) {
		t.Errorf("%+v, %v", again, err)
	}
	for _, other := range []string{strings.Replace(string(text), `,"`, `, "`, 1), strings.Replace(string(text), `"v":1`, `"v":1,"more":2`, 1), strings.Replace(string(text), `"v":1`, `"v":0`, 1), "{}", "null", ""} {
		if f, err := ledger.Parse([]byte(other)); err == nil {
			t.Errorf("%s is %+v", other, f)
		}
	}
	if _, err := ledger.Parse([]byte(strings.Replace(string(text), `"v":1`, `"v":2`, 1))); !errors.Is(err, ledger.ErrNewerLeaf) {
		t.Errorf("a newer one: %v", err)
	}
}

// manyLeaves is a ledger of so many leaves; every second archive begins with another.
func manyLeaves(t testing.TB, n int) *ledger.Log {
	l := ledger.Open(filepath.Join(t.TempDir(), "ledger"), nil)
	leaves := ledgerLeaves(0, n)
	for i := range leaves {
		leaves[i].Archive = leaves[i].Archive[:len(leaves[i].Archive)*(i%2)]
	}
	if err := l.Append(t.Context(), leaves...); err != nil {
		t.Fatal(err)
	}
	return l
}

// ledgerBytes is how large a ledger is on disk.
func ledgerBytes(l *ledger.Log) (size int64) {
	_ = filepath.WalkDir(l.Dir(), func(path string, _ fs.DirEntry, _ error) error {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}

// TestLedgerAddsNothingTwice appends leaves of which a part is there already, in the last
// file of leaves or in one of those before it, whose order may be lost or damaged.
func TestLedgerAddsNothingTwice(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 36))
	l := ledger.Open(filepath.Join(t.TempDir(), "ledger"), nil)
	size := 0
	for size < 30_000 {
		known := size
		size += 1 + random.IntN(4000)
		mustAppend(t, l, ledgerLeaves(known, size)...)
		var some []ledger.Leaf
		for range 50 {
			some = append(some, ledgerLeaf(random.IntN(size)))
		}
		mustAppend(t, l, append(some, ledgerLeaf(size), ledgerLeaf(size))...)
		size++
		if got, err := l.Size(); err != nil || got != int64(size) {
			t.Fatalf("%d leaves, want %d: %v", got, size, err)
		}
		loseOrder(t, l, random)
	}
	if tree, err := l.Verify(t.Context()); err != nil || tree.N != int64(size) {
		t.Errorf("%v, %v", tree, err)
	}
}

// loseOrder removes or cuts a file of the order, or leaves all as they are.
func loseOrder(t *testing.T, l *ledger.Log, random *rand.Rand) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(l.Dir(), "order-*"))
	if err != nil || len(all) > 3 { // of 7 files of leaves: 4, 2 and 1
		t.Fatalf("%q, %v", all, err)
	}
	if len(all) == 0 {
		return
	}
	path := all[random.IntN(len(all))]
	switch random.IntN(4) {
	case 0:
		removeNamed(t, path)
	case 1:
		rewriteFile(t, path, func(b []byte) []byte { return b[:random.IntN(len(b))] })
	}
}

// TestLedgerWrongOrder holds that a file of the order that is not what it was costs a
// second entry at most: nothing that is new is taken for known.
func TestLedgerWrongOrder(t *testing.T) {
	l := manyLeaves(t, 5000)
	mustAppend(t, l, ledgerLeaf(5000))
	random := rand.New(rand.NewPCG(8, 36))
	rewriteFile(t, filepath.Join(l.Dir(), "order-0-0"), func(b []byte) []byte {
		for i := range b {
			b[i] = byte(random.IntN(256))
		}
		return b
	})
	mustAppend(t, l, ledgerLeaves(5001, 5100)...)
	if tree, err := l.Verify(t.Context()); err != nil || tree.N != 5100 {
		t.Errorf("%v, %v", tree, err)
	}
}

func ledgerOf(t *testing.T, leaves ...ledger.Leaf) (*ledger.Log, ledger.Head) {
	t.Helper()
	l := ledger.Open(filepath.Join(t.TempDir(), "ledger"), nil)
	return l, grown(t, l, leaves...)
}

func grown(t *testing.T, l *ledger.Log, leaves ...ledger.Leaf) ledger.Head {
	t.Helper()
	mustAppend(t, l, leaves...)
	head, err := l.Seal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// TestLedgerBegunAnew gives up heads, and only those that it names.
func TestLedgerBegunAnew(t *testing.T) {
	before, head := ledgerOf(t, ledgerLeaves(0, 3)...)
	later := grown(t, before, ledgerLeaf(3))
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	l, _ := ledgerOf(t, append(ledger.BegunAfter(at, "the disk was lost", head.Note), ledgerLeaf(9))...)
	mustAppend(t, l, ledger.BegunAfter(at, "not the first", later.Note)...)
	if !l.GivesUp(head.Note) || l.GivesUp(later.Note) || before.GivesUp(head.Note) {
		t.Error("it gives up other heads than its first leaves name")
	}
	first, err := l.Leaf(0)
	if err != nil || first.Kind != ledger.Begun || first.Count != 3 || first.ID != head.Origin || first.Why != "the disk was lost" {
		t.Errorf("%+v, %v", first, err)
	}
	for _, odd := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("\xff\n"), 5000)} {
		if leaves := ledger.BegunAfter(at, strings.Repeat("ä", 5000), odd); len(leaves) != 1 {
			t.Errorf("%d leaves", len(leaves))
		} else if text, err := leaves[0].Encode(); err != nil {
			t.Error(err)
		} else if _, err := ledger.Parse(text); err != nil {
			t.Error(err)
		}
	}
}

// TestLedgerSuperseded follows archives that are read in longer ones.
func TestLedgerSuperseded(t *testing.T) {
	made := func(id string) ledger.Leaf { return ledger.Leaf{Kind: ledger.Made, ID: id, SHA256: id + id} }
	in := func(id, by string) ledger.Leaf {
		return ledger.Leaf{Kind: ledger.Superseded, ID: id, SHA256: id + id, Archive: by}
	}
	line := func(kind ledger.Kind, id string, at int64) ledger.Leaf {
		return ledger.Leaf{Kind: kind, What: ledger.OfArchive, ID: id, SHA256: id + id, At: at}
	}
	leaves := []ledger.Leaf{made("a"), made("b"), in("a", "b"), line(ledger.Removed, "a", 1), made("c"), in("b", "c"), line(ledger.Removed, "b", 2)}
	for name, is := range map[string]struct {
		more []ledger.Leaf
		want string
	}{
		"superseded":              {nil, "a b c"},
		"the longest is removed":  {[]ledger.Leaf{line(ledger.Removed, "c", 3)}, ""},
		"it comes back":           {[]ledger.Leaf{line(ledger.Removed, "c", 3), line(ledger.Returned, "c", 4)}, "a b c"},
		"the first comes back":    {[]ledger.Leaf{line(ledger.Returned, "a", 3), line(ledger.Removed, "c", 4)}, "a"},
		"the middle comes back":   {[]ledger.Leaf{line(ledger.Returned, "b", 3), line(ledger.Removed, "c", 4)}, "a b"},
		"they name each other":    {[]ledger.Leaf{in("c", "a"), line(ledger.Removed, "c", 4)}, ""},
		"in one that nobody made": {[]ledger.Leaf{in("x", "y")}, "a b c"},
	} {
		l, _ := ledgerOf(t, append(slices.Clone(leaves), is.more...)...)
		s, err := l.State(t.Context())
		if got := strings.Join(slices.Sorted(maps.Keys(s.Archives)), " "); err != nil || got != is.want {
			t.Errorf("%s: %q, want %q: %v", name, got, is.want, err)
		}
	}
}

// TestLedgerSize holds how large a ledger may be, and says how long it takes to verify.
func TestLedgerSize(t *testing.T) {
	n := 50_000
	if tier.Long() {
		n = 1_000_000
	}
	l := manyLeaves(t, n)
	mustAppend(t, l, ledgerLeaf(n)) // with its order
	begun := time.Now()
	if _, err := l.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	each := float64(ledgerBytes(l)) / float64(n)
	t.Logf("%d leaves: %.1f bytes each, verified in %v", n, each, time.Since(begun).Round(time.Millisecond))
	removed := ledger.Leaf{Kind: ledger.Removed, At: ledgerLeaf(0).At, ID: ledgerLeaf(0).ID, Bytes: 123456, SHA256: ledgerLeaf(0).SHA256, What: "session", Why: "clean --max-age 30d", Line: "abcdefghijklmnop", Record: "abcdefghijklmnop"}
	text, err := removed.Encode()
	made, _ := ledgerLeaf(0).Encode()
	if longest := each + float64(len(text)-len(made)); err != nil || each >= 300 || longest >= 300 {
		t.Errorf("a leaf takes %.1f bytes, and one of a deletion %.1f: %v", each, longest, err)
	}
}

// BenchmarkLedgerVerify is of a million leaves.
func BenchmarkLedgerVerify(b *testing.B) {
	l := manyLeaves(b, 1_000_000)
	for b.Loop() {
		if _, err := l.Verify(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(ledgerBytes(l))/1_000_000, "bytes/leaf")
}

// BenchmarkLedgerAppend appends one leaf at a time to ledgers of different sizes.
func BenchmarkLedgerAppend(b *testing.B) {
	for _, n := range []int{10, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := manyLeaves(b, n)
			if err := l.Append(b.Context(), ledgerLeaf(n)); err != nil { // with its order
				b.Fatal(err)
			}
			for i := n + 1; b.Loop(); i++ {
				if err := l.Append(b.Context(), ledgerLeaf(i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
