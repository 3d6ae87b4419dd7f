package scriptcmd

import (
	"context"
	"errors"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/secrets"
)

// unredact DIR TEXT puts a text for every mark in a memory.
func unredact(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: unredact DIR TEXT")
	}
	ts.Check(Unredact(context.Background(), ts.MkAbs(args[0]), args[1]))
}

// Unredact puts a text where a memory has the marks of what looked like a secret: it is
// then as if older rules had made it, which did not know that text.
func Unredact(ctx context.Context, dir, text string) error {
	store, err := memory.Open(ctx, dir, memory.Options{})
	if err != nil {
		return err
	}
	done, err := store.RedactAll(ctx, olderRules{text})
	if err == nil && done.Empty() {
		err = errors.New("the memory has no mark")
	}
	return errors.Join(err, store.Close())
}

type olderRules struct{ text string }

// Redact implements [memory.Redactor].
func (o olderRules) Redact(text string) (clean string, places int) {
	return strings.ReplaceAll(text, secrets.Mark, o.text), strings.Count(text, secrets.Mark)
}
