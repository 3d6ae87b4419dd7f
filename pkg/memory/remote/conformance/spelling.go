package conformance

import (
	"context"
	"fmt"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// typedWrongly asks with words that nobody said: the shared memory takes them for
// the same ones as that of a host, and says so.
func (by Scorer) typedWrongly(ctx context.Context, m remote.Memory, reference *memory.Store) error {
	list := corpus(60)
	for i, text := range []string{"the tablet is charged", "the tablet fell", "the table is set", "a cable of packages/tui/src/index.ts"} {
		list[i].Text = "user: " + text
		list[i].ID = memory.RecordID(list[i].Agent, list[i].Session, i, "test", list[i].Text)
	}
	f, err := fill(ctx, m, reference, list)
	if err != nil {
		return err
	}
	for text, notice := range map[string]string{
		"ERR_TOKNE_TOO_LONG":       `nobody said "ERR_TOKNE_TOO_LONG": looked for "ERR_TOKEN_TOO_LONG"`,
		"packges/tui/src/index.ts": `nobody said "packges/tui/src/index.ts": looked for "packages/tui/src/index.ts"`,
		"tablex":                   `nobody said "tablex": looked for "tablet"`, // more said that than "table"
		"aponitment":               "",                                          // two slips
		"xablet":                   "",
		"heron of the xylophone":   "",
	} {
		q := memory.Query{Text: text, LeastFit: memory.LeastFit, Limit: 5}
		if err := by.same(ctx, f, q); err != nil {
			return err
		}
		result, err := f.ask(ctx, q)
		if err != nil || result.Notice != notice {
			return fmt.Errorf("%s: the notice is %q, not %q: %w", text, result.Notice, notice, err)
		}
	}
	return nil
}
