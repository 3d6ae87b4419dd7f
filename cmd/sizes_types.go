package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// typesDocument is `sizes --by-type --json`.
type typesDocument struct {
	Schema    int       `json:"schema"`
	Sessions  int       `json:"sessions"` // logs that were read
	Bytes     int64     `json:"bytes"`
	Types     []typeRow `json:"types"` // the largest first
	Base64    int64     `json:"base64_bytes"`
	Duplicate int64     `json:"duplicate_bytes"`
	// Databases are those in which sessions lie, and those that fill disks beside
	// them.
	Databases []databaseRow `json:"databases"`
	Notes     []note        `json:"notes"`
}

type typeRow struct {
	Runtime string  `json:"runtime"`
	Type    string  `json:"type"`
	Records int     `json:"records"`
	Bytes   int64   `json:"bytes"`
	Percent float64 `json:"percent"` // of all bytes
}

// runTypes reads every log in full and says what fills it.
func runTypes(ctx context.Context, a *app, sessions []found) error {
	databases := a.databasesOf(ctx, sessions)
	logs := slices.DeleteFunc(sessions, func(s found) bool { return s.Kind == session.KindDatabase })
	t, err := a.typesOf(ctx, logs)
	if err != nil {
		return err
	}
	for i, err := range t.failed {
		a.tellUnread(logs[i].Path, err)
	}
	t.doc.Databases = databases
	return renderTypes(a, t.doc)
}

// logTypes says what logs are made of.
type logTypes struct {
	doc     typesDocument
	largest []session.LargeRecord // their Log is the index of a log
	failed  []error               // by log: why it could not be read
}

// typesOf reads logs in full and says what fills them.
func (a *settings) typesOf(ctx context.Context, logs []found) (logTypes, error) {
	t := logTypes{doc: typesDocument{Schema: 1, Types: []typeRow{}}}
	whole := map[string]*session.Breakdown{} // by runtime
	for _, s := range logs {
		if whole[s.Runtime] == nil {
			whole[s.Runtime] = session.NewBreakdown()
		}
	}
	var err error
	if t.failed, err = a.readTypes(ctx, logs, whole); err != nil {
		return t, err
	}
	for _, err := range t.failed {
		if err == nil {
			t.doc.Sessions++
		}
	}
	all := session.NewBreakdown()
	for _, b := range whole {
		all.Merge(b)
	}
	t.doc.Bytes, t.doc.Base64, t.doc.Duplicate, t.largest = all.Bytes, all.Base64, all.Duplicate, all.Largest
	for _, runtime := range slices.Sorted(maps.Keys(whole)) {
		t.doc.addTypes(runtime, whole[runtime])
	}
	slices.SortStableFunc(t.doc.Types, func(x, y typeRow) int { return cmp.Compare(y.Bytes, x.Bytes) })
	return t, nil
}

// readTypes reads logs, as many at a time as there are workers, and adds up
// what is in them. It returns, log by log, why one could not be read.
func (a *settings) readTypes(ctx context.Context, logs []found, whole map[string]*session.Breakdown) ([]error, error) {
	parts := make([]map[string]*session.Breakdown, a.workers())
	for worker := range parts {
		parts[worker] = map[string]*session.Breakdown{}
		for runtime, b := range whole {
			parts[worker][runtime] = b.Beside()
		}
	}
	failed := make([]error, len(logs))
	err := session.Spread(ctx, len(parts), len(logs), func(worker, i int) {
		b := parts[worker][logs[i].Runtime]
		b.Log = i
		failed[i] = readWhole(ctx, logs[i], b)
	})
	for _, part := range parts {
		for runtime, b := range part {
			whole[runtime].Merge(b)
		}
	}
	return failed, err
}

func (d *typesDocument) addTypes(runtime string, b *session.Breakdown) {
	for _, name := range slices.Sorted(maps.Keys(b.Types)) {
		share := b.Types[name]
		d.Types = append(d.Types, typeRow{Runtime: runtime, Type: name, Records: share.Records, Bytes: share.Bytes, Percent: percentOf(share.Bytes, d.Bytes)})
	}
}

// readWhole reads one log, compressed or not, wherever it is.
func readWhole(ctx context.Context, s found, b *session.Breakdown) (err error) {
	if source := s.store.Capabilities().SourceOf(s.Ref); source != nil {
		log, err := source.OpenLog(ctx, s.Ref)
		if err != nil {
			return err
		}
		return errors.Join(b.Add(ctx, log), log.Close())
	}
	if s.Kind == session.KindOutput { // no log: of any text, or none
		b.AddFile(string(s.Kind), s.Bytes)
		return nil
	}
	f, err := durable.OpenRegular(s.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	if ext := filepath.Ext(s.Path); ext == ".md" || ext == ".json" {
		return b.AddMessages(ctx, f, s.Bytes, s.store.Scan)
	}
	var log io.ReadCloser
	if log, _, err = jsonl.Decompress(f, s.Bytes); err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	return errors.Join(b.Add(ctx, log), log.Close())
}

func percentOf(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part*1000/whole) / 10
}

func renderTypes(a *app, doc typesDocument) error {
	doc.Notes = a.notes
	if a.JSON {
		return a.printJSON(doc)
	}
	t := table{empty: "no records", columns: []column{
		{name: "RUNTIME", drop: 1}, {name: "TYPE", least: 16}, {name: "RECORDS", right: true}, {name: "SIZE", right: true}, {name: "SHARE", right: true},
	}}
	rows := make([][]string, 0, len(doc.Types)+1)
	for _, r := range doc.Types {
		size, share := formatBytes(r.Bytes), fmt.Sprintf("%.1f%%", r.Percent)
		rows = append(rows, []string{r.Runtime, visible(r.Type), strconv.Itoa(r.Records), size, share})
		t.rows = append(t.rows, []string{r.Runtime, r.Type, formatCount(int64(r.Records)), size, share})
	}
	t.footer = fmt.Sprintf("%s in %s; base64 %s (%.1f%%), repeated text %s (%.1f%%)", formatBytes(doc.Bytes), plural(doc.Sessions, "log"),
		formatBytes(doc.Base64), percentOf(doc.Base64, doc.Bytes), formatBytes(doc.Duplicate), percentOf(doc.Duplicate, doc.Bytes))
	if err := a.printList(t, append(rows, []string{t.footer})); err != nil {
		return err
	}
	return a.printDatabases(doc.Databases)
}
