package annabelle

import (
	"context"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// measured is what the runtime goes by when it decides to compact.
type measured struct {
	turns     int
	chars     int64 // of the texts of the turns; what tools said does not count
	compacted int64 // epoch milliseconds of the last compaction, 0 for none
	replaced  int   // turns that compactions so far have replaced
}

// Due implements [session.Trigger] with the conditions of seed 000: all must
// be true. The time of the last compaction is taken from its record, because
// the runtime keeps it only in memory.
func (s *Store) Due(ctx context.Context, q session.DueQuestion) (bool, string, error) {
	d, name, err := directory.Of(s.base, q.Ref.Path, 1)
	if err != nil {
		return false, "", err
	}
	defer d.Close()
	log, _, err := d.OpenLog(name)
	if err != nil {
		return false, "", err
	}
	defer log.Close()
	m, err := measure(ctx, log)
	if err != nil {
		return false, "", err
	}
	due, reason := s.due(m, q.Now)
	return due, reason, nil
}

func (s *Store) due(m measured, now time.Time) (bool, string) {
	o := s.options
	since := now.Sub(time.UnixMilli(m.compacted))
	switch {
	case m.turns < o.MinTurns:
		return false, fmt.Sprintf("%d turns, due from %d", m.turns, o.MinTurns)
	case m.chars <= o.ThresholdChars:
		return false, fmt.Sprintf("%d characters, due above %d", m.chars, o.ThresholdChars)
	case m.compacted > 0 && since < o.Cooldown:
		return false, fmt.Sprintf("compacted %s ago, due again after %s", since.Round(time.Second), o.Cooldown)
	}
	return true, ""
}

// measure reads a log as the runtime loads it: a compaction takes the place of
// what was before it.
func measure(ctx context.Context, log io.Reader) (measured, error) {
	var m measured
	var d decoder
	_, err := jsonl.Scan(ctx, log, jsonl.Options{}, func(r *jsonl.Record) error {
		if err := d.decode(r.Raw); err != nil {
			return err
		}
		switch string(d.record.kind) {
		case kindTurn:
			m.turns++
			m.chars += characters(d.record.user) + characters(d.record.assistant)
		case kindCompaction:
			at, _, _ := session.ParseTime(d.record.time)
			m = measured{compacted: at, replaced: m.replaced + int(d.record.compacted)}
		}
		return nil
	})
	if err != nil {
		return m, fmt.Errorf("read the log: %w", err)
	}
	return m, nil
}

// characters counts as JavaScript does, in UTF-16 units.
func characters(text []byte) (n int64) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if n++; r > 0xFFFF {
			n++
		}
		text = text[size:]
	}
	return n
}
