package summarize

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIdentifiers(t *testing.T) {
	for text, want := range map[string][]string{
		"See https://x.example/a?b=c#d, then (http://y.example).":              {"https://x.example/a?b=c#d", "http://y.example"},
		"url=https://x.example/a":                                              {"https://x.example/a"},
		"in pkg/a/b.go:12 and ./x/y, ~/z/w and /srv/a/, read/write and/or a/b": {"pkg/a/b.go", "./x/y", "~/z/w", "/srv/a/"},
		"/health and / and // are no paths, 'lib/a.ts' is one":                 {"lib/a.ts"},
		"main.go:7: foo.bar() and x.json. The end.md!":                         {"main.go", "x.json", "end.md"},
		"0b6f2a54-7f61-4d3e-9a53-0c1c2d3e4f50 is an id":                        {"0b6f2a54-7f61-4d3e-9a53-0c1c2d3e4f50"},
		"commit 09155c1, not deadbeef, 108ms, 12:50:03":                        {"09155c1"},
		"#344 and TL-0219; TS2305: x-1, A-, -12":                               {"#344", "TL-0219", "TS2305"},
		"v1.22.3, 10.20.4.11:8090, 3. and 0.5":                                 {"v1.22.3", "10.20.4.11", "8090"},
		"12 of 345 and 1,176":                                                  {"345", "176"},
		"`runImport` and `the config`, not `dark`, `a` or `open":               {"runImport"},
		"`go test ./...` does it":                                              {"go test ./..."},
		"text\n$ make deploy VERSION=3\nok, 5 $ left":                          {"make deploy VERSION=3"},
		"日本語/テスト 日本 a.ts 漢字":                                                   {"a.ts"},
	} {
		if diff := cmp.Diff(want, slices.Collect(identifiersOf(text))); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
