package smallpackages_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/ledger/proof"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

// witnessed is a history that proofs are made of: its roots are those of tlog.
type witnessed struct {
	leaves [][]byte
	hashes []tlog.Hash // as tlog stores them
	signer note.Signer
	key    string
}

// ReadHashes implements tlog.HashReader.
func (w *witnessed) ReadHashes(at []int64) (all []tlog.Hash, err error) {
	for _, i := range at {
		all = append(all, w.hashes[i])
	}
	return all, nil
}

func newWitnessed(t interface{ Fatal(...any) }, leaves int) *witnessed {
	secret, key, err := note.GenerateKey(rand.Reader, "sessctl.test/ledger")
	if err != nil {
		t.Fatal(err)
	}
	w := &witnessed{key: key}
	if w.signer, err = note.NewSigner(secret); err != nil {
		t.Fatal(err)
	}
	for i := range leaves {
		text := fmt.Appendf(nil, `{"kind":"archived","agent":"a%d","note":"<é & \u2028>","n":%d}`, i%3, i)
		hashes, err := tlog.StoredHashes(int64(i), text, w)
		if err != nil {
			t.Fatal(err)
		}
		w.leaves, w.hashes = append(w.leaves, text), append(w.hashes, hashes...)
	}
	return w
}

// all are the leaves in their order.
func (w *witnessed) all() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, text := range w.leaves {
			if !yield(text, nil) {
				return
			}
		}
	}
}

// head is the signed head of the first n leaves.
func (w *witnessed) head(n int) string {
	root := tlog.Hash(sha256.Sum256(nil))
	if n > 0 {
		root, _ = tlog.TreeHash(int64(n), w)
	}
	return w.sign(n, root)
}

func (w *witnessed) sign(n int, root tlog.Hash) string {
	text, err := note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", w.signer.Name(), n, base64.StdEncoding.EncodeToString(root[:]))}, w.signer)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// prove makes a file.
func (w *witnessed) prove(t interface{ Fatal(...any) }, r proof.Request) []byte {
	var file bytes.Buffer
	r.Key, r.Made = w.key, time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	if _, err := proof.Write(context.Background(), &file, w.all(), r); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// TestProofOfAnything makes files of any part of a history and any heads, and checks
// that they prove just that.
func TestProofOfAnything(t *testing.T) {
	w := newWitnessed(t, 70)
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfNDistinct(rapid.IntRange(0, len(w.leaves)), 1, 4, rapid.ID).Draw(t, "sizes")
		slices.Sort(sizes)
		shown := rapid.SliceOfN(rapid.Bool(), len(w.leaves), len(w.leaves)).Draw(t, "shown")
		r := proof.Request{Shown: func(at int64, _ []byte) bool { return shown[at] }}
		for _, n := range sizes {
			r.Heads = append(r.Heads, w.head(n))
		}
		file, size := w.prove(t, r), sizes[len(sizes)-1]
		var want, got []string
		for i, text := range w.leaves[:size] {
			if shown[i] {
				want = append(want, fmt.Sprint(i, string(text)))
			}
		}
		o := proof.Options{Show: func(at int64, text string) error { got = append(got, fmt.Sprint(at, text)); return nil }}
		o.Earlier = w.head(sizes[rapid.IntRange(0, len(sizes)-1).Draw(t, "earlier")])
		checked, err := proof.Check(context.Background(), bytes.NewReader(file), o)
		if err != nil || !slices.Equal(got, want) || len(checked.Heads) != len(sizes) {
			t.Fatalf("%v: %d leaves of %d, %d heads of %d\n%s", err, len(got), len(want), len(checked.Heads), len(sizes), file)
		}
		complete := size
		for complete > 0 && shown[complete-1] {
			complete--
		}
		if checked.Complete != int64(complete) {
			t.Fatalf("complete from %d, want %d", checked.Complete, complete)
		}
	})
}

// TestProofOfOtherHistory rewrites one leaf, and every head that was signed after it
// must refuse the file of the new history.
func TestProofOfOtherHistory(t *testing.T) {
	for _, size := range []int{1, 2, 7, 8, 33} {
		before := newWitnessed(t, size)
		for at := range size {
			now := &witnessed{signer: before.signer, key: before.key}
			for i, text := range before.leaves {
				if i == at {
					text = []byte(`{"kind":"never"}`)
				}
				hashes, _ := tlog.StoredHashes(int64(i), text, now)
				now.leaves, now.hashes = append(now.leaves, text), append(now.hashes, hashes...)
			}
			file := now.prove(t, proof.Request{Heads: []string{now.head(size)}})
			for kept := range size + 1 {
				_, err := proof.Check(context.Background(), bytes.NewReader(file), proof.Options{Earlier: before.head(kept)})
				if (err == nil) != (kept <= at) || err != nil && !errors.Is(err, proof.ErrRefused) {
					t.Errorf("leaf %d of %d rewritten, the head of %d: %v", at, size, kept, err)
				}
			}
			if _, err := proof.Check(context.Background(), bytes.NewReader(file), proof.Options{Earlier: newWitnessed(t, size).head(size)}); !errors.Is(err, proof.ErrRefused) {
				t.Errorf("a head of another ledger: %v", err)
			}
		}
	}
}

