package embed

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCheck(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	tests := []struct {
		name       string
		vectors    [][]float32
		count, dim int
		want       error
		says       string
	}{
		{"right", [][]float32{{1, 0}, {0, -1}}, 2, 2, nil, ""},
		{"none for none", nil, 0, 2, nil, ""},
		{"any dimension", [][]float32{{1, 0, 0}, {0, 1, 0}}, 2, 0, nil, ""},
		{"smallest number", [][]float32{{0, math.SmallestNonzeroFloat32}}, 1, 2, nil, ""},
		{"largest number", [][]float32{{0, -math.MaxFloat32}}, 1, 2, nil, ""},
		{"one too few", [][]float32{{1, 0}}, 2, 2, ErrCount, "1 for 2 texts"},
		{"one too many", [][]float32{{1, 0}, {1, 0}}, 1, 2, ErrCount, "2 for 1 texts"},
		{"none", nil, 1, 2, ErrCount, "0 for 1 texts"},
		{"null vector", [][]float32{{1, 0}, nil}, 2, 2, ErrDimension, "vector 1 has 0 components, not 2"},
		{"short", [][]float32{{1}}, 1, 2, ErrDimension, "vector 0 has 1"},
		{"long", [][]float32{{1, 0, 0}}, 1, 2, ErrDimension, "vector 0 has 3"},
		{"not the same", [][]float32{{1, 0}, {1}}, 2, 0, ErrDimension, "vector 1 has 1 components, not 2"},
		{"empty, any dimension", [][]float32{{}}, 1, 0, ErrDimension, "vector 0"},
		{"NaN", [][]float32{{1, 0}, {0, nan}}, 2, 2, ErrNotFinite, "vector 1"},
		{"infinity", [][]float32{{inf, 0}}, 1, 2, ErrNotFinite, "vector 0"},
		{"zero", [][]float32{{1, 0}, {0, 0}}, 2, 2, ErrZero, "vector 1"},
		{"minus zero", [][]float32{{0, float32(math.Copysign(0, -1))}}, 1, 2, ErrZero, "vector 0"},
	}
	for _, test := range tests {
		err := Check(test.vectors, test.count, test.dim)
		if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %v: %s", test.name, err, test.want, test.says)
		}
	}
}

func TestModelString(t *testing.T) {
	tests := []struct {
		model             Model
		want, fingerprint string
	}{
		{
			Model{Provider: "builtin", Name: "lexglove-1024", Revision: "1-ab", Dim: 1024, Chunker: "3500/200/1"},
			"builtin/lexglove-1024@1-ab;dim=1024;norm=l2;qp=-;chunk=3500/200/1", "6649e8535a2226bd",
		},
		{
			Model{Provider: "ollama", Name: "hf.co/me/nomic:v1.5", Dim: 768, Prefix: "search_document: |search_query: "},
			"ollama/hf.co/me/nomic:v1.5@-;dim=768;norm=l2;qp=abf189b027543a8e;chunk=-", "",
		},
		{
			Model{Provider: "a/b", Name: "x@y;dim=1", Revision: "-", Chunker: "50 %\n"},
			"a%2Fb/x%40y%3Bdim%3D1@%2D;dim=0;norm=l2;qp=-;chunk=50%20%25%0A", "",
		},
	}
	for _, test := range tests {
		if got := test.model.String(); got != test.want {
			t.Errorf("String() = %s, want %s", got, test.want)
		}
		if got := test.model.Fingerprint(); test.fingerprint != "" && got != test.fingerprint {
			t.Errorf("Fingerprint() = %s, want %s", got, test.fingerprint)
		}
	}
}

// TestModelIdentity: different models never get the same name, and a
// fingerprint can be a file name.
func TestModelIdentity(t *testing.T) {
	field := rapid.StringOfN(rapid.SampledFrom([]rune("a/@;=%- \n")), 0, 4, -1)
	model := rapid.Custom(func(t *rapid.T) Model {
		return Model{
			Provider: field.Draw(t, "provider"), Name: field.Draw(t, "name"), Revision: field.Draw(t, "revision"),
			Dim: rapid.IntRange(1, 3).Draw(t, "dim"), Prefix: field.Draw(t, "prefix"), Chunker: field.Draw(t, "chunker"),
		}
	})
	safe := regexp.MustCompile(`^[0-9a-f]{16}$`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := model.Draw(t, "a"), model.Draw(t, "b")
		if (a == b) != (a.String() == b.String()) || (a == b) != (a.Fingerprint() == b.Fingerprint()) {
			t.Fatalf("%+v is %s %s\n%+v is %s %s", a, a, a.Fingerprint(), b, b, b.Fingerprint())
		}
		if !safe.MatchString(a.Fingerprint()) {
			t.Fatalf("fingerprint %q", a.Fingerprint())
		}
	})
}
