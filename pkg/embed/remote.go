package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/internal/modelhttp"
)

// RemoteOptions says which server and model make the vectors.
type RemoteOptions struct {
	BaseURL string        // http or https, without user and query; "" is the provider's own
	Model   string        // as the server names it; "" is the provider's own
	Dim     int           // components to ask for; 0 leaves that to the model
	Timeout time.Duration // for one text; a batch of n has 1+n/4 times as long; 0 is 30 s
	APIKey  string        // sent as a bearer token; "" sends none
	Clock   Clock
}

// protocol is what is different between servers.
type protocol interface {
	// request returns the path and the body that ask for vectors.
	request(texts []string) (path string, body any)
	// decode reads the reply; dim is a guess of the dimension.
	decode(body []byte, dim int) (reply, error)
}

// probeText is what any model can embed. If a call fails and one with this
// text does too, no text is to blame.
const probeText = "hello world"

// minPart is how short, in bytes, a part of a text may get that is too long
// for the model.
const minPart = 200

// remote is what the embedders behind a server have in common.
type remote struct {
	*client
	protocol protocol
	prefix   taskPrefix
	expected Model                                     // Revision and Dim may be missing
	revision func(ctx context.Context) (string, error) // asks the server for that of the model; nil if it cannot say

	mutex sync.Mutex
	model Model  // once it is known
	named string // what replies call the model

	tooLong int // likely tokens of the shortest text that was too long; 0 if none was
}

// Expected is the identity as far as it is known without asking the server:
// Revision may be empty and Dim 0.
func (r *remote) Expected() Model { return r.expected }

// Address is the base URL of the server. It holds no key.
func (r *remote) Address() string { return r.base.String() }

// Identify returns the identity of the vectors. The server is asked for the revision
// of the model, and for the dimension if neither the options nor the name of the model
// say it. ErrUnavailable is returned if it does not answer or has no such model.
func (r *remote) Identify(ctx context.Context) (m Model, err error) {
	r.mutex.Lock()
	m = r.model
	r.mutex.Unlock()
	if m.Dim > 0 {
		return m, nil
	}
	m = r.expected
	if r.revision != nil {
		if m.Revision, err = r.revision(ctx); err != nil {
			return Model{}, err
		}
	}
	if m.Dim == 0 {
		if m.Dim, err = r.probeDim(ctx); err != nil {
			return Model{}, err
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.model = m
	return m, nil
}

// EmbedDocuments returns a unit vector a text. A text that is too long for the
// model is embedded in parts. After the call a server that can say so is asked
// whether the model is still the one that Identify saw; if not, ErrUnavailable is
// returned and no vector.
func (r *remote) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	m, err := r.Identify(ctx)
	if err != nil {
		return nil, err
	}
	vectors, err := r.embedDocuments(ctx, m, texts)
	if err != nil || r.revision == nil {
		return vectors, err
	}
	revision, err := r.revision(ctx)
	if err == nil && revision != m.Revision {
		err = fmt.Errorf("%w: the model %s was %s and is %s now", ErrUnavailable, m.Name, m.Revision, revision)
	}
	if err != nil {
		return nil, err
	}
	return vectors, nil
}

// embedDocuments implements Embedder for a model of known identity.
func (r *remote) embedDocuments(ctx context.Context, m Model, texts []string) ([][]float32, error) {
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			return nil, &textError{Index: i, Err: ErrNoVector}
		}
	}
	if len(texts) == 0 {
		return nil, nil // a server may answer anything
	}
	return r.embedSplit(ctx, job{texts: texts, prefix: r.prefix.document, dim: m.Dim})
}

// EmbedQuery returns a unit vector, or ErrNoVector for a text of white space.
func (r *remote) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	m, err := r.Identify(ctx)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(text) == "" {
		return nil, ErrNoVector
	}
	vectors, err := r.embed(ctx, job{texts: []string{text}, prefix: r.prefix.query, dim: m.Dim, query: true})
	if err != nil {
		return nil, reason(err)
	}
	return vectors[0], nil
}

// job is texts to embed.
type job struct {
	texts  []string
	prefix string
	dim    int  // 0 if it is not known yet
	query  bool // somebody waits for it
}

// embed returns unit vectors. An error that is not ErrUnavailable is the fault
// of one of the texts: a short text of ours has been embedded since.
func (r *remote) embed(ctx context.Context, j job) ([][]float32, error) {
	vectors, err := r.call(ctx, j)
	if err == nil && len(j.texts) == 1 {
		r.learn(j.texts[0], false)
	}
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrUnavailable) {
		return vectors, err
	}
	if _, failed := r.call(ctx, job{texts: []string{probeText}, dim: j.dim, query: j.query}); failed != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w, whatever the text", ErrUnavailable, reason(failed))
	}
	if len(j.texts) > 1 {
		return nil, err
	}
	if isRefusal(err) {
		vector, err := r.embedParts(ctx, j, err)
		return [][]float32{vector}, err
	}
	return nil, &textError{Err: reason(err)}
}

