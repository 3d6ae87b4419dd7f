package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	u := &ollamaUser{T: t, program: buildProgram(t), home: t.TempDir(), builtin: true}
	if err := os.CopyFS(u.home, os.DirFS(filepath.Join(module, "testdata/sample"))); err != nil {
		t.Fatal(err)
	}
	u.age()
	u.run(0, "compact", "--agent", "coordinator")
	u.run(0, "memory", "export", "--format", "arrow", "--output", "memories.arrow")
	want := exportedRows(t, u.run(0, "memory", "export", "--vectors"))
	c := exec.Command("node", "-e", lanceScript, filepath.Join(u.home, "memories.arrow"), filepath.Join(u.home, "lance"))
	c.Dir = packages
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
	schema := []string{"id Utf8", "text Utf8", "vector FixedSizeList[1024]<Float32>", "importance Float64", "category Utf8", "createdAt Float64"}
	if diff := cmp.Diff(schema, got.Schema); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
	byID := func(x, y memoryRow) int { return strings.Compare(x.ID, y.ID) }
	slices.SortFunc(got.Rows, byID)
	slices.SortFunc(want, byID)
	if diff := cmp.Diff(want, got.Rows); diff != "" || len(want) < 100 {
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
