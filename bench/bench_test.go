package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/bench/corpus"
	"github.com/sessctl/sessctl/bench/product"
	"github.com/sessctl/sessctl/internal/tier"
)

// echo is a program that answers what it is told to.
func echo(q question, says string) program {
	return program{
		name: "echo " + says, tool: "echo", question: q, answer: trimmed,
		arguments: func(*tools, corpus.Corpus) []string { return []string{says} },
	}
}

func TestAnswersAreChecked(t *testing.T) {
	path, err := exec.LookPath("echo")
	if err != nil {
		t.Skip("no echo")
	}
	d := &driver{tools: &tools{paths: map[string]string{"echo": path}}}
	c := corpus.Corpus{Home: t.TempDir(), Logs: []corpus.Log{{Tokens: 5, Lines: 7}, {Tokens: 6, Lines: 8}}}
	for _, test := range []struct {
		programs []program
		wrong    string // who is found wrong; "" for nobody
	}{
		{[]program{echo(tokens, "11"), echo(lines, "15")}, ""},
		{[]program{echo(tokens, "12"), echo(lines, "15")}, "echo 12"},
		{[]program{echo(tokens, "11"), echo(lines, "14")}, "echo 14"},
		{[]program{echo(cut, "1 2 3 4"), echo(cut, "1 2 3 4"), echo(cut, "1 2 3")}, ""},
		{[]program{echo(cut, "1 2 3 4"), echo(cut, "1 2 3 5")}, "echo 1 2 3 5"},
		{[]program{echo(cut, "1 2 3 4"), echo(cut, "1 2 4")}, "echo 1 2 4"},
	} {
		err := d.check(test.programs, c)
		if test.wrong == "" && err != nil || test.wrong != "" && (err == nil || !strings.HasPrefix(err.Error(), test.wrong+" ")) {
			t.Errorf("%v, want %q found wrong", err, test.wrong)
		}
	}
}

// TestPeersAgree: on a small log the product and the peers that are installed
// cut the same chunks, hash and all.
func TestPeersAgree(t *testing.T) {
	tier.SkipSmoke(t, "it builds two programs and asks the peers")
	programs := &tools{dir: t.TempDir(), paths: map[string]string{}}
	if err := programs.writeScripts(); err != nil {
		t.Fatal(err)
	}
	if programs.build("extract"); len(programs.broken) > 0 {
		t.Fatal(programs.broken)
	}
	if err := programs.findPeers(); err != nil {
		t.Fatal(err)
	}
	t.Logf("not installed: %q", programs.missing)
	c, err := corpus.Make(t.TempDir(), corpus.Spec{Name: "agree", Files: 1, Bytes: 400_000})
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{tools: programs}
	all := []program{
		extract(), wc(target{}), extractPython(target{}), extractNode(target{}), extractJQ(target{}),
		sizesPython(target{}), sizesNode(target{}), sizesJQ(target{}),
	}
	if err := d.check(d.present(all), c); err != nil {
		t.Error(err)
	}
}

// TestStagesAreOfTheProgram: a function that was renamed would silently count for no
// stage. The names of functions stand in the program, each between two zeros.
func TestStagesAreOfTheProgram(t *testing.T) {
	tier.SkipSmoke(t, "it builds the program")
	path, err := product.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range compactStages() {
		for _, name := range slices.Concat(s.of, s.without) {
			if !bytes.Contains(program, []byte("\x00"+product.Module+"/"+name+"\x00")) {
				t.Errorf("stage %q: the program has no function %s", s.name, name)
			}
		}
	}
}

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer func([]byte) (string, error)
		out    string
		want   string
		fails  bool
	}{
		{"wc of one", lastTotal, "15 a.jsonl\n", "15", false},
		{"wc of two", lastTotal, " 7 a\n 8 b\n 15 total\n", "15", false},
		{"wc of none", lastTotal, "", "", true},
		{"find", sum, "3\n4\n", "7", false},
		{"find with more", sum, "3 x\n", "", true},
		{"sizes", sizesTokens, `{"sessions":[{"tokens":3,"token_source":"usage"},{"tokens":4,"token_source":"usage"}]}`, "7", false},
		{"sizes, estimated", sizesTokens, `{"sessions":[{"tokens":3,"token_source":"estimate"}]}`, "", true},
		{"sizes, not JSON", sizesTokens, "x", "", true},
	} {
		got, err := test.answer([]byte(test.out))
		if (err != nil) != test.fails || got != test.want {
			t.Errorf("%s: %q, %v; want %q", test.name, got, err, test.want)
		}
	}
}

