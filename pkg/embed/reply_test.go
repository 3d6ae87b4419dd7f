package embed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/tier"
)

func TestParseFloat(t *testing.T) {
	for _, s := range []string{
		"0", "-0", "1", "-1", "0.1", "1e10", "1E+10", "1e-10", "123456789", "16777217", "16777217.0000001", "9007199254740993",
		"0.006929283495992422", "-0.006929283495992422", "3.4028235e38", "3.4028236e38", "1e39", "-1e39", "1e400", "1e-400",
		"1.17549435e-38", "1e-45", "7e-46", "0.00000000000000000000000000000000000000000000012", "12345678901234567890123",
		"0.12345678901234567890123", "1e22", "1e23", "0e999999999999", "1.00000005960464477539062", "1.000000059604644775390625", "1.0000000596046447753906250001",
	} {
		got, size := parseFloat([]byte(s + ",1"))
		want, _ := strconv.ParseFloat(s, 32)
		if size != len(s) || math.Float32bits(got) != math.Float32bits(float32(want)) {
			t.Errorf("%s: %v of %d bytes, want %v of %d", s, got, size, float32(want), len(s))
		}
	}
	for _, s := range []string{"", "-", "+1", ".5", "1.", "1.e5", "1e", "1e+", "x", "null", "NaN", "-Infinity", "01", "-01", "00"} {
		if got, size := parseFloat([]byte(s)); size != 0 {
			t.Errorf("%q: %v of %d bytes, want no number", s, got, size)
		}
	}
}

// TestParseFloatOracle: random numbers in the forms that servers write, and
// numbers at and beside the middle of two float32.
func TestParseFloatOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(s string) {
		t.Helper()
		want, _ := strconv.ParseFloat(s, 32)
		if got, size := parseFloat([]byte(s)); size != len(s) || math.Float32bits(got) != math.Float32bits(float32(want)) {
			t.Fatalf("%s: %v of %d bytes, want %v of %d", s, got, size, float32(want), len(s))
		}
	}
	rounds := 200_000
	if tier.Smoke() {
		rounds /= 10
	}
	for range rounds {
		x := math.Float32frombits(r.Uint32())
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			continue
		}
		check(strconv.FormatFloat(float64(x), 'g', -1, 32))
		small := r.NormFloat64() / 28
		check(strconv.FormatFloat(small, 'f', -1, 64))
		check(strconv.FormatFloat(small, 'e', 6+r.IntN(16), 64))
		y := math.Nextafter32(x, math.MaxFloat32)
		middle := (float64(x) + float64(y)) / 2
		for _, near := range []float64{middle, math.Nextafter(middle, math.Inf(1)), math.Nextafter(middle, math.Inf(-1))} {
			check(strconv.FormatFloat(near, 'g', -1, 64))
			check(strconv.FormatFloat(near, 'g', 18+r.IntN(12), 64))
		}
	}
}

// oracleOllama decodes with encoding/json: exact keys, the last of duplicates,
// no null.
func oracleOllama(data []byte) ([][]float32, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	return oracleVectors(fields["embeddings"])
}

func oracleVectors(raw json.RawMessage) ([][]float32, error) {
	var rows []json.RawMessage
	if err := json.Unmarshal(raw, &rows); err != nil || rows == nil {
		return nil, errors.Join(err, errors.New("no array"))
	}
	vectors := make([][]float32, len(rows))
	for i, row := range rows {
		v, err := oracleVector(row)
		if err != nil {
			return nil, err
		}
		vectors[i] = v
	}
	return vectors, nil
}

func oracleVector(raw json.RawMessage) ([]float32, error) {
	var row []*json.Number
	if bytes.ContainsRune(raw, '"') { // json.Number accepts strings that hold numbers
		return nil, errors.New("a string")
	}
	if err := json.Unmarshal(raw, &row); err != nil || row == nil {
		return nil, errors.Join(err, errors.New("no array"))
	}
	v := make([]float32, len(row))
	for i, n := range row {
		if n == nil {
			return nil, errors.New("null")
		}
		x, _ := strconv.ParseFloat(string(*n), 32)
		v[i] = float32(x)
	}
	return v, nil
}

func oracleOpenAI(data []byte) ([][]float32, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(fields["data"], &rows); err != nil || rows == nil {
		return nil, errors.Join(err, errors.New("no array"))
	}
	vectors := make([][]float32, len(rows))
	for _, row := range rows {
		index, err := strconv.Atoi(string(row["index"]))
		if err != nil || index < 0 || index >= len(rows) || vectors[index] != nil {
			return nil, errors.New("bad index")
		}
		if vectors[index], err = oracleVector(row["embedding"]); err != nil {
			return nil, err
		}
	}
	return vectors, nil
}

