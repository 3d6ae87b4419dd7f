package embed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

var errServer = errors.New("500 internal server error")

// fakeEmbedder gives the text "7" the vector {7, 1}; what else it does depends
// on whether a text of the call is in faults.
type fakeEmbedder struct {
	faults map[string]string // text -> fault
	calls  [][]string
	before func()
}

func (f *fakeEmbedder) EmbedDocuments(_ context.Context, texts []string) ([][]float32, error) {
	f.calls = append(f.calls, slices.Clone(texts))
	if f.before != nil {
		f.before()
	}
	var vectors [][]float32
	for _, text := range texts {
		n, _ := strconv.Atoi(text)
		vectors = append(vectors, []float32{float32(n), 1})
	}
	for i, text := range texts {
		switch f.faults[text] {
		case "error":
			return nil, errServer
		case "error and vectors":
			return vectors, errServer
		case "blame":
			return nil, fmt.Errorf("fake: %w", &textError{Index: i, Err: ErrNoVector})
		case "wrong blame":
			return nil, &textError{Index: i + len(texts), Err: errServer}
		case "empty blame":
			return nil, &textError{Index: i}
		case "unavailable":
			return nil, fmt.Errorf("fake: %w", ErrUnavailable)
		case "too few":
			return vectors[1:], nil
		case "too many":
			return append(vectors, []float32{1, 1}), nil
		case "short":
			vectors[i] = vectors[i][:1]
		case "null":
			vectors[i] = nil
		case "NaN":
			vectors[i][1] = float32(math.NaN())
		case "zero":
			vectors[i] = []float32{0, 0}
		}
	}
	return vectors, nil
}

func numbers(n int) (texts []string) {
	for i := range n {
		texts = append(texts, strconv.Itoa(i))
	}
	return texts
}

func TestBatchesSizes(t *testing.T) {
	for _, test := range []struct {
		texts, size int
		want        []int // texts a call
	}{
		{0, 0, nil},
		{1, 0, []int{1}},
		{63, 0, []int{63}},
		{64, 0, []int{64}},
		{65, 0, []int{64, 1}},
		{129, 0, []int{64, 64, 1}},
		{5, 2, []int{2, 2, 1}},
		{3, -1, []int{3}},
	} {
		f := &fakeEmbedder{}
		var progress, want []int
		options := BatchOptions{Size: test.size, Dim: 2, Progress: func(done int) { progress = append(progress, done) }}
		for r := range Batches(context.Background(), f, numbers(test.texts), options) {
			if r.Err != nil || !slices.Equal(r.Vector, []float32{float32(r.Index), 1}) {
				t.Fatalf("%d texts: %+v", test.texts, r)
			}
		}
		var got []int
		sum := 0
		for _, call := range f.calls {
			got = append(got, len(call))
			sum += len(call)
			want = append(want, sum)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("calls for %d texts (-want +got):\n%s", test.texts, diff)
		}
		if diff := cmp.Diff(want, progress); diff != "" {
			t.Errorf("progress for %d texts (-want +got):\n%s", test.texts, diff)
		}
	}
}

// TestBatchesFaults: one bad text of eight, whatever is bad about it, is the
// only one without a vector.
func TestBatchesFaults(t *testing.T) {
	for fault, want := range map[string]error{
		"error": errServer, "error and vectors": errServer, "wrong blame": errServer,
		"blame": ErrNoVector, "too few": ErrCount, "too many": ErrCount,
		"short": ErrDimension, "null": ErrDimension, "NaN": ErrNotFinite, "zero": ErrZero,
	} {
		t.Run(fault, func(t *testing.T) {
			f := &fakeEmbedder{faults: map[string]string{"5": fault}}
			var got []Result
			for r := range Batches(context.Background(), f, numbers(8), BatchOptions{Dim: 2}) {
				got = append(got, r)
			}
			for i, r := range got {
				if bad := i == 5; r.Index != i || bad != errors.Is(r.Err, want) || bad != (r.Vector == nil) {
					t.Errorf("text %d: %+v, want error %v for 5 only", i, r, want)
				}
			}
			if len(got) != 8 || len(f.calls) > 7 {
				t.Errorf("%d results of %d calls %v", len(got), len(f.calls), f.calls)
			}
		})
	}
}

