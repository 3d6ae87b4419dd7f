package embed

import (
	"errors"
	"fmt"
)

// ErrOrder is returned when a reply does not say which vector is of which text:
// an index is missing, there twice or out of range.
var ErrOrder = errors.New("vectors without order")

// reply is what a server answered.
type reply struct {
	model   string
	vectors [][]float32
}

// decodeOllama reads {"model": ..., "embeddings": [[...], ...]}.
func decodeOllama(data []byte, dim int) (reply, error) {
	var out reply
	found := false
	r := replyReader{data: data}
	r.object(func(key string) {
		switch key {
		case "embeddings":
			found, out.vectors = true, nil
			r.array(func() { out.vectors = append(out.vectors, r.vector(dim)) })
		case "model":
			out.model = r.optionalText()
		default:
			r.skip(0)
		}
	})
	if err := r.end(); err != nil {
		return reply{}, err
	}
	if !found {
		return reply{}, fmt.Errorf("%w: no embeddings", ErrReply)
	}
	return out, nil
}

// decodeOpenAI reads {"model": ..., "data": [{"index": 0, "embedding": [...]}, ...]}
// and puts the vectors in the order of their index.
func decodeOpenAI(data []byte, dim int) (reply, error) {
	var out reply
	var found bool
	var rows []indexed
	r := replyReader{data: data}
	r.object(func(key string) {
		switch key {
		case "data":
			found, rows = true, nil
			r.array(func() { rows = append(rows, r.indexed(dim)) })
		case "model":
			out.model = r.optionalText()
		default:
			r.skip(0)
		}
	})
	if err := r.end(); err != nil {
		return reply{}, err
	}
	if !found {
		return reply{}, fmt.Errorf("%w: no data", ErrReply)
	}
	var err error
	out.vectors, err = inOrder(rows)
	return out, err
}

// indexed is an element of OpenAI's data.
type indexed struct {
	index  int // -1 if there is none
	vector []float32
}

func (r *replyReader) indexed(dim int) indexed {
	row := indexed{index: -1}
	r.object(func(key string) {
		switch key {
		case "index":
			row.index = r.integer()
		case "embedding":
			row.vector = r.vector(dim)
		default:
			r.skip(0)
		}
	})
	return row
}

// optionalText reads a string; another value is skipped and is "".
func (r *replyReader) optionalText() string {
	if r.next() == '"' {
		return r.text()
	}
	r.skip(0)
	return ""
}

func inOrder(rows []indexed) ([][]float32, error) {
	vectors := make([][]float32, len(rows))
	for i, row := range rows {
		if row.index < 0 || row.index >= len(rows) || vectors[row.index] != nil {
			return nil, fmt.Errorf("%w: index %d of element %d", ErrOrder, row.index, i)
		}
		if row.vector == nil {
			return nil, fmt.Errorf("%w: element %d has no embedding", ErrReply, i)
		}
		vectors[row.index] = row.vector
	}
	return vectors, nil
}
