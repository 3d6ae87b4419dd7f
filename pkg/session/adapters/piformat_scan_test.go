package adapters_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// scanAll returns everything that a scan emits.
func scanAll(log []byte, o session.ScanOptions) ([]piformatSaid, session.Scan, error) {
	var all []piformatSaid
	scan, err := piformat.Scan(context.Background(), bytes.NewReader(log), o, func(m *session.Message) error {
		all = append(all, saidOf(m))
		return nil
	})
	return all, scan, err
}

// scanTwice scans as a caller does: again with the tree, if it has forks.
func scanTwice(t testing.TB, log []byte) ([]piformatSaid, session.Scan) {
	t.Helper()
	all, scan, err := scanAll(log, session.ScanOptions{})
	if err == nil && scan.Tree.Forked() {
		all, scan, err = scanAll(log, session.ScanOptions{Tree: scan.Tree})
	}
	if err != nil {
		t.Fatal(err)
	}
	return all, scan
}

// compare checks a log against the oracle in every way there is to scan it.
func compare(t rapid.TB, log []byte) {
	t.Helper()
	records := naiveRead(log, false)
	var first []piformatSaid
	known := false
	for _, r := range records {
		if r.message != nil {
			first = append(first, *r.message)
		}
		known = known || r.kind == "session" || r.kind == "message" || r.kind != "" && r.id != ""
	}
	all, scan, err := scanAll(log, session.ScanOptions{})
	if !known && len(bytes.Trim(log, "\xEF\xBB\xBF\x00\t\r\n ")) > 0 {
		if !errors.Is(err, session.ErrUnknownFormat) && !scan.Counts.Torn && (err != nil || len(all) > 0) {
			t.Fatalf("a log without a known record gives the error %v\n%s", err, log)
		}
		return
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if diff := cmp.Diff(first, all); diff != "" {
		t.Fatalf("first scan (-oracle +scan): %s\n%s", diff, log)
	}
	compareTotals(t, records, all, &scan)
	second, repeated := naiveScan(records)
	tree := scan.Tree
	all, scan, err = scanAll(log, session.ScanOptions{Tree: tree})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(second, all); diff != "" {
		t.Fatalf("second scan (-oracle +scan): %s\n%s", diff, log)
	}
	if scan.Repeated != repeated {
		t.Fatalf("%d messages say nothing new, want %d\n%s", scan.Repeated, repeated, log)
	}
	if !tree.Forked() && cmp.Diff(first, second) != "" {
		t.Fatalf("Forked is false, but a second scan differs\n%s", log)
	}
	compareTotals(t, records, all, &scan)
}

func compareTotals(t rapid.TB, records []*naiveRecord, all []piformatSaid, scan *session.Scan) {
	t.Helper()
	var want session.Scan
	for _, m := range all {
		if want.Messages == 0 {
			want.First = m.Time
		}
		want.Last = m.Time
		want.Messages++
		for _, p := range m.Parts {
			switch p.Kind {
			case session.PartToolCall:
				want.ToolCalls++
			case session.PartImage:
				want.LeftOut += p.Size
			}
		}
	}
	for _, r := range records {
		if r.kind != "session" {
			continue
		}
		if want.Headers++; want.Headers == 1 {
			version, _ := r.integer("version")
			want.SessionID, want.Version = r.id, int(max(version, 1))
		}
	}
	got := session.Scan{
		Messages: scan.Messages, First: scan.First, Last: scan.Last, ToolCalls: scan.ToolCalls, LeftOut: scan.LeftOut,
		Headers: scan.Headers, SessionID: scan.SessionID, Version: scan.Version,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("totals (-oracle +scan): %s", diff)
	}
	sum := 0
	for _, n := range scan.ByRole {
		sum += n
	}
	if sum != scan.Messages {
		t.Fatalf("ByRole adds up to %d of %d messages", sum, scan.Messages)
	}
}

func TestPiformatScanAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { compare(t, drawLog(t)) })
}

func TestPiformatScanThinking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		var want []piformatSaid
		for _, r := range naiveRead(log, true) {
			if r.message != nil {
				want = append(want, *r.message)
			}
		}
		all, _, err := scanAll(log, session.ScanOptions{Thinking: true})
		if errors.Is(err, session.ErrUnknownFormat) {
			return
		}
		if diff := cmp.Diff(want, all); diff != "" {
			t.Fatalf("(-oracle +scan): %s\n%s", diff, log)
		}
	})
}

