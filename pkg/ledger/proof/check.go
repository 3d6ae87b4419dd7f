package proof

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/ledger"
	"golang.org/x/mod/sumdb/tlog"
)

// ErrRefused is returned, wrapped with the reason, for a file that proves nothing:
// it was damaged, or made of something else than the history of its head.
var ErrRefused = errors.New("this is no proof")

// ErrUncovered is returned for a file that does not say whether its history
// continues that of the head it is compared with. A file that was made with that
// head, or that shows everything, does.
var ErrUncovered = errors.New("the file does not reach back to the head")

// Options say what a file is held to.
type Options struct {
	// Earlier is a head as it was signed, which somebody kept: the history of the
	// file must continue it. "" compares the file only with the heads in it.
	Earlier string
	// Show is handed each leaf that is shown, and may be nil. What it was handed is
	// proven only when Check has returned no error.
	Show func(at int64, text string) error
}

// Checked is what a file proves.
type Checked struct {
	Header Header
	Heads  []ledger.Head // the smallest first; the last is the one to which the rest belongs
	Shown  int64
	// Continues is how many entries the head of [Options.Earlier] has.
	Continues int64
	Complete  int64             // from this entry on, all are shown
	Archives  map[string]string // SHA-256 of those whose bytes are in the file, by their ids
}

// Head is the newest head.
func (c Checked) Head() ledger.Head { return c.Heads[len(c.Heads)-1] }

// Check reads a proof to its end.
func Check(ctx context.Context, from io.Reader, o Options) (Checked, error) {
	c := checker{options: o, lines: lines{from: bufio.NewReader(from)}}
	c.done.Archives = map[string]string{}
	if err := c.run(ctx); err != nil {
		return c.done, err
	}
	for _, h := range c.done.Heads {
		if err := fits(h, c.nodes); err != nil {
			return c.done, fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	err := c.continues(o.Earlier)
	return c.done, err
}

// checker is a file that is being checked.
type checker struct {
	lines
	options Options
	nodes   nodes
	pieces  pieces // of the archive whose bytes were read last
	begins  beginnings
	done    Checked
}

func (c *checker) run(ctx context.Context) error {
	for {
		l, err := c.next()
		if errors.Is(err, io.EOF) {
			return c.end()
		}
		if err = errors.Join(err, ctx.Err()); err == nil {
			err = c.take(l)
		}
		if err != nil {
			return err
		}
	}
}

// refused is an error of the line that was read last.
func (c *checker) refused(err error) error {
	if err != nil {
		err = fmt.Errorf("%w: line %d: %w", ErrRefused, c.n, err)
	}
	return err
}

var errOrder = errors.New("it does not belong here")

// take takes the next line.
func (c *checker) take(l line) error {
	switch {
	case l.Proof != nil && c.n == 1:
		c.done.Header = *l.Proof
		return c.refused(l.Proof.check())
	case l.Head != "" && c.n > 1 && len(c.nodes) == 0 && c.pieces.archive == "":
		return c.refused(c.head(l.Head))
	case l.Tree != nil && c.open():
		return c.refused(c.tree(*l.Tree))
	case l.Leaf != nil && c.open():
		return c.leaf(*l.Leaf)
	case l.Bytes != nil && c.whole():
		return c.refused(c.pieces.take(*l.Bytes, c.begins, c.done.Archives))
	}
	return c.refused(errOrder)
}

func (h Header) check() error {
	if h.Version != Version {
		return fmt.Errorf("it is of version %d, and this reads %d", h.Version, Version)
	}
	return nil
}

// open reports whether leaves are to come.
func (c *checker) open() bool { return len(c.done.Heads) > 0 && c.nodes.end() < c.done.Head().N }

// whole reports whether all leaves were there.
func (c *checker) whole() bool { return len(c.done.Heads) > 0 && c.nodes.end() == c.done.Head().N }

func (c *checker) head(text string) error {
	h, err := ledger.ParseHead([]byte(text), c.done.Header.Key)
	if err == nil && len(c.done.Heads) > 0 && h.N <= c.done.Head().N {
		err = errOrder
	}
	c.done.Heads = append(c.done.Heads, h)
	return err
}

func (c *checker) tree(t tree) error {
	if len(t.Hash) != tlog.HashSize || t.To > c.done.Head().N {
		return errOrder
	}
	c.done.Complete = t.To
	return c.nodes.add(node{t.From, t.To, tlog.Hash(t.Hash)})
}

func (c *checker) leaf(l leaf) error {
	if err := c.nodes.add(node{l.At, l.At + 1, tlog.RecordHash([]byte(l.Text))}); err != nil {
		return c.refused(err)
	}
	c.done.Shown++
	c.begins.note([]byte(l.Text))
	if c.options.Show == nil {
		return nil
	}
	return c.options.Show(l.At, l.Text)
}

// end is what is to be said when there is no further line.
func (c *checker) end() error {
	if !c.whole() {
		return c.refused(errors.New("it ends early"))
	}
	return c.refused(c.pieces.end(c.done.Archives))
}

// continues compares the file with a head that somebody kept.
func (c *checker) continues(earlier string) error {
	if earlier == "" {
		return nil
	}
	h, err := ledger.ParseHead([]byte(earlier), c.done.Header.Key)
	if err != nil {
		return fmt.Errorf("%w: of a history with the head that was given: %w", ErrRefused, err)
	}
	c.done.Continues = h.N
	if newest := c.done.Head(); h.N > newest.N {
		return fmt.Errorf("%w: the head has %d entries and the file %d: the file is older, or the history was cut back", ErrRefused, h.N, newest.N)
	}
	err = fits(h, c.nodes)
	if errors.Is(err, errUncut) {
		return fmt.Errorf("%w of %d entries", ErrUncovered, h.N)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return nil
}
