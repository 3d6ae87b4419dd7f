package embed_test

import (
	"testing"

	"github.com/sessctl/sessctl/pkg/embed"
)

// Names are cut where people remember them cut: at humps, marks and digits, in
// every script; their parts stand beside the whole.
func TestNameTerms(t *testing.T) {
	for text, want := range map[string]struct{ terms, parts string }{
		"authMiddleware.ts":  {"authmiddlewar auth middlewar ts authmiddlewaret ", "auth middlewar ts "},
		"auth_middleware-v2": {"auth middlewar v2 v 2 authmiddlewarev2 ", "auth middlewar v 2 "},
		"HTTPServer":         {"httpserver http server ", "http server "},
		"sha256sum":          {"sha256sum sha 256 sum ", "sha 256 sum "},
		"all.go":             {"all go allgo ", "all go "},
		"3f9a2c41d0":         {"3f9a2c41d0 ", "3f9a2c41d0 "},
		"v1.2.3":             {"v1 v 1 2 3 v1.2.3 ", "v 1 2 3 "},
		"größenÄnderung":     {"großenanderung großen anderung ", "großen anderung "},
		"ПриветМир2":         {"приветмир2 привет мир 2 ", "привет мир 2 "},
		"配置文件":               {"配置 置文 文件 ", "配置 置文 文件 "},
		"\xff\xfe/\x00":      {"", ""},
	} {
		if got := string(embed.NewNameReader().AppendTerms(nil, text)); got != want.terms {
			t.Errorf("%q: terms %q, want %q", text, got, want.terms)
		}
		if got := string(embed.AppendNameParts(nil, text)); got != want.parts {
			t.Errorf("%q: parts %q, want %q", text, got, want.parts)
		}
	}
}