// replySeeds are replies, right and wrong.
func replySeeds() []string {
	return []string{
		`{"model":"m","embeddings":[[1,2.5],[-3e-5,0]],"total_duration":12}`,
		` { "embeddings" : [ [ 1 , 2 ] , [ ] ] , "x" : {"y":[true,false,null,"\u00e9\n"]} } `,
		`{"embeddings":[[1,null]]}`, `{"embeddings":[null]}`, `{"embeddings":null}`, `{"embeddings":[[1,"2"]]}`, `{"embeddings":[[1e39]]}`,
		`{"embeddings":[[1]],"embeddings":[[2],[3]]}`, `{"Embeddings":[[1]]}`, `{"embedding\u0073":[[1]]}`, `{}`, `[]`, ``, `{"embeddings":[[1,]]}`,
		`{"embeddings":[[1]]}{}`, `{"embeddings":[[1]]`, `{"embeddings":[[01]]}`, `{"embeddings":[[1 2]]}`, "{\"embeddings\":[[1]]}\x00", `{"embeddings":[[NaN]]}`,
		`{"object":"list","data":[{"object":"embedding","index":1,"embedding":[1]},{"index":0,"embedding":[2]}],"model":"m","usage":{"total_tokens":1}}`,
		`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[2]}]}`, `{"data":[{"embedding":[1]}]}`, `{"data":[{"index":1,"embedding":[1]}]}`,
		`{"data":[{"index":-1,"embedding":[1]}]}`, `{"data":[{"index":0}]}`, `{"data":[{"index":0,"embedding":"AAAA"}]}`, `{"data":[{"index":0.0,"embedding":[1]}]}`,
		`{"data":[{"index":null,"embedding":[1]}]}`, `{"data":[],"model":null}`, `{"data":[null]}`, `{"model":"\ud800\q","data":[]}`,
	}
}

// compare holds both decoders against encoding/json.
func compare(t *testing.T, data []byte) {
	t.Helper()
	for _, d := range []struct {
		name   string
		decode func([]byte, int) (reply, error)
		oracle func([]byte) ([][]float32, error)
	}{{"ollama", decodeOllama, oracleOllama}, {"openai", decodeOpenAI, oracleOpenAI}} {
		got, err := d.decode(data, 2)
		want, wantErr := d.oracle(data)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: %s: error %v, encoding/json says %v", d.name, data, err, wantErr)
		}
		if err != nil {
			if !errors.Is(err, errReply) && !errors.Is(err, errOrder) {
				t.Fatalf("%s: error %v is none of ours", d.name, err)
			}
			continue
		}
		if len(got.vectors) == 0 && len(want) == 0 {
			continue
		}
		if diff := cmp.Diff(want, got.vectors); diff != "" {
			t.Fatalf("%s: %s (-encoding/json +ours):\n%s", d.name, data, diff)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, s := range replySeeds() {
		compare(t, []byte(s))
	}
	got, err := decodeOpenAI([]byte(replySeeds()[20]), 0)
	want := reply{model: "m", vectors: [][]float32{{2}, {1}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(reply{})); err != nil || diff != "" {
		t.Errorf("%v, in the order of index (-want +got):\n%s", err, diff)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range replySeeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { compare(t, data) })
}

// sampleReply is what a server answers for n texts.
func sampleReply(n, dim, bits int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	var b bytes.Buffer
	b.WriteString(`{"model":"nomic-embed-text","embeddings":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('[')
		for j := range dim {
			if j > 0 {
				b.WriteByte(',')
			}
			x := r.NormFloat64() / 28
			b.WriteString(strconv.FormatFloat(x, 'f', -1, bits))
		}
		b.WriteByte(']')
	}
	b.WriteString(`],"total_duration":14143917,"load_duration":1019500,"prompt_eval_count":8}`)
	return b.Bytes()
}

func BenchmarkDecode(b *testing.B) {
	for _, bits := range []int{32, 64} {
		data := sampleReply(64, 768, bits)
		b.Run(fmt.Sprintf("sessctl/float%d", bits), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decodeOllama(data, 768); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("encoding-json/float%d", bits), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				var v struct{ Embeddings [][]float32 }
				if err := json.Unmarshal(data, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
