package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
)

// outcome is what MANIFEST.json says of a file, as far as lines and records
// can tell.
type outcome struct {
	Records, Bad, Salvaged, Blank int
	Torn                          bool
	TornBytes, NULBytes           int64
	Err                           error
}

// malformed has every file of the set that is a log.
var malformed = map[string]outcome{
	"ok.jsonl":                        {Records: 5},
	"no-trailing-newline.jsonl":       {Records: 5},
	"partial-last-line.jsonl":         {Records: 4, Torn: true, TornBytes: 70},
	"partial-last-line-midrune.jsonl": {Records: 1, Torn: true, TornBytes: 159},
	"glued-fragment.jsonl":            {Records: 5, Bad: 1, Salvaged: 1},
	"two-records-one-line.jsonl":      {Records: 5, Salvaged: 2},
	"crlf.jsonl":                      {Records: 5},
	"mixed-eol.jsonl":                 {Records: 5, Blank: 2},
	"bom.jsonl":                       {Records: 5},
	"utf16le.jsonl":                   {Err: ErrUTF16},
	"nul-tail.jsonl":                  {Records: 5, Blank: 1, NULBytes: 4096},
	"nul-hole.jsonl":                  {Records: 5, NULBytes: 512},
	"nul-in-text.jsonl":               {Records: 5},
	"lone-surrogate.jsonl":            {Records: 5},
	"surrogate-pair-escaped.jsonl":    {Records: 5},
	"invalid-utf8.jsonl":              {Records: 5},
	"control-chars.jsonl":             {Records: 5},
	"raw-newline-in-string.jsonl":     {Records: 4, Bad: 2},
	"pretty-printed.jsonl":            {Bad: 107}, // every line: nothing of it is taken for a record
	"trailing-comma-array.json":       {Bad: 7},
	"nan-infinity.jsonl":              {Records: 4, Bad: 1},
	"dup-keys.jsonl":                  {Records: 5},
	"case-collide.jsonl":              {Records: 5},
	"empty.jsonl":                     {},
	"only-newlines.jsonl":             {Blank: 3},
	"only-header.jsonl":               {Records: 1},
	"headerless.jsonl":                {Records: 2},
	"header-not-first.jsonl":          {Records: 5},
	"two-headers.jsonl":               {Records: 10},
	"wrong-header-id.jsonl":           {Records: 5},
	"future-version.jsonl":            {Records: 5},
	"unknown-types.jsonl":             {Records: 7, Bad: 5},
	"dup-ids.jsonl":                   {Records: 7},
	"parent-cycle.jsonl":              {Records: 3},
	"self-parent.jsonl":               {Records: 2},
	"dangling-parent.jsonl":           {Records: 4},
	"two-leaves.jsonl":                {Records: 7},
	"out-of-order-ts.jsonl":           {Records: 5},
	"mixed-timestamps.jsonl":          {Records: 14},
	"future-ts.jsonl":                 {Records: 5},
	"content-shapes.jsonl":            {Records: 10},
	"toolcall-shapes.jsonl":           {Records: 7},
	"unanswered-toolcall.jsonl":       {Records: 3},
	"orphan-toolresult.jsonl":         {Records: 2},
	"deep-nesting.jsonl":              {Records: 2, Bad: 1},
	"nested-header-bait.jsonl":        {Records: 2},
	"big-int.jsonl":                   {Records: 5},
	"not-a-session.jsonl":             {Records: 3},
	"interleaved-writers.jsonl":       {Records: 5},
	"html-in-jsonl.jsonl":             {Bad: 1},
	"huge-line-12mib.jsonl.gz":        {Records: 3},
	"ok.jsonl.gz":                     {Records: 5},
	"gz-named-jsonl.jsonl":            {Records: 5},
	"truncated.jsonl.gz":              {Records: 4, Torn: true, TornBytes: 53, Err: io.ErrUnexpectedEOF},
	"jsonl-named-gz.jsonl.gz":         {Records: 5},
	"ok.jsonl.zst":                    {Records: 5},
	"truncated.jsonl.zst":             {Err: io.ErrUnexpectedEOF},
	"bomb-256mib.jsonl.gz":            {Blank: 1, NULBytes: 133791744, Err: errTooLarge},
	"claude-split-message.jsonl":      {Records: 4},
	"claude-summary-only.jsonl":       {Records: 1},
	"claude-phantom-parent.jsonl":     {Records: 2},
	"claude-foreign-session-id.jsonl": {Records: 1},
	"codex-fork-copy.jsonl":           {Records: 3},
	"annabelle-fractional.jsonl":      {Records: 3},
	"gemini-rewind-unknown.jsonl":     {Records: 4},
	"mac-stats-heading-in-body.md":    {Bad: 6, Blank: 6},
	"mac-stats-truncated.md":          {Bad: 1, Blank: 1, Torn: true, TornBytes: 4},
}