func TestTargetsAreJudged(t *testing.T) {
	timed := func(ms int, goal target) timing {
		return timing{program: program{name: "p", target: goal}, median: time.Duration(ms) * time.Millisecond}
	}
	small := result{operation: operation{name: "small", corpus: "s"}, timings: []timing{timed(10, target{})}}
	grown := result{operation: operation{name: "large", growth: "small", peak: 10 << 20}, timings: []timing{timed(60, target{})}}
	grown.timings[0].peak = 11 << 20
	var r report
	r.add(small)
	var got []string
	for _, row := range append(r.rows(grown),
		r.compare("o", timed(50, target{}), timed(100, target{most: 0.5}), 1),
		r.compare("o", timed(51, target{}), timed(100, target{most: 0.5}), 1),
		r.compare("o", timed(10, target{}), timed(60, target{least: 6}), 1),
		r.compare("o", timed(10, target{}), timed(59, target{least: 6}), 1),
		r.compare("o", timed(10, target{}), timed(30, target{}), 1),
		r.compare("o", timed(10, target{}), timed(4, target{}), 1),
	) {
		got = append(got, strings.TrimSpace(row.ratio+" "+row.target+" "+row.verdict))
	}
	want := []string{
		"peak <= 10 MB FAIL", "6.00x <= 5.5x MISS",
		"0.50 of it <= 0.50 pass", "0.51 of it <= 0.50 MISS",
		"6.00x faster >= 6.0x pass", "5.90x faster >= 6.0x MISS",
		"3.00x faster", "2.50 of it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(r.misses) != 4 || len(r.failures) != 1 {
		t.Errorf("missed %q, want four; failed %q, want one", r.misses, r.failures)
	}
}

// A missed target that the machine may be the reason of is no error; one that is
// far from met is, and so is a run that has measured nothing or got a wrong answer.
func TestRunFails(t *testing.T) {
	timed := func(ms int, peak int64, goal target) timing {
		return timing{program: program{name: "p", target: goal}, median: time.Duration(ms) * time.Millisecond, peak: peak}
	}
	peer := func(ms int) result {
		return result{operation: operation{name: "o"}, timings: []timing{timed(10, 0, target{}), timed(ms, 0, target{least: 6})}}
	}
	limit := result{operation: operation{name: "o"}, timings: []timing{timed(100, 0, target{}), timed(1, 0, target{most: 3})}}
	peak := func(bytes int64) result {
		return result{operation: operation{name: "o", peak: 16 << 20}, start: 20 << 20, timings: []timing{timed(10, bytes, target{})}}
	}
	allocs := result{operation: operation{name: "o", allocs: 1}, timings: []timing{{allocs: 2}}}
	for name, c := range map[string]struct {
		results []result
		fails   string // part of the error; "" for none
	}{
		"nothing":                    {nil, "nothing was measured"},
		"all left out":               {[]result{{operation: operation{name: "o"}, leftOut: "not built"}}, "nothing was measured"},
		"one left out":               {[]result{peer(60), {operation: operation{name: "o"}, leftOut: "rclone is not installed"}}, ""},
		"wrong answer":               {[]result{peer(60), {operation: operation{name: "o"}, failed: errors.New("answers 5")}}, "answers 5"},
		"slower than the target":     {[]result{peer(31)}, ""},
		"much slower than a peer":    {[]result{peer(29)}, "2.90x faster"},
		"limits depend on a machine": {[]result{limit}, ""},
		"peak beside the start":      {[]result{peak(36 << 20)}, ""},
		"peak above it":              {[]result{peak(37 << 20)}, "peak 37 MB"},
		"allocations":                {[]result{allocs}, "2.0 allocations"},
	} {
		r := report{tools: &tools{}, results: c.results}
		r.table()
		if err := r.broken(); (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v, want %q", name, err, c.fails)
		}
	}
}
