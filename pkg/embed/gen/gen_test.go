package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// packageOf makes a package file of words, each with its vector and the two
// numbers that follow it.
func packageOf(t *testing.T, file string, words []string) []byte {
	t.Helper()
	var content strings.Builder
	list, _ := json.Marshal(words)
	fmt.Fprintf(&content, `{"precision":8,"size":%d,"words":%s,"vectors":{`, len(words), list)
	for i, w := range words {
		name, _ := json.Marshal(w)
		fmt.Fprintf(&content, `%s:[%s%d.5,%d],`, name, strings.Repeat("0.25,", dim), i, i)
	}
	content.WriteString(`"":[]},"unkVector":[0]}`)
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	files := tar.NewWriter(zip)
	for name, data := range map[string]string{"package/README.md": "{}", file: content.String()} {
		if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestReadPackage(t *testing.T) {
	tgz := packageOf(t, vectorFile, []string{"the", `"`, "vectors", "rare"})
	names, rows, err := readPackage(bytes.NewReader(tgz), 3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"the", `"`, "vectors"}, names); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
	for i, row := range rows {
		if len(row) != dim || row[dim-1] != 0.25 {
			t.Errorf("row %d: %v", i, row)
		}
	}
}

func TestReadPackageRefuses(t *testing.T) {
	for name, tgz := range map[string][]byte{
		"not zipped":   []byte("words"),
		"another file": packageOf(t, "package/other.json", []string{"the"}),
		"cut off":      packageOf(t, vectorFile, []string{"the"})[:60],
	} {
		if _, _, err := readPackage(bytes.NewReader(tgz), 1); err == nil {
			t.Errorf("%s: read", name)
		}
	}
	for name, content := range map[string]string{
		"no vector": `{"words":["a","b"],"vectors":{"a":[` + strings.Repeat("1,", dim) + `1]}}`,
		"short":     `{"words":["a"],"vectors":{"a":[1]}}`,
		"no words":  `{"size":1}`,
		"not JSON":  `{"words":["a"],"vectors":{"a":[1`,
	} {
		if _, _, err := readVectors(json.NewDecoder(strings.NewReader(content)), 2); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

// TestRunRefuses: no other package than the pinned one makes a table.
func TestRunRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "package.tgz")
	if err := os.WriteFile(path, packageOf(t, vectorFile, []string{"the"}), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(path, &out); err == nil || !strings.Contains(err.Error(), packageSHA256) || out.Len() != 0 {
		t.Errorf("run = %v, wrote %d bytes", err, out.Len())
	}
}

// TestRemoveCommon: afterwards the mean is zero, and the direction along which
// the rows were made to differ most is gone; what differs across it stays.
func TestRemoveCommon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.Float64Range(-0.1, 0.1)
		rows := make([][]float64, 40)
		for i := range rows {
			along := float64(i-20) * 3
			rows[i] = []float64{5 + along, 7 + along, small.Draw(t, "x"), float64(i % 2)}
		}
		removeCommon(rows, 1)
		for i := range 4 {
			mean := 0.0
			for _, row := range rows {
				mean += row[i] / 40
			}
			if math.Abs(mean) > 1e-9 {
				t.Fatalf("mean of component %d is %v", i, mean)
			}
		}
		for i, row := range rows {
			if along := row[0] + row[1]; math.Abs(along) > 0.1 || math.Abs(math.Abs(row[3])-0.5) > 0.1 {
				t.Fatalf("row %d: %v", i, row)
			}
		}
	})
}

func TestStrongest(t *testing.T) {
	v := strongest([][]float64{{2, 0, 0}, {0, 5, 0}, {0, 0, 1}})
	if math.Abs(v[1]-1) > 1e-12 || math.Abs(v[0]) > 1e-12 || math.Abs(v[2]) > 1e-12 {
		t.Errorf("strongest of a diagonal is %v", v)
	}
}