func TestMalformedFilesGiveTheCountsOfTheirManifest(t *testing.T) {
	var manifest []struct{ File string }
	if err := json.Unmarshal(samples.Read(t, "_malformed/MANIFEST.json"), &manifest); err != nil {
		t.Fatal(err)
	}
	for _, m := range manifest {
		if strings.HasPrefix(m.File, "sessions-json/") {
			continue // indexes, not logs
		}
		t.Run(m.File, func(t *testing.T) {
			want, known := malformed[m.File]
			if !known {
				t.Fatal("no outcome is written down for this file")
			}
			_, counts, err := scanBytes(t, samples.Read(t, "_malformed/"+m.File), Options{})
			if !errors.Is(err, want.Err) {
				t.Fatalf("error %v, want %v", err, want.Err)
			}
			want.Err = nil
			got := outcome{
				Records: counts.Records, Bad: counts.Bad, Salvaged: counts.Salvaged, Blank: counts.Blank,
				Torn: counts.Torn, TornBytes: counts.TornBytes, NULBytes: counts.NULBytes,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff, counts.FirstBad)
			}
			if len(counts.FirstBad) != min(counts.Bad, 10) {
				t.Errorf("%d bad lines are described of %d", len(counts.FirstBad), counts.Bad)
			}
		})
	}
}

func TestMalformedFilesKeepTheirText(t *testing.T) {
	for _, test := range []struct {
		file string
		want []string
	}{
		{"ok.jsonl", []string{"naïve café ☕ question one", "answer one 😀", "question two", "answer two"}},
		{"glued-fragment.jsonl", []string{"naïve café ☕ question one", "answer one 😀", "question two", "answer two"}},
		{"two-records-one-line.jsonl", []string{"naïve café ☕ question one", "answer one 😀", "question two", "answer two"}},
		{"nul-in-text.jsonl", []string{"naïve café ☕ question one", "answer one 😀", "question\x00two", "answer two"}},
		{"lone-surrogate.jsonl", []string{"naïve café ☕ question one", "answer one 😀", "question two", "cut emoji \ufffd"}},
		{"surrogate-pair-escaped.jsonl", []string{"naïve café ☕ question one", "answer one 😀", "question two", "emoji 😀 ok"}},
		{"invalid-utf8.jsonl", []string{"naïve café ☕ question one", "answer one 😀", "question two", "latin1 \ufffd\ufffd end"}},
		{"huge-line-12mib.jsonl.gz", []string{"before the image", "after the image", "answer one 😀"}},
	} {
		t.Run(test.file, func(t *testing.T) {
			d, _, err := scanBytes(t, samples.Read(t, "_malformed/"+test.file), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, d.texts()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMalformedFilesOddFields(t *testing.T) {
	d, _, _ := scanBytes(t, samples.Read(t, "_malformed/dup-keys.jsonl"), Options{})
	if d.entries[1].Type != "message" {
		t.Errorf("of duplicate keys %q wins, not the last", d.entries[1].Type)
	}
	d, _, _ = scanBytes(t, samples.Read(t, "_malformed/case-collide.jsonl"), Options{})
	if got := d.entries[2].StopReason; got != "stop" {
		t.Errorf("stopReason is %q: keys were compared without their case", got)
	}
	_, counts, _ := scanBytes(t, samples.Read(t, "_malformed/huge-line-12mib.jsonl.gz"), Options{})
	if counts.CutLines != 1 || counts.CutBytes != 4*3145728-defaultMaxString {
		t.Errorf("%d lines and %d bytes were cut", counts.CutLines, counts.CutBytes)
	}
}

func TestMalformedBigIntegersAreExact(t *testing.T) {
	data := samples.Read(t, "_malformed/big-int.jsonl")
	found := false
	_, err := Scan(context.Background(), bytes.NewReader(data), Options{}, func(r *Record) error {
		var c Cursor
		for c.Reset(r.Raw); c.EnterObject(); {
			for c.NextKey() {
				for ok := string(c.Key()) == "message" && c.EnterObject(); ok && c.NextKey(); {
					switch string(c.Key()) {
					case "chatId":
						n, ok := c.Int64()
						found = ok && n == 1475112233445566778
					case "big":
						if n, ok := c.Int64(); ok {
							t.Errorf("an integer of 30 digits became %d", n)
						}
					}
				}
			}
		}
		return c.End()
	})
	if err != nil || !found {
		t.Errorf("chatId was not read exactly: %v", err)
	}
}

func TestMalformedIndexes(t *testing.T) {
	for file, whole := range map[string]bool{
		"zero-bytes.json": false, "truncated.json": false, "jsonc.json": false, "bom.json": false,
		"array.json": true, "odd-entries.json": true, "token-shapes.json": true, "dup-key.json": true,
	} {
		var c Cursor
		c.Reset(samples.Read(t, "_malformed/sessions-json/"+file))
		if err := c.End(); (err == nil) != whole || err != nil && !errors.Is(err, ErrSyntax) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestMalformedTokenShapes(t *testing.T) {
	var c Cursor
	c.Reset(samples.Read(t, "_malformed/sessions-json/token-shapes.json"))
	got := map[string]int64{}
	for ok := c.EnterObject(); ok && c.NextKey(); {
		name := string(c.Key())
		for ok := c.EnterObject(); ok && c.NextKey(); {
			if string(c.Key()) != "totalTokens" {
				continue
			}
			if n, ok := c.Int64(); ok {
				got[name] = n
			}
		}
	}
	// null (k6) and 1e21 (k7) are not integers, k2 and k8 have none.
	want := map[string]int64{"k0": 170000, "k1": 170000, "k3": 170000, "k4": 170000, "k5": -5}
	if diff := cmp.Diff(want, got); diff != "" || c.End() != nil {
		t.Error(diff, c.Err())
	}
}
