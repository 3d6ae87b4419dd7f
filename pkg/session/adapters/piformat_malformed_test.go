package adapters_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// outcome is what a damaged log must lead to, as the samples' manifest says.
type outcome struct {
	Texts    string // of the messages, as they go to memory, "|" between them; abandoned ones in parentheses
	Bad      int    // lines
	Salvaged int
	Torn     bool
	Version  int
	Headers  int
	Repeated int
	Unknown  map[string]int
}

const (
	fourTexts  = "naïve café ☕ question one|answer one 😀|question two|answer two"
	threeTexts = "naïve café ☕ question one|answer one 😀|answer two"
)

// piformatFour returns the outcome of the control log, changed.
func piformatFour(change func(*outcome)) outcome {
	o := outcome{Texts: fourTexts, Version: 3, Headers: 1}
	if change != nil {
		change(&o)
	}
	return o
}

func malformedOutcomes() map[string]outcome {
	plain := piformatFour(nil)
	say := func(texts string) outcome { return outcome{Texts: texts, Version: 3, Headers: 1} }
	return map[string]outcome{
		"ok.jsonl": plain, "ok.jsonl.gz": plain, "ok.jsonl.zst": plain, "gz-named-jsonl.jsonl": plain, "jsonl-named-gz.jsonl.gz": plain,
		"no-trailing-newline.jsonl": plain, "crlf.jsonl": plain, "mixed-eol.jsonl": plain, "bom.jsonl": plain,
		"nul-tail.jsonl": plain, "nul-hole.jsonl": plain, "wrong-header-id.jsonl": plain,
		"big-int.jsonl": plain, "dup-keys.jsonl": plain, "case-collide.jsonl": plain, "header-not-first.jsonl": plain, "future-ts.jsonl": plain,
		"out-of-order-ts.jsonl": say("naïve café ☕ question one|answer two|answer one 😀|question two"),
		"future-version.jsonl":  piformatFour(func(o *outcome) { o.Version = 7 }),
		"partial-last-line.jsonl": piformatFour(func(o *outcome) {
			o.Texts, o.Torn = strings.TrimSuffix(fourTexts, "|answer two"), true
		}),
		"partial-last-line-midrune.jsonl": {Torn: true, Version: 3, Headers: 1},
		"glued-fragment.jsonl":            piformatFour(func(o *outcome) { o.Bad, o.Salvaged = 1, 1 }),
		"two-records-one-line.jsonl":      piformatFour(func(o *outcome) { o.Salvaged = 2 }),
		"raw-newline-in-string.jsonl":     piformatFour(func(o *outcome) { o.Texts, o.Bad = threeTexts, 2 }),
		"nan-infinity.jsonl":              piformatFour(func(o *outcome) { o.Texts, o.Bad = "naïve café ☕ question one|question two|answer two", 1 }),
		"nul-in-text.jsonl":               piformatFour(func(o *outcome) { o.Texts = strings.Replace(fourTexts, "question two", "question\x00two", 1) }),
		"lone-surrogate.jsonl":            piformatFour(func(o *outcome) { o.Texts = strings.Replace(fourTexts, "answer two", "cut emoji \uFFFD", 1) }),
		"surrogate-pair-escaped.jsonl":    piformatFour(func(o *outcome) { o.Texts = strings.Replace(fourTexts, "answer two", "emoji \U0001F600 ok", 1) }),
		"invalid-utf8.jsonl":              piformatFour(func(o *outcome) { o.Texts = strings.Replace(fourTexts, "answer two", "latin1 \uFFFD\uFFFD end", 1) }),
		"control-chars.jsonl": piformatFour(func(o *outcome) {
			o.Texts = strings.Replace(fourTexts, "answer two", "\x1b[31mred\x1b[0m \a \u202eevil\u202c \u2028 end", 1)
		}),
		"empty.jsonl":         {},
		"only-newlines.jsonl": {},
		"only-header.jsonl":   {Version: 3, Headers: 1},
		"headerless.jsonl":    {Texts: "question two|answer two"},
		"two-headers.jsonl":   {Texts: fourTexts + "|" + fourTexts, Version: 3, Headers: 2},
		"unknown-types.jsonl": piformatFour(func(o *outcome) {
			o.Bad, o.Unknown = 5, map[string]int{"hologram": 1, "": 1}
		}),
		"dup-ids.jsonl":             piformatFour(func(o *outcome) { o.Texts, o.Repeated = fourTexts+"|different body, same id", 1 }),
		"parent-cycle.jsonl":        say("a|b"),
		"self-parent.jsonl":         say("a"),
		"dangling-parent.jsonl":     say("naïve café ☕ question one|orphan|answer two"),
		"two-leaves.jsonl":          say("naïve café ☕ question one|(answer one 😀)|(question two)|(answer two)|other branch|other answer"),
		"interleaved-writers.jsonl": say("w1 a|w2 a|w1 b|w2 b"),
		"mixed-timestamps.jsonl":    say("ts form 0|ts form 1|ts form 2|ts form 3|ts form 4|ts form 5|ts form 6|ts form 7|ts form 8|ts form 9|ts form 10|ts form 11|ts form 12"),
		"content-shapes.jsonl":      say("(plain string)|()|()|()|()|(bare string in array)|(object not array)|()|"),
		"toolcall-shapes.jsonl": say(`([tool call] exec {"command":"ls"})|([tool call] exec "{\"command\":\"ls\"}")|([tool call] exec "{\"command\":")` +
			`|([tool call] exec)|([tool call] exec)|[tool call] exec {"__proto__":1}`),
		"unanswered-toolcall.jsonl": say(`naïve café ☕ question one|[tool call] exec {"command":"sleep 9"}`),
		"orphan-toolresult.jsonl":   say("out"),
		"deep-nesting.jsonl":        {Texts: "naïve café ☕ question one", Bad: 1, Version: 3, Headers: 1},
		"nested-header-bait.jsonl":  say("{\"type\":\"session_meta\",\"payload\":{\"id\":\"x\"}}\n{\"type\":\"header\",\"chatId\":\"1\"}"),
		"huge-line-12mib.jsonl.gz":  say("before the image\nafter the image|answer one 😀"),
		"truncated.jsonl.gz":        {Texts: strings.TrimSuffix(fourTexts, "|answer two"), Torn: true, Version: 3, Headers: 1},
		"truncated.jsonl.zst":       {},
	}
}

