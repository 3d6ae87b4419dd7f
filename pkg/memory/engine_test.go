package memory

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// newRows writes n random unit rows, every tenth equal to the one before, to
// two files, and returns their places. One row is damaged.
func newRows(t *testing.T, random *rand.Rand, n, dim int) []place {
	t.Helper()
	dir := t.TempDir()
	files := [2][]byte{}
	var places []place
	var row []float32
	for i := range n {
		if i%10 != 9 {
			row = unit(random, dim)
		}
		k := i % 2
		raw := make([]byte, 0, 4*dim)
		for _, x := range row {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
		}
		places = append(places, place{record: int64(i + 1), file: filepath.Join(dir, []string{"a.f32", "b.f32"}[k]), slot: int64(len(files[k]) / (4 * dim)), crc: crc32.Checksum(raw, castagnoli())})
		files[k] = append(files[k], raw...)
	}
	files[0][4*dim*3] ^= 0xFF // row 3 of the first file is record 7
	for k, name := range []string{"a.f32", "b.f32"} {
		if err := os.WriteFile(filepath.Join(dir, name), files[k], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return places
}

func unit(random *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(random.NormFloat64())
	}
	scale := float32(1 / norm(v))
	for i := range v {
		v[i] *= scale
	}
	return v
}

// Both engines and a plain loop give the same answer.
func TestEnginesAgree(t *testing.T) {
	const dim = 64
	random := rand.New(rand.NewPCG(3, 4))
	places := newRows(t, random, 1500, dim)
	for _, n := range []int{1, 7, 100, 1499, 5000} {
		query := unit(random, dim)
		var plain []scored
		err := eachRow(context.Background(), places, dim, func(p place, row []float32) error {
			sum := 0.0
			for i := range row {
				sum += float64(query[i]) * float64(row[i])
			}
			plain = append(plain, scored{p.record, sum})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(plain) != 1499 || slices.ContainsFunc(plain, func(x scored) bool { return x.record == 7 }) {
			t.Fatalf("%d rows: the damaged one must be passed over", len(plain))
		}
		plain = top(plain, n)
		for name, e := range map[string]engine{"chromem": chromemEngine{}, "scan": scanEngine{}} {
			got, err := e.nearest(context.Background(), query, places, n)
			if err != nil {
				t.Fatal(err)
			}
			sameAnswer(t, name, got, plain)
		}
	}
}

// sameAnswer allows what float32 cannot tell apart to stand in either order.
func sameAnswer(t *testing.T, name string, got, want []scored) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d results, want %d", name, len(got), len(want))
	}
	for i := range got {
		if math.Abs(got[i].cosine-want[i].cosine) > 1e-5 {
			t.Fatalf("%s: result %d has cosine %v, want %v", name, i, got[i].cosine, want[i].cosine)
		}
		if got[i].record != want[i].record && !slices.ContainsFunc(want, func(x scored) bool {
			return x.record == got[i].record && math.Abs(x.cosine-want[i].cosine) < 1e-5
		}) && i < len(got)-12 {
			t.Fatalf("%s: result %d is record %d, want %d", name, i, got[i].record, want[i].record)
		}
	}
}

func TestNoRowsIsNoAnswer(t *testing.T) {
	for _, e := range []engine{chromemEngine{}, scanEngine{}} {
		if got, err := e.nearest(context.Background(), []float32{1, 0}, nil, 5); len(got) != 0 || err != nil {
			t.Fatalf("%v, %v", got, err)
		}
	}
}

func TestIdentifiers(t *testing.T) {
	got := identifiers(`why did ERR_TOKEN_TOO_LONG (see /etc/app.conf, "E0308") happen at 10.0.0.1:80 in version v1.2.3 for us well-known`)
	want := []string{"ERR_TOKEN_TOO_LONG", "/etc/app.conf", "E0308", "10.0.0.1:80", "v1.2.3"}
	if !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
}

func TestAgentsNeverShareAFile(t *testing.T) {
	seen := map[string]string{}
	for _, agent := range []string{"a", "A", "a/b", "a_b", "../x", "", "é", "è"} {
		name := safeName(agent)
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q are both %s", agent, other, name)
		}
		seen[name] = agent
		if filepath.Base(name) != name || name == "." || name == ".." {
			t.Errorf("%q gives %q", agent, name)
		}
	}
}
