package summarize_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// BenchmarkExtractive adds the messages of the sample session, read before.
// Bytes are those of the log.
func BenchmarkExtractive(b *testing.B) {
	path := sample(b, coordinator)
	var messages []*session.Message
	scanFile(b, path, nil, func(m *session.Message) error {
		messages = append(messages, cloned(m))
		return nil
	})
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		e := summarize.NewExtractive(summarize.Options{})
		for _, m := range messages {
			if err := e.Add(m); err != nil {
				b.Fatal(err)
			}
		}
		if e.Summary().Text == "" {
			b.Fatal("no summary")
		}
	}
}

func cloned(m *session.Message) *session.Message {
	c := *m
	c.Parts = nil
	for _, p := range m.Parts {
		p.Text, p.Name, p.CallID = bytes.Clone(p.Text), bytes.Clone(p.Name), bytes.Clone(p.CallID)
		c.Parts = append(c.Parts, p)
	}
	c.CallID, c.ToolName, c.ErrorText = bytes.Clone(m.CallID), bytes.Clone(m.ToolName), bytes.Clone(m.ErrorText)
	c.CustomType, c.StopReason = bytes.Clone(m.CustomType), bytes.Clone(m.StopReason)
	return &c
}
