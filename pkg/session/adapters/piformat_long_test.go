package adapters_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// longLog returns a linear log of at least size bytes: turns of a question, a
// call, its result and an answer, in records of about 2.4 KB on average as in
// real logs.
func longLog(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"type":"session","version":3,"id":"5e55ec11-0000-4000-8000-0000000000ff","timestamp":"2026-03-02T08:00:00Z","cwd":"/x"}` + "\n")
	output := strings.Repeat(`drwxr-xr-x 2 ada ada 4096 Mar  2 08:00 \"harbour\"\n`, 120)
	parent, n := "null", 0
	add := func(message string) {
		n++
		fmt.Fprintf(&b, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-03-02T08:00:01.000Z","message":%s}`+"\n", n, parent, message)
		parent = fmt.Sprintf(`"%08x"`, n)
	}
	for turn := 0; b.Len() < size; turn++ {
		usage := fmt.Sprintf(`"api":"a","provider":"p","model":"m","usage":{"input":%d,"output":9,"cacheRead":0,"cacheWrite":0,"totalTokens":%d,"cost":{"total":0.1}}`, turn, turn+9)
		add(fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"What about ship %d?"}],"timestamp":1772438401000}`, turn))
		add(`{"role":"assistant","content":[{"type":"thinking","thinking":"List it.","thinkingSignature":"` + strings.Repeat("c2ln", 300) +
			`"},{"type":"toolCall","id":"c","name":"exec","arguments":{"command":"ls -l"}}],` + usage + `,"stopReason":"toolUse","timestamp":1772438402000}`)
		add(`{"role":"toolResult","toolCallId":"c","toolName":"exec","content":[{"type":"text","text":"` + output + `"}],"isError":false,"timestamp":1772438403000}`)
		add(`{"role":"assistant","content":[{"type":"text","text":"It is in the harbour.\n\nSince \"Tuesday\"."}],` + usage + `,"stopReason":"stop","timestamp":1772438404000}`)
	}
	return b.Bytes()
}

// Memory must not follow the size of the log: no allocation per message.
func TestPiformatScanAllocations(t *testing.T) {
	log := longLog(10 << 20)
	var text, clean []byte
	allocations := testing.AllocsPerRun(2, func() {
		_, err := piformat.Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
			if m.Embeddable() {
				text = m.AppendText(text[:0])
				clean, _ = session.Clean(append(clean[:0], text...))
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	if perMB := allocations / float64(len(log)>>20); perMB > 10 {
		t.Errorf("%.1f allocations per MB", perMB)
	}
}

func TestPiformatScanSecondPassAllocations(t *testing.T) {
	log := longLog(10 << 20)
	log = append(log, `{"type":"message","id":"ffffffff","parentId":"00000004","message":{"role":"user","content":"Go back."}}`+"\n"...)
	_, scan, err := scanAll(log, session.ScanOptions{})
	if err != nil || !scan.Tree.Forked() {
		t.Fatal(err, "forked:", scan.Tree.Forked())
	}
	allocations := testing.AllocsPerRun(1, func() {
		second, err := piformat.Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{Tree: scan.Tree}, func(*session.Message) error { return nil })
		if err != nil || second.Messages != scan.Messages {
			t.Error(err, second.Messages, scan.Messages)
		}
	})
	if perMB := allocations / float64(len(log)>>20); perMB > 10 {
		t.Errorf("%.1f allocations per MB", perMB)
	}
}