// refused are the files that are no session of this format, and must not look
// like an empty one.
var refused = []string{
	"utf16le.jsonl", "pretty-printed.jsonl", "trailing-comma-array.json", "not-a-session.jsonl", "html-in-jsonl.jsonl",
	"claude-split-message.jsonl", "claude-summary-only.jsonl", "claude-phantom-parent.jsonl", "claude-foreign-session-id.jsonl",
	"codex-fork-copy.jsonl", "annabelle-fractional.jsonl", "gemini-rewind-unknown.jsonl", "mac-stats-heading-in-body.md", "mac-stats-truncated.md",
}

func TestPiformatScanMalformed(t *testing.T) {
	for name, want := range malformedOutcomes() {
		t.Run(name, func(t *testing.T) {
			log := readSample(t, "_malformed/"+name)
			all, scan := scanTwice(t, log)
			var texts []string
			for _, m := range all {
				text := m.Text
				if m.Branch == session.Abandoned.String() {
					text = "(" + text + ")"
				}
				texts = append(texts, text)
			}
			got := outcome{
				Texts: strings.Join(texts, "|"), Bad: scan.Counts.Bad, Salvaged: scan.Counts.Salvaged, Torn: scan.Counts.Torn,
				Version: scan.Version, Headers: scan.Headers, Repeated: scan.Repeated, Unknown: scan.Unknown,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got): %s", diff)
			}
			tail, err := piformatTailOf(log, time.Time{})
			if err != nil || tail.Torn != want.Torn {
				t.Errorf("Tail says torn %v, %v", tail.Torn, err)
			}
		})
	}
}

func TestPiformatScanRefuses(t *testing.T) {
	for _, name := range refused {
		t.Run(name, func(t *testing.T) {
			log := readSample(t, "_malformed/"+name)
			_, scan, err := scanAll(log, session.ScanOptions{})
			if !errors.Is(err, session.ErrUnknownFormat) {
				t.Errorf("Scan returns %v and %d messages", err, scan.Messages)
			}
			if _, err := piformatTailOf(log, time.Time{}); !errors.Is(err, session.ErrUnknownFormat) {
				t.Errorf("Tail returns %v", err)
			}
		})
	}
}

// Every file of the manifest that a pi log could be has its line in a table.
func TestPiformatMalformedIsComplete(t *testing.T) {
	var manifest []struct{ File string }
	text, err := os.ReadFile(samples.Beside(t, "samples/_malformed/MANIFEST.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{"bomb-256mib.jsonl.gz": true} // jsonl refuses to decompress it
	for name := range malformedOutcomes() {
		tested[name] = true
	}
	for _, name := range refused {
		tested[name] = true
	}
	for _, entry := range manifest {
		if !tested[entry.File] && !strings.HasPrefix(entry.File, "sessions-json/") {
			t.Errorf("%s is not tested", entry.File)
		}
	}
}

// The samples carry every form of time in the entry; the message's own time
// wins, and without it the entry's counts.
func TestPiformatScanMixedTimestamps(t *testing.T) {
	log := readSample(t, "_malformed/mixed-timestamps.jsonl")
	all, _ := scanTwice(t, log)
	for i, m := range all {
		if want := int64(1768035601000 + 1000*i); m.Time != want || m.Inferred {
			t.Errorf("message %d is of %d (inferred %v), want %d", i, m.Time, m.Inferred, want)
		}
	}
	const base = 1768035600000
	want := []piformatSaid{
		{Time: base + 1000}, {Time: base + 2000}, {Time: base + 3000}, {Time: base + 4000}, {Time: base + 5250}, {Time: base + 6000},
		{Time: base + 7000, Inferred: true}, {Time: base + 8123},
		{Time: base + 8123, Inferred: true}, {Time: base + 8123, Inferred: true}, {Time: base + 8123, Inferred: true},
		{Time: base + 8123, Inferred: true}, {Time: base + 8123, Inferred: true},
	}
	all, _ = scanTwice(t, bytes.ReplaceAll(log, []byte(`}],"timestamp":17`), []byte(`}],"ignored":17`)))
	var got []piformatSaid
	for _, m := range all {
		got = append(got, piformatSaid{Time: m.Time, Inferred: m.Inferred})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
}

// A damaged line never costs its neighbours, and what is counted is what is
// read.
func TestPiformatCountMessagesMalformed(t *testing.T) {
	for name := range malformedOutcomes() {
		log := readSample(t, "_malformed/"+name)
		all, _, err := scanAll(log, session.ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := piformat.CountMessages(context.Background(), bytes.NewReader(log)); err != nil || n != len(all) {
			t.Errorf("%s: %d messages counted, %d read (%v)", name, n, len(all), err)
		}
	}
}
