package memory

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sessctl/sessctl/pkg/memory/words"
)

// ErrDamagedWords is returned where the index of words is not what was written.
// The texts have all words: the next run that stores something reads them anew.
var ErrDamagedWords = words.ErrDamaged

// recordWords and workWords are the two indexes of words: of the texts of records,
// and of those of actions.
func recordWords() words.Lexicon { return words.New(words.TablePrefix, "record_rows") }
func workWords() words.Lexicon   { return words.New("work_word_", "work_texts") }

// mergeWords makes one segment of all of an index, without the records that are gone.
// Where they are damaged it reads the words of all texts anew, which leaves as little
// of these records.
func mergeWords(ctx context.Context, tx *sql.Tx, x words.Lexicon) error {
	err := x.MergeAll(ctx, tx)
	if errors.Is(err, words.ErrDamaged) {
		return readWordsAnew(ctx, tx, x)
	}
	return err
}