// isRefusal says whether the server read the text and did not want it; what is
// wrong may be its length.
func isRefusal(err error) bool {
	var status *modelhttp.StatusError
	return errors.As(err, &status) && status.Code != gatewayTimeout
}

// embedParts embeds a text that is too long for the model in two halves, or
// halves of those, and returns the direction of the mean of the parts, each
// counting by its length. If the shortest parts are refused too, it was not the
// length.
func (r *remote) embedParts(ctx context.Context, j job, refusal error) ([]float32, error) {
	sum := make([]float32, j.dim)
	if err := r.addHalves(ctx, j, refusal, sum); err != nil {
		return nil, err
	}
	if checkVector(sum) != nil {
		return nil, &textError{Err: refusal}
	}
	r.learn(j.texts[0], true)
	return unit(sum), nil
}

// addHalves adds the vectors of the parts of a text that was refused to sum.
func (r *remote) addHalves(ctx context.Context, j job, refusal error, sum []float32) error {
	text := j.texts[0]
	if len(text) < 2*minPart {
		return &textError{Err: refusal}
	}
	middle := cutNearMiddle(text)
	for _, part := range []string{text[:middle], text[middle:]} {
		if strings.TrimSpace(part) == "" {
			continue
		}
		j.texts = []string{part}
		if err := r.addPart(ctx, j, sum); err != nil {
			return err
		}
	}
	return nil
}

func (r *remote) addPart(ctx context.Context, j job, sum []float32) error {
	vectors, err := r.call(ctx, j)
	switch {
	case err == nil:
		for i, x := range vectors[0] {
			sum[i] += x * float32(len(j.texts[0]))
		}
		return nil
	case ctx.Err() != nil || errors.Is(err, ErrUnavailable):
		return err
	case isRefusal(err):
		return r.addHalves(ctx, j, err, sum)
	}
	return &textError{Err: reason(err)}
}

// cutNearMiddle returns where a text is cut in two: after white space if there
// is some near the middle, else between two characters.
func cutNearMiddle(text string) int {
	middle := len(text) / 2
	if at := strings.LastIndexAny(text[middle/2:middle], " \n\t"); at >= 0 {
		return middle/2 + at + 1
	}
	for middle > 0 && text[middle]&0xC0 == 0x80 {
		middle--
	}
	return cmp.Or(middle, len(text)/2) // of invalid UTF-8
}

// call is one question and its reply, checked: a vector a text, each of the
// dimension, finite and not zero. It returns them at unit length. A vector that
// is wrong is a textError.
func (r *remote) call(ctx context.Context, j job) ([][]float32, error) {
	prefixed := make([]string, len(j.texts))
	for i, text := range j.texts {
		prefixed[i] = j.prefix + text
	}
	path, body := r.protocol.request(prefixed)
	limit := int64(maxOther)
	if j.dim > 0 {
		limit += int64(len(j.texts)) * int64(j.dim) * maxNumber
	}
	data, err := r.ask(ctx, call{method: "POST", path: path, body: body, texts: len(j.texts), limit: limit, query: j.query})
	if err != nil {
		return nil, err
	}
	reply, err := r.protocol.decode(data, j.dim)
	if err != nil {
		return nil, err
	}
	if err := r.sameName(reply.model); err != nil {
		return nil, err
	}
	return checked(reply.vectors, j)
}

// sameName returns ErrUnavailable if replies call the model by another name
// than before: a proxy has put another in its place.
func (r *remote) sameName(name string) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if name != "" && r.named != "" && name != r.named {
		return fmt.Errorf("%w: the model was %s and is %s now", ErrUnavailable, r.named, name)
	}
	r.named = cmp.Or(r.named, name)
	return nil
}

func checked(vectors [][]float32, j job) ([][]float32, error) {
	if len(vectors) != len(j.texts) {
		return nil, fmt.Errorf("%w: %d for %d texts", ErrCount, len(vectors), len(j.texts))
	}
	for i, v := range vectors {
		if err := Check(vectors[i:i+1], 1, j.dim); err != nil {
			return nil, &textError{Index: i, Err: err}
		}
		vectors[i] = unit(v)
		if j.dim == 0 {
			j.dim = len(v)
		}
	}
	return vectors, nil
}

// unit scales a vector to length one, in place.
func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if math.Abs(sum-1) < 1e-6 {
		return v
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
	return v
}

// probeDim asks the server for the dimension of its vectors.
func (r *remote) probeDim(ctx context.Context) (int, error) {
	vectors, err := r.call(ctx, job{texts: []string{probeText}})
	if err == nil {
		return len(vectors[0]), nil
	}
	if ctx.Err() == nil && !errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w: %w", ErrUnavailable, reason(err))
	}
	return 0, err
}

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
	var blame *textError
	switch {
	case errors.As(err, &blame) && blame.Index >= 0 && blame.Index < len(indexes):
		return &textError{Index: indexes[blame.Index], Err: blame.Err}
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
