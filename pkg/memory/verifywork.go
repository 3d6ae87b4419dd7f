package memory

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/words"
)

// verifyWork checks every action and its texts against their checksums.
func (s verification) verifyWork(ctx context.Context, c *sql.Conn) (problems []Problem, err error) {
	has, err := hasActions(ctx, c)
	if err != nil || !has {
		return nil, err
	}
	path := filepath.Join(s.dir, "memory.db")
	n, ids, err := unsoundActions(ctx, c)
	if n > 0 {
		problems = append(problems, Problem{path, fmt.Sprintf("actions that are not what was stored: %d (%s); sessctl memory reindex --from-archives stores them anew", n, strings.Join(ids, ", "))})
	}
	if err != nil {
		return problems, err
	}
	wrong, err := database.Strings(ctx, c, "SELECT abs(n) || ' ' || what FROM ("+workCounts+") WHERE n<>0")
	for _, message := range wrong {
		problems = append(problems, Problem{path, message})
	}
	return problems, err
}

// workCounts are figures that are zero in a sound database.
const workCounts = `
SELECT 'texts that no action has' AS what, (SELECT count(*) FROM work_texts t WHERE ` + unusedText + `) AS n`

// unsoundActions counts the actions whose checksum does not hold, and names the
// first few by id.
func unsoundActions(ctx context.Context, q database.Querier) (n int, ids []string, err error) {
	err = eachAction(ctx, q, "1=1", nil, func(x *storedAction) error {
		if x.sound() {
			return nil
		}
		if n++; len(ids) < shownIDs {
			ids = append(ids, x.ID)
		}
		return nil
	})
	return n, ids, err
}

// eachAction reads the actions that meet a condition, in the order they were
// stored, a page at a time.
func eachAction(ctx context.Context, q database.Querier, condition string, args []any, fn func(*storedAction) error) error {
	for after := int64(0); ; {
		list, err := readActions(ctx, q, "WHERE ("+condition+") AND a.action>? ORDER BY a.action LIMIT ?", append(append([]any(nil), args...), after, summedPage)...)
		if err != nil || len(list) == 0 {
			return err
		}
		for i := range list {
			if err := fn(&list[i]); err != nil {
				return err
			}
		}
		after = list[len(list)-1].row
	}
}

// eachWorkText reads the texts of actions.
func eachWorkText(ctx context.Context, q database.Querier, fn func(row int64, t workText) error) error {
	return database.Each(ctx, database.For(q, "read the texts of actions"), func(scan database.Scan) error {
		var row int64
		var t workText
		if err := scan(&row, &t.sort, (*keptText)(&t.body)); err != nil {
			return err
		}
		return fn(row, t)
	}, "SELECT text, sort, body FROM work_texts ORDER BY text")
}

// verifyWorkWords checks that the index of the texts of actions has their words
// and no others.
func (s verification) verifyWorkWords(ctx context.Context, c *sql.Conn) ([]Problem, error) {
	has, err := hasActions(ctx, c)
	if err != nil || !has {
		return nil, err
	}
	want, names := words.NewSum(), embed.NewNameReader()
	err = eachWorkText(ctx, c, func(row int64, t workText) error {
		want.AddRecord(row, appendWorkTerms(nil, names, t.body))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.wrongWords(ctx, c, workWords(), want, "the words of actions are not those of their texts")
}