// question is a file that a verifier is asked about, and the head that it must
// continue, "" for none.
type question struct{ name, file, head string }

// byProgram are the answers of Check.
func byProgram(_ *testing.T, all []question) (answers []error) {
	for _, q := range all {
		_, err := proof.Check(context.Background(), strings.NewReader(q.file), proof.Options{Earlier: q.head})
		answers = append(answers, err)
	}
	return answers
}

// askPython has verify.py answer for each FILE.json in a directory, in order.
const askPython = `
import io, json, os, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from verify import verify
for q in json.load(open(sys.argv[2])):
    try:
        verify(io.BytesIO(q["File"].encode()), q["Head"] or None)
        print("proven")
    except Exception as reason:
        print(repr(reason))
`

// byPython are the answers of the independent verifier.
func byPython(t *testing.T, all []question) (answers []error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3: the independent verifier is not asked")
	}
	type document struct{ File, Head string }
	var questions []document
	for _, q := range all {
		questions = append(questions, document{q.file, q.head})
	}
	path := filepath.Join(t.TempDir(), "questions")
	text, err := json.Marshal(questions)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "-c", askPython, "../../testdata/proof", path).CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != len(all) {
		t.Fatalf("%v: %d answers, %d questions: %s", err, len(lines), len(all), out)
	}
	for _, l := range lines {
		if err = nil; l != "proven" {
			err = errors.New(l)
		}
		answers = append(answers, err)
	}
	return answers
}

// archiveOf is an archive of so many bytes.
func archiveOf(id string, text []byte) proof.Archive {
	sum := sha256.Sum256(text)
	return proof.Archive{ID: id, SHA256: hex.EncodeToString(sum[:]), Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	}}
}

