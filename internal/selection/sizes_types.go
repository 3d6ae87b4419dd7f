package selection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// TypesDocument is `sizes --by-type --json`.
type TypesDocument struct {
	Schema    int       `json:"schema"`
	Sessions  int       `json:"sessions"` // logs that were read
	Bytes     int64     `json:"bytes"`
	Types     []typeRow `json:"types"` // the largest first
	Base64    int64     `json:"base64_bytes"`
	Duplicate int64     `json:"duplicate_bytes"`
	Told      voicesRow `json:"told"`
	// Databases are those in which sessions lie, and those that fill disks beside
	// them.
	Databases []DatabaseRow    `json:"databases"`
	Notes     []workspace.Note `json:"notes"`
}

type typeRow struct {
	Runtime string  `json:"runtime"`
	Type    string  `json:"type"`
	Records int     `json:"records"`
	Bytes   int64   `json:"bytes"`
	Percent float64 `json:"percent"` // of all bytes
}

// voicesRow is what agents are told, in bytes of text, by whose words it is.
type voicesRow struct {
	Messages int   `json:"messages"`
	Carried  int   `json:"carried_messages"` // the same, told to another agent first: they are not counted again
	Bytes    int64 `json:"bytes"`
	Said     int64 `json:"said_bytes"`    // by people, in words
	Pasted   int64 `json:"pasted_bytes"`  // logs, code, documents
	Program  int64 `json:"program_bytes"` // put there by a program
}

// Copies says how many messages are left out, because they were carried over.
func (v voicesRow) Copies() string {
	if v.Carried == 0 {
		return ""
	}
	return "; " + wording.Plural(v.Carried, "message") + " that continue carried not counted again"
}

// LogTypes says what logs are made of: records and bytes by type.
type LogTypes struct {
	Doc     TypesDocument
	Largest []session.LargeRecord // their Log is the index of a log
	Failed  []error               // by log: why it could not be read
}

// TypesOf reads logs in full and says what fills them; with voices, it reads them
// once more for whose words they say.
func TypesOf(ctx context.Context, a *workspace.Settings, logs []workspace.Found, voices bool) (LogTypes, error) {
	t := LogTypes{Doc: TypesDocument{Schema: 1, Types: []typeRow{}}}
	whole := map[string]*session.Breakdown{} // by runtime
	for _, s := range logs {
		if whole[s.Runtime] == nil {
			whole[s.Runtime] = session.NewBreakdown()
		}
	}
	var err error
	if t.Failed, err = readTypes(ctx, a, logs, whole, voices); err != nil {
		return t, err
	}
	for _, err := range t.Failed {
		if err == nil {
			t.Doc.Sessions++
		}
	}
	all := session.NewBreakdown()
	for _, b := range whole {
		all.Merge(b)
	}
	t.Doc.Bytes, t.Doc.Base64, t.Doc.Duplicate, t.Largest = all.Bytes, all.Base64, all.Duplicate, all.Largest
	v := all.Told
	copies := v.Once(all.Carried, func(o session.Origin) bool {
		return slices.ContainsFunc(logs, func(s workspace.Found) bool { return s.Runtime == o.Runtime && session.CleanID(s.ID) == o.Session })
	})
	t.Doc.Told = voicesRow{Messages: v.Messages, Carried: copies, Bytes: v.Bytes(), Said: v.Said, Pasted: v.Pasted, Program: v.Program}
	for _, runtime := range slices.Sorted(maps.Keys(whole)) {
		t.Doc.addTypes(runtime, whole[runtime])
	}
	slices.SortStableFunc(t.Doc.Types, func(x, y typeRow) int { return cmp.Compare(y.Bytes, x.Bytes) })
	return t, nil
}

// readTypes reads logs, as many at a time as there are workers, and adds up
// what is in them. It returns, log by log, why one could not be read.
func readTypes(ctx context.Context, a *workspace.Settings, logs []workspace.Found, whole map[string]*session.Breakdown, voices bool) ([]error, error) {
	parts := make([]map[string]*session.Breakdown, a.Workers())
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
		failed[i] = readWhole(ctx, logs[i], b, voices)
	})
	for _, part := range parts {
		for runtime, b := range part {
			whole[runtime].Merge(b)
		}
	}
	return failed, err
}

func (d *TypesDocument) addTypes(runtime string, b *session.Breakdown) {
	for _, name := range slices.Sorted(maps.Keys(b.Types)) {
		share := b.Types[name]
		d.Types = append(d.Types, typeRow{Runtime: runtime, Type: name, Records: share.Records, Bytes: share.Bytes, Percent: PercentOf(share.Bytes, d.Bytes)})
	}
}

// readWhole reads one log, compressed or not, wherever it is.
func readWhole(ctx context.Context, s workspace.Found, b *session.Breakdown, voices bool) error {
	if source := s.Adapter.Capabilities().SourceOf(s.Ref); source != nil {
		return readRecords(ctx, s, b, voices, func() (io.ReadCloser, error) { return source.OpenLog(ctx, s.Ref) })
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
		return b.AddMessages(ctx, f, s.Bytes, s.Adapter.Scan)
	}
	return readRecords(ctx, s, b, voices, func() (io.ReadCloser, error) {
		_, err := f.Seek(0, io.SeekStart)
		log, _, failed := jsonl.Decompress(f, s.Bytes)
		if err = errors.Join(err, failed); err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		return log, nil
	})
}

// readRecords counts the records of a log and, with voices, what its messages say.
func readRecords(ctx context.Context, s workspace.Found, b *session.Breakdown, voices bool, open func() (io.ReadCloser, error)) error {
	log, err := open()
	if err != nil {
		return err
	}
	if err = errors.Join(b.Add(ctx, log), log.Close()); err != nil || !voices {
		return err
	}
	if log, err = open(); err != nil {
		return err
	}
	return errors.Join(b.AddVoices(ctx, log, s.Adapter.Scan), log.Close())
}

// PercentOf is a share in percent.
func PercentOf(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part*1000/whole) / 10
}
