package proof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/ledger"
	"golang.org/x/mod/sumdb/tlog"
)

// ErrRewritten is returned where the leaves are not those of a head.
var ErrRewritten = errors.New("the history is not that of its head: it was cut back or rewritten")

// Request says what a file is to prove.
type Request struct {
	Key       string   // verifies the heads
	Heads     []string // signed, the smallest first; the last is that of the ledger
	Made      time.Time
	Selection Selection
	// Shown says which leaves are shown; nil shows all.
	Shown func(at int64, text []byte) bool
	// Archives are those whose bytes go into the file.
	Archives iter.Seq2[Archive, error]
}

// Archive is an archive whose bytes go into a file.
type Archive struct {
	ID     string
	SHA256 string // of what it holds, in lower-case hexadecimal
	Open   func(context.Context) (io.ReadCloser, error)
}

// Write writes a proof from the leaves of a ledger, from the first to the last.
// What the heads do not fit is an error: a file that was written verifies.
func Write(ctx context.Context, to io.Writer, leaves iter.Seq2[[]byte, error], r Request) (Checked, error) {
	w := writer{to: to, request: r}
	w.done.Archives = map[string]string{}
	if err := w.begin(); err != nil {
		return w.done, err
	}
	if err := w.leaves(ctx, leaves); err != nil {
		return w.done, err
	}
	for _, h := range w.done.Heads {
		if err := fits(h, w.nodes); err != nil {
			return w.done, fmt.Errorf("%w: %w", ErrRewritten, err)
		}
	}
	return w.done, w.archives(ctx)
}

// writer is a file that is being written.
type writer struct {
	to      io.Writer
	request Request
	cuts    []int64     // sizes of heads
	nodes   nodes       // written
	hidden  []tlog.Hash // leaves after them that are not shown
	done    Checked     // what it proves
}

func (w *writer) line(l line) error {
	text, err := l.encode()
	if err == nil {
		_, err = w.to.Write(text)
	}
	return err
}

// begin writes what precedes the leaves.
func (w *writer) begin() error {
	r := w.request
	if len(r.Heads) == 0 {
		return errors.New("the ledger has no head yet")
	}
	w.done.Header = Header{Version: Version, Key: r.Key, Made: r.Made.UTC().Format(time.RFC3339), Selection: r.Selection}
	if err := w.line(line{Proof: &w.done.Header}); err != nil {
		return err
	}
	for _, text := range r.Heads {
		h, err := ledger.ParseHead([]byte(text), r.Key)
		if err != nil {
			return err
		}
		if last, n := w.last(), len(w.done.Heads); n > 0 && h.N <= last.N {
			if h.N < last.N || h.Hash != last.Hash {
				return fmt.Errorf("%w: the ledger has %d entries, and an earlier head %d", ErrRewritten, h.N, last.N)
			}
			continue
		}
		w.done.Heads, w.cuts = append(w.done.Heads, h), append(w.cuts, h.N)
		if err := w.line(line{Head: text}); err != nil {
			return err
		}
	}
	return nil
}

// last is the newest head so far.
func (w *writer) last() ledger.Head {
	if len(w.done.Heads) == 0 {
		return ledger.Head{}
	}
	return w.done.Head()
}

// leaves writes the pieces of the tree.
func (w *writer) leaves(ctx context.Context, leaves iter.Seq2[[]byte, error]) error {
	at := int64(0)
	for text, err := range leaves {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if at == w.done.Head().N {
			break // it was written while this was read
		}
		hash := tlog.RecordHash(text)
		if shown := w.request.Shown; shown != nil && !shown(at, text) {
			w.hidden = append(w.hidden, hash)
		} else if err := w.show(at, text, hash); err != nil {
			return err
		}
		at++
	}
	return w.hide(at)
}

// show writes a leaf.
func (w *writer) show(at int64, text []byte, hash tlog.Hash) error {
	if !utf8.Valid(text) {
		return fmt.Errorf("entry %d is not UTF-8", at)
	}
	if err := w.hide(at); err != nil {
		return err
	}
	w.done.Shown++
	if err := w.nodes.add(node{at, at + 1, hash}); err != nil {
		return err
	}
	return w.line(line{Leaf: &leaf{At: at, Text: string(text)}})
}

// hide writes the subtrees of the leaves before leaf at that were not shown.
func (w *writer) hide(at int64) error {
	for _, n := range cover(at-int64(len(w.hidden)), w.hidden, w.cuts) {
		if err := w.nodes.add(n); err != nil {
			return err
		}
		w.done.Complete = n.to
		if err := w.line(line{Tree: &tree{From: n.from, To: n.to, Hash: n.hash[:]}}); err != nil {
			return err
		}
	}
	w.hidden = w.hidden[:0]
	return nil
}

// archives writes the bytes of the archives.
func (w *writer) archives(ctx context.Context) error {
	if w.request.Archives == nil {
		return nil
	}
	for a, err := range w.request.Archives {
		if err == nil {
			err = w.archive(ctx, a)
		}
		if err != nil {
			return fmt.Errorf("archive %s: %w", a.ID, err)
		}
		w.done.Archives[a.ID] = a.SHA256
	}
	return nil
}

func (w *writer) archive(ctx context.Context, a Archive) error {
	from, err := a.Open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(split(a, from, w.line), from.Close())
}
