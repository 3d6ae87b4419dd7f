package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/bench/corpus"
	"github.com/sessctl/sessctl/internal/tier"
)

func TestLoopsTellTheirCost(t *testing.T) {
	s, err := sample{cpu: time.Hour, out: []byte("1 2 3\ncpu 1500 allocs 40 bytes 20000000\n")}.ofLoop()
	if err != nil || s.cpu != 1500*time.Nanosecond || s.allocs != 2 || string(s.out) != "1 2 3" {
		t.Errorf("%+v (%s), %v", s, s.out, err)
	}
	for _, out := range []string{"", "1 2 3", "1 2 3\n", "1\ncpu x allocs 1 bytes 2", "1\ncpu 1 allocs 1 bytes 0"} {
		if _, err := (sample{out: []byte(out)}).ofLoop(); err == nil {
			t.Errorf("%q is taken for a cost", out)
		}
	}
}

func TestMoreAnswers(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer func([]byte) (string, error)
		out    string
		want   string
		fails  bool
	}{
		{"types", typeShares, `{"types":[{"type":"message user","records":2,"bytes":9},{"type":"session","records":1,"bytes":3}]}`, "message/user=2,session=1 message/user=9,session=3", false},
		{"types, not JSON", typeShares, "x", "", true},
		{"archived", archivedBytes, `{"archives":[{"outcome":"archived","bytes":3},{"outcome":"archived","bytes":4}]}`, "7", false},
		{"archived, busy", archivedBytes, `{"archives":[{"outcome":"busy","bytes":3}]}`, "", true},
		{"cleaned", cleanedBytes, `{"sessions":[{"outcome":"trash","bytes":3},{"outcome":"kept","bytes":4}]}`, "7", false},
		{"cleaned, not JSON", cleanedBytes, "", "", true},
		{"hits", hitIDs, `{"hits":[{"id":"a"},{"id":"b"}]}`, "a b", false},
		{"hits, not JSON", hitIDs, "", "", true},
		{"sessions", sizesSessions, `{"sessions":[{"agent":"a"},{"agent":"b"}]}`, "2", false},
		{"sessions, not JSON", sizesSessions, "", "", true},
	} {
		got, err := test.answer([]byte(test.out))
		if (err != nil) != test.fails || got != test.want {
			t.Errorf("%s: %q, %v; want %q", test.name, got, err, test.want)
		}
	}
}

// TestStages: what a profile says is shared out, what is in no stage is the
// rest, and nothing is counted twice.
func TestStages(t *testing.T) {
	const listing = `File: sessctl
Type: cpu
Duration: 2s, Total samples = 1.50s (75%)
Showing nodes accounting for 1500ms, 100% of 1500ms total
      flat  flat%   sum%        cum   cum%
         0     0%     0%     1200ms 80.00%  github.com/sessctl/sessctl/pkg/compact.(*run).remember
      10ms  0.67%  0.67%      900ms 60.00%  github.com/sessctl/sessctl/pkg/memory.(*writer).put (inline)
         0     0%  0.67%   612.50ms 40.83%  modernc.org/sqlite/lib._fts5UpdateMethod
`
	got, err := staged([]stage{
		{name: "outer", of: []string{"pkg/compact.(*run).remember"}, without: []string{"pkg/memory.(*writer).put"}},
		{name: "words", of: []string{"modernc.org/sqlite/lib._fts5UpdateMethod"}},
		{name: "inner", of: []string{"pkg/memory.(*writer).put"}, without: []string{"modernc.org/sqlite/lib._fts5UpdateMethod"}},
		{name: "none", of: []string{"pkg/compact.NewPlan"}},
	}, []byte(listing))
	if err != nil {
		t.Fatal(err)
	}
	var costs []time.Duration
	for _, s := range got {
		costs = append(costs, s.cpu/time.Microsecond)
	}
	if diff := cmp.Diff([]time.Duration{300_000, 612_500, 287_500, 0, 300_000}, costs); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "Total samples = x", "Duration: 2s, Total samples = 1s (75%)\n 0 0% 0% 12parsecs 80.00% f\n"} {
		if _, err := staged(nil, []byte(bad)); err == nil {
			t.Errorf("%q is taken for a profile", bad)
		}
	}
}

// TestTypesPeersAgree: the product and the peers that are installed name and
// count the same types.
func TestTypesPeersAgree(t *testing.T) {
	tier.SkipSmoke(t, "it builds two programs and asks the peers")
	programs := &tools{dir: t.TempDir(), paths: map[string]string{}}
	if err := programs.writeScripts(); err != nil {
		t.Fatal(err)
	}
	programs.buildProduct()
	if programs.build("kernel"); len(programs.broken) > 0 {
		t.Fatal(programs.broken)
	}
	if err := programs.findPeers(); err != nil {
		t.Fatal(err)
	}
	c, err := corpus.Make(t.TempDir(), corpus.Spec{Name: "agree", Files: 3, Bytes: 600_000})
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{tools: programs}
	for _, all := range [][]program{
		{byType(), typesPeer("python3", "kinds.py", target{}), typesPeer("node", "types.mjs", target{}), typesPeer("jq", "types.jq", target{})},
		{sessctlSizes(), sizesAgain(), sizesPython(target{})},
		{loopOf("product", "decode", target{}), loopOf("standard", "decode-std", target{})},
		{loopOf("product", "cut", target{}), loopOf("runes", "cut-runes", target{})},
	} {
		one := c
		if all[0].tool == "kernel" {
			one.Logs = c.Logs[:1]
		}
		if err := d.check(d.present(all), one); err != nil {
			t.Error(err)
		}
	}
}

// What a memory takes is told beside its log, and beside a full-text index alone.
func TestRoomIsTold(t *testing.T) {
	rows := roomRows(result{operation: operation{name: "o"}, bytes: 200, room: &room{memory: 150, fullText: 100}})
	if len(rows) != 2 || rows[0].ratio != "0.75 of the log" || rows[1].ratio != "0.50 of the log" {
		t.Errorf("%+v", rows)
	}
	dir := t.TempDir()
	texts := "{\"text\":\"the port\"}\n"
	if err := os.WriteFile(filepath.Join(dir, "memories.jsonl"), []byte(texts), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := bytesBelow(dir); err != nil || n != int64(len(texts)) {
		t.Errorf("%d bytes, %v", n, err)
	}
}
