package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
)

// tally is what was decoded.
type tally struct {
	messages int
	tokens   int64
	bytes    int
	crc      uint32
}

func (t *tally) text(b []byte) {
	t.bytes += len(b)
	t.crc = crc32.Update(t.crc, crc32.IEEETable, b)
}

func (t *tally) String() string { return fmt.Sprint(t.messages, t.tokens, t.bytes, t.crc) }

// entry is a record as a program with encoding/json would declare it.
type entry struct {
	Type    string `json:"type"`
	Message struct {
		Role    string `json:"role"`
		Content []struct {
			Type      string          `json:"type"`
			Text      string          `json:"text"`
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"content"`
		Usage struct {
			TotalTokens int64 `json:"totalTokens"`
		} `json:"usage"`
	} `json:"message"`
}

// decodeStandard reads every message with encoding/json.
func decodeStandard(log []byte) (string, error) {
	var t tally
	for line := range bytes.Lines(log) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return "", err
		}
		if e.Type != "message" {
			continue
		}
		t.messages++
		t.tokens += e.Message.Usage.TotalTokens
		for _, block := range e.Message.Content {
			switch block.Type {
			case "text":
				t.text([]byte(block.Text))
			case "toolCall":
				t.text([]byte(block.Name))
				t.text(block.Arguments)
			}
		}
	}
	return t.String(), nil
}