// TestProofDamaged damages a file in each way; the program and the independent
// verifier must refuse all of them, and neither refuses what is whole.
func TestProofDamaged(t *testing.T) {
	w, other := newWitnessed(t, 21), newWitnessed(t, 21)
	long := bytes.Repeat([]byte("0123456789abcdef"), 150_000) // three pieces
	file := w.prove(t, proof.Request{
		Heads: []string{w.head(5), w.head(13), w.head(21)},
		Shown: func(at int64, _ []byte) bool { return at%4 == 0 || at > 16 },
		Archives: func(yield func(proof.Archive, error) bool) {
			_ = yield(archiveOf("empty", nil), nil) && yield(archiveOf("long", long), nil)
		},
	})
	lines := func() []string { return strings.SplitAfter(strings.TrimSuffix(string(file), "\n"), "\n") }
	find := func(all []string, start string, nth int) int {
		for i, l := range all {
			if strings.HasPrefix(l, `{"`+start+`":`) {
				if nth--; nth < 0 {
					return i
				}
			}
		}
		t.Fatalf("no line %d of %s", nth, start)
		return 0
	}
	// in changes one line.
	in := func(start string, nth int, from, to string) func() string {
		return func() string {
			all := lines()
			i := find(all, start, nth)
			changed := strings.Replace(all[i], from, to, 1)
			if changed == all[i] {
				t.Fatalf("%q has no %q", all[i], from)
			}
			all[i] = changed
			return strings.Join(all, "") + "\n"
		}
	}
	without := func(start string, nth int) func() string {
		return func() string {
			all := lines()
			i := find(all, start, nth)
			return strings.Join(slices.Delete(all, i, i+1), "") + "\n"
		}
	}
	again := func(start string, nth int, before string, place int) func() string {
		return func() string {
			all := lines()
			return strings.Join(slices.Insert(all, find(all, before, place), all[find(all, start, nth)]), "") + "\n"
		}
	}
	swapped := func(start string, a, b int) func() string {
		return func() string {
			all := lines()
			i, j := find(all, start, a), find(all, start, b)
			all[i], all[j] = all[j], all[i]
			return strings.Join(all, "") + "\n"
		}
	}
	quoted := func(head string) string { return strings.ReplaceAll(head, "\n", `\n`) }
	damages := map[string]func() string{
		"nothing":                          func() string { return "" },
		"no line at its end":               func() string { return strings.TrimSuffix(string(file), "\n") },
		"cut in a leaf":                    func() string { return string(file[:len(file)/3]) },
		"a leaf altered":                   in("leaf", 2, `\"n\":8`, `\"n\":9`),
		"a letter of a leaf":               in("leaf", 0, "archived", "Archived"),
		"a leaf at another place":          in("leaf", 0, `"at":0`, `"at":1`),
		"a leaf left out":                  without("leaf", 3),
		"the last leaf left out":           without("leaf", 7),
		"a leaf twice":                     again("leaf", 1, "leaf", 2),
		"two leaves exchanged":             swapped("leaf", 6, 7),
		"a hidden part left out":           without("tree", 1),
		"a hidden part altered":            in("tree", 1, `"hash":"`, `"hash":"AA`),
		"a hidden part that is longer":     in("tree", 0, `"to":`, `"to":1`),
		"a hidden part that is none":       in("tree", 0, `"to":2`, `"to":1`),
		"two hidden parts exchanged":       swapped("tree", 0, 1),
		"no head":                          func() string { return lines()[0] },
		"the newest head left out":         without("head", 2),
		"an older head that was not":       in("head", 0, `\n5\n`, `\n4\n`),
		"heads exchanged":                  swapped("head", 0, 1),
		"a head twice":                     again("head", 0, "head", 1),
		"a head among the leaves":          again("head", 0, "leaf", 3),
		"the head of another history":      in("head", 2, quoted(w.head(21)), quoted(other.head(21))),
		"a signed head of another history": in("head", 2, quoted(w.head(21)), quoted(w.sign(21, tlog.Hash{1}))),
		"a signed older head that was not": in("head", 0, quoted(w.head(5)), quoted(w.sign(5, tlog.Hash{1}))),
		"a signed head of another size":    in("head", 2, quoted(w.head(21)), quoted(w.sign(22, tlog.Hash{1}))),
		"a head without a signature":       in("head", 2, `\n\n`, `\n`),
		"a byte of a signature":            in("head", 2, w.head(21)[len(w.head(21))-12:len(w.head(21))-8], "AAAA"),
		"the key of another":               in("proof", 0, w.key, other.key),
		"a key that is none":               in("proof", 0, w.key, "sessctl.test/ledger"),
		"another version":                  in("proof", 0, `"version":1`, `"version":2`),
		"no first line":                    without("proof", 0),
		"a first line twice":               again("proof", 0, "head", 0),
		"a field that is not known":        in("leaf", 0, `"at":`, `"more":1,"at":`),
		"a field twice":                    in("leaf", 0, `"at":`, `"at":7,"at":`),
		"a line that is not known":         in("tree", 0, `"tree"`, `"shrub"`),
		"two things in a line":             in("leaf", 0, `{"leaf"`, `{"head":"x","leaf"`),
		"a number that is a text":          in("leaf", 0, `"at":0`, `"at":"0"`),
		"a number that is a fraction":      in("leaf", 0, `"at":0`, `"at":0.5`),
		"a line that is no JSON":           in("leaf", 0, `{"leaf"`, `{leaf`),
		"an empty line":                    in("leaf", 0, `{`, "\n{"),
		"a byte of an archive":             in("bytes", 1, `"gzip":"`, `"gzip":"A`),
		"a piece of an archive left out":   without("bytes", 2),
		"pieces of an archive exchanged":   swapped("bytes", 1, 3),
		"a piece of an archive twice":      again("bytes", 1, "bytes", 1),
		"an archive in two places":         again("bytes", 1, "bytes", 0),
		"an archive of another hash":       in("bytes", 0, `"sha256":"e3b0`, `"sha256":"e3b1`),
		"an archive among the leaves":      again("bytes", 0, "leaf", 2),
		"something behind it":              func() string { return string(file) + lines()[3] },
	}
	whole := []question{{file: string(file)}}
	for _, n := range []int{0, 5, 13, 17, 21} {
		whole = append(whole, question{fmt.Sprint("the head of ", n), string(file), w.head(n)})
	}
	var damaged []question
	for name, head := range map[string]string{
		"within a hidden part": w.head(11), "of a longer history": w.sign(22, tlog.Hash{}), "of another history": w.sign(5, tlog.Hash{}),
		"of another ledger": other.head(5), "that is none": "text",
	} {
		damaged = append(damaged, question{"continuing a head " + name, string(file), head})
	}
	for name, damage := range damages {
		damaged = append(damaged, question{name: name, file: damage()})
	}
	for name, ask := range map[string]func(*testing.T, []question) []error{"check": byProgram, "verify.py": byPython} {
		t.Run(name, func(t *testing.T) {
			for i, err := range ask(t, append(whole, damaged...)) {
				if i < len(whole) && err != nil {
					t.Errorf("what is whole (%s) is refused: %v", whole[i].name, err)
				}
				if i >= len(whole) && err == nil {
					t.Errorf("a file with %s is accepted", damaged[i-len(whole)].name)
				}
			}
		})
	}
}

