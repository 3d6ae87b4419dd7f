package smallpackages_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/arrowfile"
)

var fields = []arrowfile.Field{
	{Name: "id", Kind: arrowfile.Text},
	{Name: "vector", Kind: arrowfile.Vector, Dim: 3},
	{Name: "importance", Kind: arrowfile.Number},
}

// Property: whatever is written is read again by a reader that shares no code
// with the writer.
func TestArrowfileRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var written []map[string]any
		out := &bytes.Buffer{}
		w, err := arrowfile.NewWriter(out, fields)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 3).Draw(t, "batches") {
			var ids, vectors, numbers arrowfile.Column
			for range rapid.IntRange(0, 20).Draw(t, "rows") {
				id, number := rapid.String().Draw(t, "id"), rapid.Float64Range(-1e9, 1e9).Draw(t, "number")
				vector := rapid.SliceOfN(rapid.Float32Range(-1, 1), 3, 3).Draw(t, "vector")
				row := map[string]any{"id": id, "vector": vector, "importance": number}
				if rapid.Bool().Draw(t, "null") {
					vector, row["vector"] = nil, nil
				}
				ids.Texts, vectors.Vectors, numbers.Numbers = append(ids.Texts, id), append(vectors.Vectors, vector), append(numbers.Numbers, number)
				written = append(written, row)
			}
			if err := w.Write(ids, vectors, numbers); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		read, err := readFile(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"id utf8", "vector fixed_size_list<item: float>[3]", "importance double"}, read.schema); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(written, read.rows); diff != "" {
			t.Fatal(diff)
		}
	})
}

// What does not fit the schema is refused.
func TestArrowfileRefused(t *testing.T) {
	w, err := arrowfile.NewWriter(&bytes.Buffer{}, fields)
	if err != nil {
		t.Fatal(err)
	}
	one, number := arrowfile.Column{Texts: []string{"a"}}, arrowfile.Column{Numbers: []float64{1}}
	for name, columns := range map[string][]arrowfile.Column{
		"columns": {one, number},
		"rows":    {one, {}, number},
		"vector":  {one, {Vectors: [][]float32{{1, 2}}}, number},
	} {
		if err := w.Write(columns...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The real Arrow library and the real LanceDB read the file. SESSCTL_ARROW_JS
// names a directory in which `npm install apache-arrow @lancedb/lancedb` was run.
func TestArrowfileLanceDBReadsIt(t *testing.T) {
	dir := os.Getenv("SESSCTL_ARROW_JS")
	if dir == "" {
		t.Skip("SESSCTL_ARROW_JS does not name a directory with apache-arrow and @lancedb/lancedb in it")
	}
	out := &bytes.Buffer{}
	w, err := arrowfile.NewWriter(out, fields)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err = w.Write(arrowfile.Column{Texts: []string{"one", "zwei 配送"}}, arrowfile.Column{Vectors: [][]float32{{1, 0, -1}, nil}}, arrowfile.Column{Numbers: []float64{0.5, 2}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	if err := os.WriteFile(filepath.Join(scratch, "out.arrow"), out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("node", "-e", lanceScript, scratch)
	c.Dir = dir
	answer, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, answer)
	}
	var got, want any
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatalf("%v\n%s", err, answer)
	}
	rows := `["one",[1,0,-1],0.5],["zwei 配送",null,2]`
	rows += "," + rows
	if err := json.Unmarshal([]byte(`{"schema":["id Utf8","vector FixedSizeList[3]<Float32>","importance Float64"],"rows":[`+rows+`],
		"stored":[`+rows+`],"nearest":["one","one"]}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

// lanceScript reads the file, makes a table of it, reads the table and asks it.
const lanceScript = `
const {tableFromIPC} = require("apache-arrow"), lancedb = require("@lancedb/lancedb"), dir = process.argv[1];
const row = r => [r.id, r.vector && [...r.vector], r.importance];
(async () => {
  const t = tableFromIPC(require("fs").readFileSync(dir + "/out.arrow"));
  const db = await lancedb.connect(dir + "/lance"), table = await db.createTable("memories", t);
  const nearest = await table.vectorSearch([1, 0, -1]).limit(2).toArray();
  console.log(JSON.stringify({
    schema: t.schema.fields.map(f => f.name + " " + f.type), rows: t.toArray().map(row),
    stored: (await table.query().toArray()).map(row), nearest: nearest.map(r => r.id),
  }));
})();`