func TestBatchesCalls(t *testing.T) {
	for _, test := range []struct {
		fault string
		want  [][]string
	}{
		{"error", [][]string{{"0", "1", "2", "3"}, {"0", "1"}, {"2", "3"}, {"2"}, {"3"}, {"4", "5"}}},
		{"blame", [][]string{{"0", "1", "2", "3"}, {"0", "1"}, {"2"}, {"3"}, {"4", "5"}}},
		{"unavailable", [][]string{{"0", "1", "2", "3"}}},
	} {
		f := &fakeEmbedder{faults: map[string]string{"2": test.fault}}
		for range Batches(context.Background(), f, numbers(6), BatchOptions{Size: 4}) {
		}
		if diff := cmp.Diff(test.want, f.calls); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", test.fault, diff)
		}
	}
}

// TestBatchesUnavailable: what was embedded before is kept, all the rest gets
// the error, and nobody knocks again.
func TestBatchesUnavailable(t *testing.T) {
	f := &fakeEmbedder{faults: map[string]string{"2": "error", "5": "unavailable"}}
	var got []error
	for r := range Batches(context.Background(), f, numbers(9), BatchOptions{Size: 3}) {
		got = append(got, r.Err)
	}
	u := ErrUnavailable
	want := []error{nil, nil, errServer, u, u, u, u, u, u}
	if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	wantCalls := [][]string{{"0", "1", "2"}, {"0"}, {"1", "2"}, {"1"}, {"2"}, {"3", "4", "5"}}
	if diff := cmp.Diff(wantCalls, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestBatchesCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &fakeEmbedder{faults: map[string]string{"3": "error"}}
	f.before = func() {
		if len(f.calls) == 2 {
			cancel()
		}
	}
	var got []error
	for r := range Batches(ctx, f, numbers(7), BatchOptions{Size: 2}) {
		got = append(got, r.Err)
	}
	c := context.Canceled
	want := []error{nil, nil, c, c, c, c, c}
	if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if len(f.calls) != 2 {
		t.Errorf("calls %v", f.calls)
	}
}

func TestBatchesStop(t *testing.T) {
	f := &fakeEmbedder{}
	for r := range Batches(context.Background(), f, numbers(9), BatchOptions{Size: 3}) {
		if r.Index == 4 {
			break
		}
	}
	if len(f.calls) != 2 {
		t.Errorf("calls after a break: %v", f.calls)
	}
}

// TestBatchesEveryText: whatever goes wrong with which texts, every text has
// one result, in order; a good one has its vector, a bad one an error.
func TestBatchesEveryText(t *testing.T) {
	faults := []string{"", "", "", "error", "error and vectors", "blame", "wrong blame", "empty blame", "too few", "too many", "short", "null", "NaN", "zero"}
	rapid.Check(t, func(t *rapid.T) {
		texts := numbers(rapid.IntRange(0, 40).Draw(t, "texts"))
		f := &fakeEmbedder{faults: map[string]string{}}
		for _, text := range texts {
			if fault := rapid.SampledFrom(faults).Draw(t, "fault"); fault != "" {
				f.faults[text] = fault
			}
		}
		options := BatchOptions{Size: rapid.IntRange(0, 9).Draw(t, "size"), Dim: 2}
		next := 0
		for r := range Batches(context.Background(), f, texts, options) {
			bad := f.faults[texts[next]] != ""
			if r.Index != next || bad != (r.Err != nil) || bad != (r.Vector == nil) {
				t.Fatalf("result %d is %+v, fault %q", next, r, f.faults[texts[next]])
			}
			if !bad && r.Vector[0] != float32(next) {
				t.Fatalf("text %d has the vector of another: %v", next, r.Vector)
			}
			next++
		}
		if next != len(texts) {
			t.Fatalf("%d results for %d texts", next, len(texts))
		}
		if limit := 3*len(texts) + 1; len(f.calls) > limit {
			t.Fatalf("%d calls for %d texts", len(f.calls), len(texts))
		}
	})
}