// sessionFiles returns the samples of the pi family.
func sessionFiles(t *testing.T, dirs ...string) map[string][]byte {
	t.Helper()
	root := samples.Beside(t, "samples")
	files := make(map[string][]byte)
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(dir)), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.Contains(path, ".jsonl") || strings.HasSuffix(path, ".lock") {
				return err
			}
			text, err := piformatReadLog(path)
			name, _ := filepath.Rel(root, path)
			files[filepath.ToSlash(name)] = text
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestPiformatScanSamples(t *testing.T) {
	files := sessionFiles(t, "pi", "openclaw", "real/pi", "real/openclaw-2026.7.1", "real/openclaw-2026.9.6", "real/openclaw-migrated-9.6")
	if len(files) < 50 {
		t.Errorf("only %d samples", len(files))
	}
	for name, log := range files {
		t.Run(name, func(t *testing.T) { compare(t, log) })
	}
}

func TestPiformatScanLargeSession(t *testing.T) {
	all, scan := scanTwice(t, readSample(t, "pi/large-session.jsonl"))
	if scan.Version != 1 || scan.Messages != 914 || len(all) != 914 || scan.Tree.Forked() {
		t.Errorf("version %d, %d messages, forked %v", scan.Version, scan.Messages, scan.Tree.Forked())
	}
	if scan.ToolCalls != 391 || scan.ByRole[session.RoleToolResult] != 391-18 {
		t.Errorf("%d calls and %d results, want 391 and 18 less",
			scan.ToolCalls, scan.ByRole[session.RoleToolResult])
	}
}

func FuzzPiformatScan(f *testing.F) {
	files, err := filepath.Glob("testdata/piformat/*.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatal("no logs in testdata", err)
	}
	for _, name := range files {
		log, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(log)
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		if len(log) > 1<<16 || salvageable(log) || bytes.HasPrefix(log, []byte("\xFF\xFE")) || bytes.HasPrefix(log, []byte("\xFE\xFF")) {
			checkOffsets(t, log)
			return
		}
		if strange(log) {
			return
		}
		compare(t, log)
	})
}

// The same with logs that are drawn from the fuzzer's bytes.
func FuzzPiformatScanOfDrawnLog(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		log := drawLog(t)
		compare(t, log)
		compareTail(t, log)
	}))
}

// checkOffsets checks what holds for every file: a message is where it says.
func checkOffsets(t *testing.T, log []byte) {
	all, _, err := scanAll(log, session.ScanOptions{})
	if err != nil && !errors.Is(err, session.ErrUnknownFormat) {
		t.Fatal(err)
	}
	last := int64(0)
	for i, m := range all {
		if m.Ordinal != i || m.Offset < last || m.Offset+m.Length > int64(len(log)) {
			t.Fatalf("message %d has ordinal %d and bytes %d+%d of %d", i, m.Ordinal, m.Offset, m.Length, len(log))
		}
		last = m.Offset + m.Length
		if raw := log[m.Offset:last]; len(raw) < 2 || raw[0] != '{' || raw[len(raw)-1] != '}' {
			t.Fatalf("message %d is %q", i, raw)
		}
	}
}

// strange reports whether the oracle reads a log differently on purpose: two
// places for an exit code, or UTF-16 without a mark.
func strange(log []byte) bool {
	return bytes.Contains(log, []byte("exitCode")) || bytes.ContainsAny(log[:min(len(log), 4)], "\x00")
}

func TestPiformatScanStopsWithEmit(t *testing.T) {
	log := readTestdata(t, "forks.jsonl")
	stop := fmt.Errorf("enough: %w", jsonl.ErrSyntax) // must not look like a bad line
	seen := 0
	_, err := piformat.Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{}, func(*session.Message) error {
		seen++
		return stop
	})
	if err != stop || seen != 1 {
		t.Errorf("error %v after %d messages", err, seen)
	}
}

func TestPiformatScanErrors(t *testing.T) {
	log := readTestdata(t, "forks.jsonl")
	broken := errors.New("broken")
	r := io.MultiReader(bytes.NewReader(log[:len(log)/2]), iotest.ErrReader(broken))
	seen := 0
	scan, err := piformat.Scan(context.Background(), r, session.ScanOptions{}, func(*session.Message) error { seen++; return nil })
	if !errors.Is(err, broken) || scan.Messages != seen || seen == 0 || scan.Tree != nil {
		t.Errorf("error %v, %d messages counted, %d seen", err, scan.Messages, seen)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := piformat.Scan(ctx, bytes.NewReader(log), session.ScanOptions{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a cancelled scan", err)
	}
}

func readTestdata(t testing.TB, name string) []byte {
	t.Helper()
	log, err := os.ReadFile(filepath.Join("testdata", "piformat", name))
	if err != nil {
		t.Fatal(err)
	}
	return log
}
