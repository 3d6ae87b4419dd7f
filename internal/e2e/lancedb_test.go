package e2e_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// memoryRow is a record of an export, and a row of LanceDB's table "memories"
// (docs/dev/decisions.md D11).
type memoryRow struct {
	ID         string    `json:"id"`
	Text       string    `json:"text"`
	Vector     []float32 `json:"vector"`
	Importance float64   `json:"importance"`
	Category   string    `json:"category"`
	CreatedAt  float64   `json:"createdAt"` // epoch milliseconds
}

// TestLanceDB: the real LanceDB makes its table "memories" of what
// `memory export --format arrow` writes, and has the same records then as the
// export as JSON Lines, to the last bit of every vector. SESSCTL_ARROW_JS names
// a directory with the packages (docs/dev/testing.md).
func TestLanceDB(t *testing.T) {
	packages := os.Getenv("SESSCTL_ARROW_JS")
	if packages == "" {
		t.Skip("skipped: SESSCTL_ARROW_JS does not name a directory with apache-arrow and @lancedb/lancedb in it")
	}
	ask := func(file, dir string) *exec.Cmd {
		c := exec.Command("node", "-e", lanceScript, file, dir)
		c.Dir = packages
		return c
	}
	rowsOfLanceDB(t, ask, []string{"Utf8", "FixedSizeList[1024]<Float32>", "Float64"})
}

// TestLanceDBPython is TestLanceDB with the package of PyPI. SESSCTL_LANCEDB_PYTHON names
// a Python that has it; else python3 is asked.
func TestLanceDBPython(t *testing.T) {
	python := cmp.Or(os.Getenv("SESSCTL_LANCEDB_PYTHON"), "python3")
	if out, err := exec.Command(python, "-c", "import lancedb, pyarrow").CombinedOutput(); err != nil {
		t.Skipf("skipped: %s has no lancedb (python3 -m venv DIR, DIR/bin/pip install lancedb, SESSCTL_LANCEDB_PYTHON=DIR/bin/python): %v %s", python, err, out)
	}
	ask := func(file, dir string) *exec.Cmd { return exec.Command(python, "-c", lancePython, file, dir) }
	rowsOfLanceDB(t, ask, []string{"string", "fixed_size_list<item: float>[1024]", "double"})
}

// rowsOfLanceDB compares the table that a program makes of an export with the export as
// JSON Lines. types are those of text, vectors and numbers.
func rowsOfLanceDB(t *testing.T, ask func(file, dir string) *exec.Cmd, types []string) {
	t.Helper()
	u := &ollamaUser{T: t, program: buildProgram(t), home: t.TempDir(), builtin: true}
	if err := os.CopyFS(u.home, os.DirFS(filepath.Join(module, "testdata/sample"))); err != nil {
		t.Fatal(err)
	}
	u.age()
	u.run(0, "compact", "--agent", "coordinator")
	u.run(0, "memory", "export", "--format", "arrow", "--output", "memories.arrow")
	want := slices.DeleteFunc(exportedRows(t, u.run(0, "memory", "export", "--vectors")), func(r memoryRow) bool {
		return r.Category == "work" // found by its words, and has no vector
	})
	c := ask(filepath.Join(u.home, "memories.arrow"), filepath.Join(u.home, "lance"))
	var complaint bytes.Buffer
	c.Stderr = &complaint
	answer, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaint.Bytes())
	}
	var got struct {
		Schema  []string
		Rows    []memoryRow
		Nearest []string
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatal(err)
	}
	t.Log(len(got.Rows), "rows")
	schema := []string{"id " + types[0], "text " + types[0], "vector " + types[1], "importance " + types[2], "category " + types[0], "createdAt " + types[2]}
	if diff := gocmp.Diff(schema, got.Schema); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
	byID := func(x, y memoryRow) int { return strings.Compare(x.ID, y.ID) }
	slices.SortFunc(got.Rows, byID)
	slices.SortFunc(want, byID)
	if diff := gocmp.Diff(want, got.Rows); diff != "" || len(want) < 100 {
		t.Errorf("%d records (-want +got):\n%s", len(want), diff)
	}
	for i, text := range got.Nearest {
		if text != want[i].Text {
			t.Errorf("nearest to the vector of %q is %q", want[i].Text, text)
		}
	}
}

// exportedRows reads an export as JSON Lines.
func exportedRows(t *testing.T, lines string) (rows []memoryRow) {
	t.Helper()
	s := bufio.NewScanner(strings.NewReader(lines))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var row memoryRow
		var more struct {
			CreatedAt time.Time `json:"created_at"`
		}
		if err := json.Unmarshal(s.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(s.Bytes(), &more); err != nil {
			t.Fatal(err)
		}
		row.CreatedAt = float64(more.CreatedAt.UnixMilli())
		rows = append(rows, row)
	}
	return rows
}

// lanceScript makes a table of an Arrow file, reads it and asks it for the
// record nearest to the vector of each of ten.
const lanceScript = `
const {tableFromIPC} = require("apache-arrow"), lancedb = require("@lancedb/lancedb"), [file, dir] = process.argv.slice(1);
(async () => {
  const db = await lancedb.connect(dir);
  await db.createTable("memories", tableFromIPC(require("fs").readFileSync(file)));
  const table = await (await lancedb.connect(dir)).openTable("memories");
  const rows = (await table.query().toArray()).map(r => ({...r.toJSON(), vector: [...r.vector]}));
  rows.sort((x, y) => x.id < y.id ? -1 : 1);
  const nearest = [];
  for (const r of rows.slice(0, 10)) nearest.push((await table.vectorSearch(r.vector).limit(1).toArray())[0].text);
  const schema = (await table.schema()).fields.map(f => f.name + " " + f.type);
  console.log(JSON.stringify({schema, rows, nearest}));
})();`

// lancePython does the same as lanceScript.
const lancePython = `
import json, sys, lancedb, pyarrow as pa
file, dir = sys.argv[1:]
lancedb.connect(dir).create_table("memories", pa.ipc.open_file(file).read_all())
table = lancedb.connect(dir).open_table("memories")
rows = sorted(table.to_arrow().to_pylist(), key=lambda r: r["id"])
nearest = [table.search(r["vector"]).limit(1).to_list()[0]["text"] for r in rows[:10]]
print(json.dumps({"schema": [f.name + " " + str(f.type) for f in table.schema], "rows": rows, "nearest": nearest}))
`
