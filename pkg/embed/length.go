package embed

import (
	"context"
	"errors"
	"fmt"
)

// lettersAToken is how many letters of a word a tokenizer takes together, about.
const lettersAToken = 6

// likelyTokens is about how many tokens a text has, by which texts are compared
// and nothing is measured: words by their letters, anything else that is no
// space by its characters. A text of digits, code or Chinese has several times
// as many as English of the same length.
func likelyTokens(text string) (tokens int) {
	letters := 0
	for _, c := range text {
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			if letters%lettersAToken == 0 {
				tokens++
			}
			letters++
			continue
		case c > ' ':
			tokens++
		}
		letters = 0
	}
	return tokens
}

// embedSplit is embed for many texts. Those that are likely too long for the
// model, as one was before, are embedded each alone, so that they do not make
// the server refuse the others, whose vectors it may have made already: on a
// slow machine that is minutes.
func (r *remote) embedSplit(ctx context.Context, j job) ([][]float32, error) {
	alone, together := r.suspects(j.texts)
	if len(alone) == 0 || len(j.texts) == 1 {
		return r.embed(ctx, j)
	}
	vectors := make([][]float32, len(j.texts))
	for _, i := range alone {
		if err := r.embedSome(ctx, j, []int{i}, vectors); err != nil {
			return nil, err
		}
	}
	if err := r.embedSome(ctx, j, together, vectors); err != nil {
		return nil, err
	}
	return vectors, nil
}

// embedSome embeds the texts of a job with these indexes.
func (r *remote) embedSome(ctx context.Context, j job, indexes []int, vectors [][]float32) error {
	if len(indexes) == 0 {
		return nil
	}
	some := j
	some.texts = make([]string, len(indexes))
	for n, i := range indexes {
		some.texts[n] = j.texts[i]
	}
	found, err := r.embed(ctx, some)
	var blame *TextError
	switch {
	case errors.As(err, &blame) && blame.Index >= 0 && blame.Index < len(indexes):
		return &TextError{Index: indexes[blame.Index], Err: blame.Err}
	case err != nil:
		return err
	case len(found) != len(indexes):
		return fmt.Errorf("%w: %d for %d texts", ErrCount, len(found), len(indexes))
	}
	for n, i := range indexes {
		vectors[i] = found[n]
	}
	return nil
}

// suspects are the indexes of the texts that are likely too long, and those of
// the others.
func (r *remote) suspects(texts []string) (alone, together []int) {
	r.mutex.Lock()
	limit := r.tooLong
	r.mutex.Unlock()
	for i, text := range texts {
		if limit > 0 && likelyTokens(text) >= limit {
			alone = append(alone, i)
		} else {
			together = append(together, i)
		}
	}
	return alone, together
}

// learn notes that a text alone was too long for the model, or was not.
func (r *remote) learn(text string, refused bool) {
	tokens := likelyTokens(text)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch {
	case refused && (r.tooLong == 0 || tokens < r.tooLong):
		r.tooLong = tokens
	case !refused && r.tooLong > 0 && tokens >= r.tooLong:
		r.tooLong = tokens + 1
	}
}
