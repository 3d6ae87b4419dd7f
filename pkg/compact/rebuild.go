package compact

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// ArchivedLog is an archived log that is to be remembered again.
type ArchivedLog struct {
	Ref       session.Ref // whose log it was
	Archived  Archived
	CreatedAt time.Time // of the archive
}

// ArchivedRecord is a record and the archive that it is made from. Only a
// rebuild needs it, whose records come from several archives of a session.
type ArchivedRecord struct {
	Record
	From Archived
}

// Rebuilder stores the records of one session again, in one transaction: those
// of the same archives that are not among them go. An archive that is the beginning of
// longer ones is in each of them.
type Rebuilder interface {
	Rebuild(ctx context.Context, ref session.Ref, archives []Origin, records iter.Seq2[ArchivedRecord, error]) (Remembered, error)
}

// Rebuilt is what Rebuild did with one session.
type Rebuilt struct {
	Remembered
	Archives int // that were read and verified, those that a later one continues included
	Damaged  []DamagedLog
}

// DamagedLog is an archive that could not be remembered, and why.
type DamagedLog struct {
	Archived Archived
	Err      error
}

// Rebuild remembers one session again from its archives, oldest first. An
// archive whose bytes are the beginning of a longer one is not read twice: the
// longer one says it all. What an archive that does not verify says is not
// touched in memory; it is among the damaged. Vectors are not made.
func (c *Compactor) Rebuild(ctx context.Context, store session.Store, logs []ArchivedLog, policy Policy, keeper Rebuilder) (Rebuilt, error) {
	b := &rebuild{memories: c.memories(), store: store, policy: policy}
	var result Rebuilt
	logs = slices.SortedFunc(slices.Values(logs), func(x, y ArchivedLog) int { return cmp.Compare(y.Archived.Bytes, x.Archived.Bytes) })
	for i, log := range logs {
		if b.covers(log.Archived.ID) {
			continue
		}
		err := b.take(ctx, log, logs[i+1:])
		if ctx.Err() != nil {
			return result, ctx.Err()
		}
		if err != nil {
			result.Damaged = append(result.Damaged, DamagedLog{log.Archived, err})
		}
	}
	for _, log := range logs {
		if b.covers(log.Archived.ID) {
			result.Archives++
		}
	}
	if len(b.readers) == 0 {
		return result, nil
	}
	slices.SortStableFunc(b.readers, func(x, y archiveReader) int { return x.log.CreatedAt.Compare(y.log.CreatedAt) })
	var err error
	result.Remembered, err = keeper.Rebuild(ctx, logs[0].Ref, b.covered, b.records(ctx))
	if err != nil {
		return result, fmt.Errorf("remember again: %w", err)
	}
	return result, nil
}

// rebuild is one session on its way.
type rebuild struct {
	memories
	store   session.Store
	policy  Policy
	covered []Origin
	readers []archiveReader
}

// archiveReader is an archive that was read to its end once.
type archiveReader struct {
	log     ArchivedLog
	tree    *session.Tree
	secrets *secrets.Session
}

// take reads an archive to its end, where its hash is checked, and notes which
// of the shorter ones it begins with.
func (b *rebuild) take(ctx context.Context, log ArchivedLog, shorter []ArchivedLog) error {
	starts := &beginnings{}
	for _, s := range shorter {
		starts.lengths = append(starts.lengths, s.Archived.Bytes)
	}
	slices.Sort(starts.lengths)
	survey, err := takeSurvey(ctx, b.store, b.policy.survey(), func() (io.ReadCloser, error) {
		r, err := b.archives.Open(ctx, log.Archived)
		if err != nil {
			return nil, err
		}
		return starts.watch(r), nil
	})
	if err != nil {
		return err
	}
	b.covered = append(b.covered, Origin{Archived: log.Archived})
	b.readers = append(b.readers, archiveReader{log, forked(survey.Scan.Tree), survey.secrets})
	for _, s := range shorter {
		if starts.sums[s.Archived.Bytes] == s.Archived.SHA256 {
			b.covered = append(b.covered, Origin{Archived: s.Archived, In: log.Archived})
		}
	}
	return nil
}

// covers reports whether an archive, or a longer one that begins with it, was read.
func (b *rebuild) covers(id string) bool {
	return slices.ContainsFunc(b.covered, func(o Origin) bool { return o.ID == id })
}

// records yields the records of all archives that were taken.
func (b *rebuild) records(ctx context.Context) iter.Seq2[ArchivedRecord, error] {
	return func(yield func(ArchivedRecord, error) bool) {
		for _, r := range b.readers {
			m := b.recorder(ctx, r)
			for record, err := range m.records(ctx) {
				if !yield(ArchivedRecord{record, r.log.Archived}, err) || err != nil {
					return
				}
			}
		}
	}
}

func (b *rebuild) recorder(ctx context.Context, r archiveReader) *recorder {
	m := &recorder{store: b.store, ref: r.log.Ref, policy: b.policy, tree: r.tree, secrets: r.secrets, open: func() (io.ReadCloser, error) {
		return b.archives.Open(ctx, r.log.Archived)
	}}
	if b.summarizer != nil && !b.policy.SkipSummary {
		m.summary = b.summarizer(SummaryOrder{Ref: r.log.Ref, Style: b.store.Capabilities().SummaryStyle, Offline: true})
	}
	return m
}
