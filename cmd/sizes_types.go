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
	Notes     []note    `json:"notes"`
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
	shares := map[string]*session.Breakdown{}
	doc := typesDocument{Schema: 1, Types: []typeRow{}}
	for _, s := range sessions {
		if s.Kind == session.KindDatabase {
			continue
		}
		b := shares[s.Runtime]
		if b == nil {
			b = session.NewBreakdown()
			shares[s.Runtime] = b
		}
		if err := readWhole(ctx, s, b); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			a.notice(note{Path: s.Path, Message: err.Error()})
			continue
		}
		doc.Sessions++
	}
	for _, b := range shares {
		doc.Bytes += b.Bytes
		doc.Base64 += b.Base64
		doc.Duplicate += b.Duplicate
	}
	for _, runtime := range slices.Sorted(maps.Keys(shares)) {
		doc.addTypes(runtime, shares[runtime])
	}
	slices.SortStableFunc(doc.Types, func(x, y typeRow) int { return cmp.Compare(y.Bytes, x.Bytes) })
	return renderTypes(a, doc)
}

func (d *typesDocument) addTypes(runtime string, b *session.Breakdown) {
	for _, name := range slices.Sorted(maps.Keys(b.Types)) {
		share := b.Types[name]
		d.Types = append(d.Types, typeRow{Runtime: runtime, Type: name, Records: share.Records, Bytes: share.Bytes, Percent: percentOf(share.Bytes, d.Bytes)})
	}
}

// readWhole reads one log, compressed or not, wherever it is.
func readWhole(ctx context.Context, s found, b *session.Breakdown) (err error) {
	if source, ok := s.store.(session.LogSource); ok && s.Kind == session.KindStored {
		log, err := source.OpenLog(ctx, s.Ref)
		if err != nil {
			return err
		}
		return errors.Join(b.Add(ctx, log), log.Close())
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
	if a.global.JSON {
		return a.printJSON(doc)
	}
	rows := make([][]string, 0, len(doc.Types)+2)
	for _, t := range doc.Types {
		rows = append(rows, []string{t.Runtime, visible(t.Type), strconv.Itoa(t.Records), formatBytes(t.Bytes), fmt.Sprintf("%.1f%%", t.Percent)})
	}
	if err := a.printRows(rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "%s in %s; base64 %s (%.1f%%), repeated text %s (%.1f%%)\n", formatBytes(doc.Bytes), plural(doc.Sessions, "log"),
		formatBytes(doc.Base64), percentOf(doc.Base64, doc.Bytes), formatBytes(doc.Duplicate), percentOf(doc.Duplicate, doc.Bytes))
	return err
}