// TestProofOfBeginnings holds that an archive begins with the one that its entry, or
// that of the other, names: both programs refuse a file where it does not.
func TestProofOfBeginnings(t *testing.T) {
	long := bytes.Repeat([]byte("line\n"), 300_000) // two pieces
	entry := func(kind, id, of string, text []byte) string {
		return fmt.Sprintf(`{"v":1,"kind":"%s","at":1,"id":"%s","bytes":%d,"sha256":"%x","archive":"%s"}`, kind, id, len(text), sha256.Sum256(text), of)
	}
	other := append(bytes.Clone(long[:1_200_000]), 'x')
	for name, is := range map[string]struct {
		leaves []string
		whole  bool
	}{
		"as they say":              {[]string{entry("made", "a", "", long[:1_100_000]), entry("made", "b", "a", long)}, true},
		"at the end of a piece":    {[]string{entry("made", "a", "", long[:1<<20]), entry("made", "b", "a", long)}, true},
		"two that it begins with":  {[]string{entry("adopted", "a", "", long[:5]), entry("superseded", "a", "b", long[:5]), entry("superseded", "c", "b", long[:1_400_000])}, true},
		"one that is not shown":    {[]string{entry("made", "b", "a", long)}, true},
		"one of nothing":           {[]string{entry("made", "a", "", nil), entry("made", "b", "a", long)}, true},
		"other bytes":              {[]string{entry("made", "a", "", other), entry("made", "b", "a", long)}, false},
		"other bytes, superseded":  {[]string{entry("superseded", "a", "b", other)}, false},
		"a longer one":             {[]string{entry("made", "a", "", append(bytes.Clone(long), 'x')), entry("made", "b", "a", long)}, false},
		"one right, and one wrong": {[]string{entry("superseded", "a", "b", long[:10]), entry("superseded", "c", "b", other)}, false},
	} {
		w := newWitnessed(t, 0)
		for i, text := range is.leaves {
			hashes, err := tlog.StoredHashes(int64(i), []byte(text), w)
			if err != nil {
				t.Fatal(err)
			}
			w.leaves, w.hashes = append(w.leaves, []byte(text)), append(w.hashes, hashes...)
		}
		file := w.prove(t, proof.Request{
			Heads: []string{w.head(len(is.leaves))}, Shown: func(int64, []byte) bool { return true },
			Archives: func(yield func(proof.Archive, error) bool) { yield(archiveOf("b", long), nil) },
		})
		for program, ask := range map[string]func(*testing.T, []question) []error{"check": byProgram, "verify.py": byPython} {
			for _, err := range ask(t, []question{{name: name, file: string(file)}}) {
				if (err == nil) != is.whole {
					t.Errorf("%s, %s: %v", name, program, err)
				}
			}
		}
	}
}

// TestProofIsNotWritten holds that Write makes no file that would be refused.
func TestProofIsNotWritten(t *testing.T) {
	w := newWitnessed(t, 9)
	for name, r := range map[string]proof.Request{
		"no head":                 {},
		"a head of another":       {Heads: []string{newWitnessed(t, 9).head(9)}},
		"a head of other leaves":  {Heads: []string{w.sign(9, tlog.Hash{})}},
		"a head of more leaves":   {Heads: []string{w.sign(12, tlog.Hash{})}},
		"an older head that lies": {Heads: []string{w.sign(3, tlog.Hash{}), w.head(9)}},
		"a ledger that was cut":   {Heads: []string{w.head(9), w.head(7)}},
		"an archive that differs": {Heads: []string{w.head(9)}, Archives: func(yield func(proof.Archive, error) bool) {
			a := archiveOf("a", []byte("text"))
			a.SHA256 = strings.Repeat("0", 64)
			yield(a, nil)
		}},
	} {
		r.Key = w.key
		if _, err := proof.Write(context.Background(), io.Discard, w.all(), r); err == nil {
			t.Errorf("%s: a file was written", name)
		}
	}
}
