package cline

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"regexp"
	"strings"
	"sync"
)

// compactionHead is what a compaction says: which messages of the session it stands
// for, and what in their place. The fields and what is asked of them are those of
// SessionCompactionStateSchema of @cline/core 0.0.86.
type compactionHead struct {
	Version      json.Number         `json:"version"`
	Updated      string              `json:"updated_at"`
	Conversation *string             `json:"conversation_id"`
	Count        *int                `json:"source_message_count"`
	Hash         *string             `json:"source_prefix_hash"`
	Last         *string             `json:"source_last_message_key"`
	Messages     []compactionMessage `json:"messages"`
}

type compactionMessage struct {
	Role    string    `json:"role"`
	Content valueKind `json:"content"`
}

// valueKind is the first byte of a JSON value.
type valueKind byte

// UnmarshalJSON implements [json.Unmarshaler].
func (k *valueKind) UnmarshalJSON(raw []byte) error {
	*k = valueKind(raw[0])
	return nil
}

var updatedAt = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$`) })

// valid reports whether Cline takes a compaction for one of a session.
func (h compactionHead) valid(session string) bool {
	for _, m := range h.Messages {
		if m.Role != "user" && m.Role != "assistant" || m.Content != '"' && m.Content != '[' {
			return false
		}
	}
	for _, text := range []*string{h.Conversation, h.Hash, h.Last} {
		if text != nil && *text == "" {
			return false
		}
	}
	version, err := h.Version.Float64()
	if err != nil || version != 1 || h.Messages == nil || h.Count == nil || *h.Count < 0 || !updatedAt().MatchString(h.Updated) {
		return false
	}
	of := ""
	if h.Conversation != nil {
		of = trimmed(*h.Conversation)
	}
	return of == "" || of == session
}

// errUnusable is returned for messages of which Cline itself could make no hash.
var errUnusable = errors.New("no message of Cline")

// stands reports whether Cline would use the compaction for a session: whether the
// hash of the messages that it stands for is right, or, if it has none, its last
// message.
func (h compactionHead) stands(ctx context.Context, log io.Reader) (bool, error) {
	p := &prefix{count: *h.Count, sum: sha256.New()}
	fmt.Fprintf(p.sum, "cline-session-compaction-source-v2\n%d\n", p.count)
	if err := eachMessage(ctx, log, p.add); err != nil && !errors.Is(err, errWhole) {
		return false, err
	}
	switch {
	case p.n < p.count:
		return false, nil
	case h.Hash != nil:
		return *h.Hash == "sha256:"+hex.EncodeToString(p.sum.Sum(nil)), nil
	case p.count == 0 || h.Last == nil:
		return false, nil
	}
	key, err := keyOf(p.last)
	return key == *h.Last, err
}

// errWhole ends the reading of a session: all that a compaction stands for was read.
var errWhole = errors.New("the prefix is whole")

// prefix is the messages that a compaction stands for.
type prefix struct {
	count, n int
	sum      hash.Hash
	last     object
}

// add takes in the next message of a session.
func (p *prefix) add(raw json.RawMessage) error {
	if p.n == p.count {
		return errWhole
	}
	m, err := objectOf(raw)
	if err != nil {
		return errors.Join(errUnusable, err)
	}
	if metadata, err := objectOf(m.values["metadata"]); err == nil && string(metadata.values["displayOnly"]) == "true" {
		return nil
	}
	p.n++
	if m, err = asShown(m); err != nil {
		return err
	}
	text, err := hashed(m)
	if err != nil {
		return err
	}
	p.sum.Write(append(text, '\n'))
	p.last = m
	return nil
}

// asShown is a message with what a person typed as Cline shows it.
func asShown(m object) (_ object, err error) {
	if role, ok := m.text("role"); !ok || strings.Contains(role, ":") {
		return m, fmt.Errorf("%w: its role", errUnusable)
	} else if role != "user" {
		return m, nil
	}
	if text, ok := m.text("content"); ok {
		m.set("content", appendText(nil, shownInput(text)))
		return m, nil
	}
	blocks, err := elementsOf(m.values["content"])
	if err != nil {
		return m, errors.Join(errUnusable, err)
	}
	for i, raw := range blocks {
		if len(raw) == 0 || raw[0] != '{' {
			continue
		}
		block, err := objectOf(raw)
		if err != nil {
			return m, errors.Join(errUnusable, err)
		}
		if kind, _ := block.text("type"); kind != "text" {
			continue
		}
		text, _ := block.text("text")
		block.set("text", appendText(nil, shownInput(text)))
		if blocks[i], err = block.stringify(nil); err != nil {
			return m, errors.Join(errUnusable, err)
		}
	}
	content, err := stringifyArray(nil, blocks)
	m.set("content", content)
	return m, err
}

// hashed is what of a message goes into the hash.
func hashed(m object) (text []byte, err error) {
	text = append(text, '[')
	for i, name := range []string{"role", "content", "agent", "sessionId", "metadata", "modelInfo", "metrics"} {
		if i > 0 {
			text = append(text, ',')
		}
		value := m.values[name]
		if value == nil {
			value = json.RawMessage("null")
		}
		text = append(text, `["`+name+`",`...)
		if text, err = stringify(text, value); err != nil {
			return nil, errors.Join(errUnusable, err)
		}
		text = append(text, ']')
	}
	return append(text, ']'), nil
}

// keyOf is what names a message of which there is no hash.
func keyOf(m object) (string, error) {
	if id, ok := m.text("id"); ok && trimmed(id) != "" {
		return "id:" + trimmed(id), nil
	}
	role, _ := m.text("role")
	if at := m.values["ts"]; len(at) > 0 && (at[0] == '-' || at[0] >= '0' && at[0] <= '9') {
		if text := appendNumber(nil, at); string(text) != "null" {
			return "ts:" + role + ":" + string(text), nil
		}
	}
	content, err := stringify(nil, m.values["content"])
	return "content:" + role + ":" + string(content), err
}

// eachMessage hands out the messages of a session, each whole, however long it is.
// Memory grows by the longest.
func eachMessage(ctx context.Context, log io.Reader, add func(json.RawMessage) error) error {
	d := json.NewDecoder(bufio.NewReaderSize(log, scanBuffer))
	if found, err := toMessages(d); !found || err != nil {
		return err
	}
	for d.More() {
		var raw json.RawMessage
		if err := errors.Join(ctx.Err(), d.Decode(&raw)); err != nil {
			return errors.Join(ctx.Err(), errUnusable, err)
		}
		if err := add(raw); err != nil {
			return err
		}
	}
	return nil
}

// toMessages goes to the first message: of the array that is the document, or that
// its member of that name is.
func toMessages(d *json.Decoder) (found bool, err error) {
	first, err := d.Token()
	if err != nil {
		return false, errors.Join(errUnusable, err)
	}
	for first == json.Delim('{') && d.More() {
		name, err := d.Token()
		if err != nil {
			return false, errors.Join(errUnusable, err)
		}
		if name == "messages" {
			array, err := d.Token()
			return array == json.Delim('['), err
		}
		var other json.RawMessage
		if err := d.Decode(&other); err != nil {
			return false, errors.Join(errUnusable, err)
		}
	}
	return first == json.Delim('['), nil
}
