package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// messageOf is what a message is for the oracle, which reads what was sent.
func messageOf(x *session.Message) said {
	m := new(session.Message)
	*m = *x
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p session.Part) bool { return p.Kind == session.PartUnsent })
	s := said{
		Line: m.Line, ID: string(m.ID), Role: m.Role.String(), Custom: string(m.CustomType),
		Words: words(string(m.AppendText(nil))), Call: string(m.CallID), Failed: m.IsError,
	}
	if m.HasUsage {
		s.Usage = [4]int64{m.Usage.Input, m.Usage.Output, m.Usage.CacheRead, m.Usage.CacheWrite}
	}
	for _, p := range m.Parts {
		if p.Kind == session.PartImage {
			s.Images++
		}
	}
	return s
}

// scanned is a scan with all its messages.
type scanned struct {
	session.Scan
	said     []said
	branches map[string]session.Branch // by id
	outside  int                       // messages that are out of context
}

func scanLog(t testing.TB, log []byte, tree *session.Tree) scanned {
	t.Helper()
	out := scanned{branches: map[string]session.Branch{}}
	end, ordinal := int64(0), -1
	var err error
	out.Scan, err = Open(".").Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{Tree: tree}, func(m *session.Message) error {
		if m.Offset < end || m.Ordinal <= ordinal || !json.Valid(log[m.Offset:m.Offset+m.Length]) {
			t.Errorf("message %d of line %d stands at %d, %d bytes: not the record", m.Ordinal, m.Line, m.Offset, m.Length)
		}
		end, ordinal = m.Offset+m.Length, m.Ordinal
		out.said = append(out.said, messageOf(m))
		out.branches[string(m.ID)] = m.Branch
		if m.OutOfContext {
			out.outside++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// agree holds a scan to the oracle.
func agree(t testing.TB, log []byte) scanned {
	t.Helper()
	o, got := newOracle(log), scanLog(t, log, nil)
	if diff := cmp.Diff(o.said, got.said); diff != "" {
		t.Errorf("messages (-oracle +scan):\n%s", diff)
	}
	if got.Records != o.records || got.Messages != len(o.said) {
		t.Errorf("%d records and %d messages, the oracle has %d and %d", got.Records, got.Messages, o.records, len(o.said))
	}
	sum, _, err := usageOf(log)
	if want := o.sum(); err != nil || want != [4]int64{sum.Input, sum.Output, sum.CacheRead, sum.CacheWrite} {
		t.Errorf("usage %+v, %v; the oracle has %v", sum, err, want)
	}
	return got
}

// Every log of Claude Code that is known, against the oracle and the number of
// messages that was counted by hand (jq).
func TestScanSamples(t *testing.T) {
	for name, records := range map[string]int{
		"claude-code/d-kimuson/1af7fc5e-8455-4414-9ccd-011d40f70b2a.jsonl":                                            29,
		"claude-code/d-kimuson/5c0375b4-57a5-4f26-b12d-d022ee4e51b7.jsonl":                                            53,
		"claude-code/d-kimuson/agent-test-hash-123.jsonl":                                                             2,
		"claude-code/d-kimuson/agent-test-hash-456.jsonl":                                                             2,
		"claude-code/d-kimuson/fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl":                                            437,
		"claude-code/jazzyalex/large.jsonl":                                                                           10,
		"claude-code/jazzyalex/schema_drift.jsonl":                                                                    3,
		"claude-code/jazzyalex/small.jsonl":                                                                           20,
		"claude-code/jazzyalex/subagent/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl":                                   2,
		"claude-code/jazzyalex/subagent/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f/subagents/agent-a0ad4f44468bdf20d.jsonl": 3,
		"real/claude-code/01-four-turns-tool.jsonl":                                                                   15,
		"real/claude-code/02-after-compact.jsonl":                                                                     19,
		"real/claude-code/03-turn-after-compact.jsonl":                                                                23,
		"real/claude-code/04-grow.jsonl":                                                                              31,
		"real/claude-code/05-error.jsonl":                                                                             33,
		"_malformed/claude-foreign-session-id.jsonl":                                                                  1,
		"_malformed/claude-phantom-parent.jsonl":                                                                      2,
		"_malformed/claude-split-message.jsonl":                                                                       4,
		"_malformed/claude-summary-only.jsonl":                                                                        0,
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			log := samples.Read(t, name)
			got := agree(t, log)
			if got.Records != records {
				t.Errorf("%d records, want %d", got.Records, records)
			}
			if got.Tree.Forked() && !strings.Contains(name, "small") {
				t.Error("something is abandoned or said twice in a log without forks")
			}
			for id, branch := range got.branches {
				if branch != session.Active {
					t.Errorf("%s is %v", id, branch)
				}
			}
		})
	}
}

// Sub-agents that speak in their caller's log are out of its context.
func TestScanSidechains(t *testing.T) {
	got := agree(t, samples.Read(t, "claude-code/d-kimuson/fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl"))
	if got.outside != 405 || got.SessionID != "fe5e1c67-53e7-4862-81ae-d0e013e3270b" {
		t.Errorf("%d messages are out of context, want 405", got.outside)
	}
	own := agree(t, samples.Read(t, "claude-code/jazzyalex/subagent/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f/subagents/agent-a0ad4f44468bdf20d.jsonl"))
	if own.outside != 0 || own.said[0].Role != "injected" {
		t.Errorf("a sub-agent's own log: %+v", own.said[0])
	}
}

// The figures of docs/dev/formats.md, "claude", and of the malformed samples'
// manifest: each call is counted once.
func TestUsageCountsEachCallOnce(t *testing.T) {
	for name, want := range map[string]int64{
		"claude-code/d-kimuson/fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl": 51_933,
		"_malformed/claude-split-message.jsonl":                            41,
	} {
		sum, calls, err := usageOf(samples.Read(t, name))
		if err != nil || sum.Output != want {
			t.Errorf("%s: %d output tokens of %d calls, %v; want %d", name, sum.Output, calls, err, want)
		}
	}
}

// usageOf adds up what all model calls of a log cost, sub-agents in it
// included, each call once: the records of one reply repeat its usage. It
// returns the number of calls.
func usageOf(log []byte) (sum session.Usage, calls int, err error) {
	var d decoder
	seen := newReplies()
	var lines session.LineScan
	_, err = lines.Run(context.Background(), bytes.NewReader(log), nil, func(r *jsonl.Record) (bool, error) {
		if err := d.decode(r.Raw); err != nil {
			return false, err
		}
		if d.record.kind == assistant && d.message.HasUsage {
			before, known := seen.cost(d.record.reply)
			if seen.grew(d.record.reply, d.message.Usage) {
				sum = plus(sum, most(before, d.message.Usage), before)
			}
			if !known {
				calls++
			}
		}
		return d.record.ours(), nil
	})
	if errors.Is(err, session.ErrUnknownFormat) {
		err = nil // whether it is a log says Scan, which knows bookkeeping alone
	}
	return sum, calls, err
}

func (r *replies) cost(id []byte) (session.Usage, bool) {
	if len(id) == 0 {
		return session.Usage{}, false
	}
	u, known := r.costs[maphash.Bytes(r.seed, id)]
	return u, known
}

// plus is sum and what a reply costs now, less what it had cost before.
func plus(sum, now, before session.Usage) session.Usage {
	return session.Usage{
		Input: sum.Input + now.Input - before.Input, Output: sum.Output + now.Output - before.Output,
		CacheRead: sum.CacheRead + now.CacheRead - before.CacheRead, CacheWrite: sum.CacheWrite + now.CacheWrite - before.CacheWrite,
	}
}

// A file of any other runtime is none of ours.
func TestScanRefusesOtherFormats(t *testing.T) {
	root := samples.Beside(t, "samples")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "claude") || filepath.Ext(path) == ".gz" || filepath.Ext(path) == ".zst" {
			return err
		}
		log, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		scan, err := Open(".").Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{}, func(*session.Message) error { return nil })
		if err == nil && scan.Messages > 0 || err != nil && !errors.Is(err, session.ErrUnknownFormat) {
			t.Errorf("%s: %d messages, %v", path, scan.Messages, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAttachedFiles: a file that a person attached is a message of its own, as it was
// sent, and none of the person's words.
func TestAttachedFiles(t *testing.T) {
	file := func(more string) string { return rec("attachment", "f1", "u1", `,"attachment":{"type":`+more) }
	for name, c := range map[string]struct{ record, want string }{
		"as it was sent":  {file(`"file","content":{"file":{"content":"# Plan"}}},"rendered":[{"content":"Called the tool"},{"content":"1\t# Plan"}]`), "injected attachment Called the tool 1 # Plan 0"},
		"an old one":      {file(`"file","content":{"type":"text","file":{"content":"# Plan"}}}`), "injected attachment # Plan 0"},
		"a directory":     {file(`"directory","content":"a.go\nb.go"}`), "injected attachment a.go b.go 0"},
		"a picture":       {file(`"file","content":{"type":"image","file":{"base64":"QUJD"}}},"rendered":null`), "injected attachment  1"},
		"without content": {file(`"file","displayPath":"a"}`), ""},
		"a note":          {file(`"date","content":"2026"},"rendered":[{"content":"Today"}]`), ""},
	} {
		log := logOf(rec("user", "u1", "", text("", "review @plan.md")), c.record, rec("assistant", "a1", "f1", text("m1", "Done.")))
		got, scan := "", scanLog(t, log, nil)
		for _, m := range scan.said {
			if m.ID == "f1" {
				got = fmt.Sprintf("%s %s %s %d", m.Role, m.Custom, m.Words, m.Images)
			}
		}
		if got != c.want || scan.Tree.Forked() || scan.Records != 2 {
			t.Errorf("%s: %q, want %q; %d records, forked %v", name, got, c.want, scan.Records, scan.Tree.Forked())
		}
	}
}

// Detection names the logs of Claude Code, and nothing else, as such.
func TestDetectOverAllSamples(t *testing.T) {
	root := samples.Beside(t, "samples")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		plain, _, err := jsonl.Decompress(f, 1<<20)
		if err != nil {
			return nil
		}
		defer plain.Close()
		head, _ := io.ReadAll(io.LimitReader(plain, session.HeadSize)) // some are cut off on purpose
		want := strings.Contains(path, "claude") && filepath.Ext(path) == ".jsonl"
		if got := session.Detect(path, head); (got == session.FormatClaude) != want {
			t.Errorf("%s is %s", path, got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func FuzzScan(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		for line := range bytes.Lines(log) {
			if !json.Valid(line) || line[0] != '{' {
				t.Skip("what is salvaged of a bad line is another test's")
			}
		}
		if len(log) == 0 {
			return
		}
		if _, err := Open(".").Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{}, func(*session.Message) error { return nil }); err != nil {
			return
		}
		agree(t, log)
	})
}

var fuzzSeeds = []string{
	`{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-10T09:00:01.000Z","message":{"role":"user","content":"hi\n<system-reminder>\nx\n</system-reminder>\nthere"}}`,
	`{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"x"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":1,"output_tokens":2}}}`,
	`{"type":"user","uuid":"u2","parentUuid":"a1","message":{"content":[{"content":[{"type":"text","text":"out"},{"type":"image","source":{"type":"base64","data":"QUJD"}}],"type":"tool_result","tool_use_id":"t1","is_error":true},"more"]},"toolUseResult":{"stdout":"out"}}`,
	`{"type":"attachment","uuid":"q1","attachment":{"type":"queued_command","prompt":[{"type":"text","text":"<bash-input>ls</bash-input>"}],"commandMode":"prompt"}}`,
	`{"type":"attachment","uuid":"f1","attachment":{"type":"file","content":{"type":"text","file":{"content":"x"}}},"rendered":[{"content":"1\tx"},{"content":[{"type":"text","text":"y"}]}]}`,
	`{"type":"attachment","uuid":"f2","attachment":{"type":"directory","content":"a\nb"},"rendered":null}`,
	`{"type":"attachment","uuid":"f3","attachment":{"type":"file","content":{"type":"image","file":{"base64":"QUJD"}}}}`,
	`{"type":"0"}`,
	`{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"a1","compactMetadata":{"trigger":"auto","preservedSegment":{"headUuid":"a1","tailUuid":"u2"}}}`,
	`{"type":"user","uuid":"u3","isMeta":true,"isCompactSummary":true,"isSidechain":true,"message":{"content":"<command-name>/x</command-name><command-args>y</command-args>"}}`,
	`{"type":"user","uuid":"u4","message":{"content":"<command-message>x</command-message>\n<command-name>x</command-name>\n<command-args>do it</command-args>"}}`,
	`{"type":"assistant","uuid":"a2","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"web_search_tool_result","content":[]},{"type":"odd","text":"o"},{"type":"document","source":{"type":"text","data":"d"}}]}}`,
}
