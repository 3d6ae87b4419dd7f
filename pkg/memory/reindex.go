package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/vectors"
)

// ReindexResult is what Reindex did.
type ReindexResult struct {
	Vectors int  // that the agents have of the model now
	Pending int  // records that could not be embedded
	Waiting int  // records that nobody tried to embed: the embedder cannot serve
	Done    bool // the new vectors are in use; else the old ones still are
}

// ReindexProgress is told how many records of an agent are done of how many.
type ReindexProgress func(agent string, done, total int64)

// EmbedMissing gives a vector of the model to every record of these agents
// that has none, or one that is not what was stored. Other vectors stay.
func (s embeddings) EmbedMissing(ctx context.Context, e embed.Embedder, m embed.Model, agents []string, progress ReindexProgress) (ReindexResult, error) {
	for _, agent := range agents {
		if _, err := s.Reclaim(ctx, m, agent); err != nil {
			return ReindexResult{}, err
		}
	}
	result, err := s.embedAgents(ctx, e, m, agents, progress)
	if err != nil {
		return result, err
	}
	result.Vectors, err = vectors.Count(ctx, s.db, m, agents)
	result.Done = result.Waiting == 0
	return result, err
}

// Reindex makes new vectors for these agents, with this model, beside those in
// use, and then switches in one transaction: before it recall sees all of the old
// vectors, after it all of the new ones. The old ones, also those of other models,
// go, and the database is written anew, so that their room is given back. A Reindex that was killed, or found the embedder out of
// service, is taken up again where it stopped.
func (s embeddings) Reindex(ctx context.Context, e embed.Embedder, m embed.Model, agents []string, progress ReindexProgress) (ReindexResult, error) {
	result, err := s.embedAgents(ctx, e, vectors.Beside(m), agents, progress)
	if err != nil || result.Waiting > 0 {
		return result, err
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		result.Vectors, err = vectors.ChangeOver(ctx, tx, m, agents)
		return err
	})
	if err != nil {
		return result, fmt.Errorf("change over to the new vectors: %w", err)
	}
	result.Done = true
	return result, s.giveBack(ctx)
}

// embedAgents embeds what some agents have pending.
func (s embeddings) embedAgents(ctx context.Context, e embed.Embedder, m embed.Model, agents []string, progress ReindexProgress) (ReindexResult, error) {
	var result ReindexResult
	for _, agent := range agents {
		refused, waiting, err := s.embedAgent(ctx, e, m, agent, progress)
		if err != nil {
			return result, err
		}
		result.Pending += refused
		result.Waiting += waiting
	}
	return result, nil
}

// embedAgent embeds what an agent has pending. It returns what could not be
// embedded, and what nobody tried.
func (s embeddings) embedAgent(ctx context.Context, e embed.Embedder, m embed.Model, agent string, progress ReindexProgress) (refused, waiting int, err error) {
	pending, err := s.EmbedPending(ctx, e, m, agent, func(done, total int64) {
		if progress != nil {
			progress(agent, done, total)
		}
	})
	if err != nil {
		return 0, 0, err
	}
	waiting, err = s.untried(ctx, m, agent)
	return pending - waiting, waiting, err
}

// untried counts the pending records of an agent that no embedder has seen.
func (s embeddings) untried(ctx context.Context, m embed.Model, agent string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM pending WHERE model=? AND agent=? AND tries=0", m.Fingerprint(), agent).Scan(&n)
	return n, database.Classify(err)
}

// giveBack writes the database anew after much of it has become free. Where somebody
// reads it nobody is waited for, and that room is filled later: nothing is wrong then.
func (s *connection) giveBack(ctx context.Context) error {
	err := database.Classify(s.overwriting(ctx, func(ctx context.Context, c *sql.Conn) error {
		if _, err := c.ExecContext(ctx, "PRAGMA busy_timeout=0"); err != nil {
			return err
		}
		defer c.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf("PRAGMA busy_timeout=%d", lockPatience.Milliseconds()))
		return s.wipeDatabase(ctx, c)
	}))
	if err == nil || errors.Is(err, ErrBusy) {
		return nil
	}
	return fmt.Errorf("give back the room of the old vectors: %w", err)
}

// embedPage is how many pending texts are held at a time, and stored together.
const embedPage = 512

// pageOf is embedPage, or for a server one batch: that may have taken minutes,
// so a run that is killed or interrupted keeps what it was given.
func pageOf(m embed.Model) int {
	if m.Provider == builtinProvider {
		return embedPage
	}
	return embed.DefaultBatch
}

// builtinProvider is that of embed.Builtin.
const builtinProvider = "builtin"

// EmbedPending gives a vector to every record of an agent that has none. What
// cannot be embedded stays text and is counted in pending; an embedder that
// cannot serve at all leaves everything pending and is not an error.
// progress is told how many records are done of how many, and may be nil.
func (s embeddings) EmbedPending(ctx context.Context, e embed.Embedder, m embed.Model, agent string, progress func(done, total int64)) (pending int, err error) {
	if _, err := s.reclaim(ctx, m, agent, time.Now().Add(-checkEvery)); err != nil {
		return 0, err
	}
	open, refused, err := s.CountPending(ctx, m, agent)
	if err != nil {
		return 0, fmt.Errorf("count pending records: %w", err)
	}
	total, done := open, 0
	pages := s.embeddedPages(ctx, e, m, agent)
	if pageOf(m) == embedPage { // else the time is the server's, and what it has made is stored before it is asked again
		pages = ahead(pages, pagesAhead)
	}
	for p, err := range pages {
		if err == nil {
			err = s.PutVectors(ctx, m, agent, p.vectors, p.failures)
		}
		if err != nil {
			return total - done + refused, err
		}
		done += p.made
		if progress != nil {
			progress(int64(done), int64(total))
		}
		if p.down || done >= total {
			break
		}
	}
	open, refused, err = s.CountPending(ctx, m, agent)
	return open + refused, err
}

// embeddedPage is what an embedder made of a page of records.
type embeddedPage struct {
	vectors  []Vector
	failures []Failure
	made     int  // records that are done
	down     bool // the embedder cannot serve at all
}

// embeddedPages embeds the records of an agent that are pending, page by page. It
// ends with a page of which the embedder was out of service.
func (s embeddings) embeddedPages(ctx context.Context, e embed.Embedder, m embed.Model, agent string) iter.Seq2[embeddedPage, error] {
	return func(yield func(embeddedPage, error) bool) {
		for after := int64(0); ; {
			texts, err := s.pendingAfter(ctx, m, agent, page{after, pageOf(m)})
			if err != nil {
				yield(embeddedPage{}, err)
				return
			}
			if len(texts) == 0 {
				return
			}
			after = texts[len(texts)-1].row
			p, err := embedTexts(ctx, e, m, texts)
			if !yield(p, err) || err != nil || p.down {
				return
			}
		}
	}
}

// embedTexts embeds one page.
func embedTexts(ctx context.Context, e embed.Embedder, m embed.Model, page []pendingText) (p embeddedPage, err error) {
	texts := make([]string, len(page))
	for i, p := range page {
		texts[i] = p.text
	}
	for r := range embed.Batches(ctx, e, texts, embed.BatchOptions{Dim: m.Dim}) {
		switch {
		case r.Err == nil:
			p.vectors = append(p.vectors, Vector{ID: page[r.Index].id, Values: r.Vector})
		case errors.Is(r.Err, embed.ErrUnavailable):
			p.down = true // not the text's fault: it is not counted against it
		case errors.Is(r.Err, embed.ErrNoVector):
			p.failures = append(p.failures, Failure{ID: page[r.Index].id, Reason: r.Err.Error(), Nothing: true})
			p.made++
		default:
			p.failures = append(p.failures, Failure{ID: page[r.Index].id, Reason: r.Err.Error()})
		}
	}
	p.made += len(p.vectors)
	return p, ctx.Err()
}

// pendingText is a record that has no vector yet.
type pendingText struct {
	row      int64
	id, text string
}

const (
	// maxTries is how often a record that an embedder refuses is offered again.
	maxTries = 3
	// nothingTries marks a record that has nothing to embed.
	nothingTries = 1000
)

// page is a part of a long list: up to limit rows after a row.
type page struct {
	after int64
	limit int
}

func (s embeddings) pendingAfter(ctx context.Context, model embed.Model, agent string, p page) ([]pendingText, error) {
	return database.All(ctx, database.For(s.db, "list pending records"), func(p *pendingText) []any { return []any{&p.row, &p.id, (*keptText)(&p.text)} },
		`SELECT r.rowid, r.id, t.text FROM pending p JOIN records r ON r.rowid=p.record JOIN texts t ON t.record=p.record
		WHERE p.model=? AND p.agent=? AND p.record>? AND p.tries<? ORDER BY p.record LIMIT ?`, model.Fingerprint(), agent, p.after, maxTries, p.limit)
}

// CountPending returns how many records of an agent have no vector of a model:
// those that are open, and those that were refused too often. What has nothing
// to embed counts as neither.
func (s embeddings) CountPending(ctx context.Context, model embed.Model, agent string) (open, refused int, err error) {
	if err := s.register(ctx, model); err != nil {
		return 0, 0, err
	}
	err = s.db.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE tries<?1), count(*) FILTER (WHERE tries>=?1 AND tries<?2)
		FROM pending WHERE model=?3 AND agent=?4`, maxTries, nothingTries, model.Fingerprint(), agent).Scan(&open, &refused)
	return open, refused, database.Classify(err)
}

// noteFailures counts a failed try against each record.
func noteFailures(ctx context.Context, tx *sql.Tx, model embed.Model, failed []Failure) error {
	for _, f := range failed {
		tries := 1
		if f.Nothing {
			tries = nothingTries
		}
		_, err := tx.ExecContext(ctx, `UPDATE pending SET tries=tries+?, reason=? WHERE model=? AND record=(SELECT rowid FROM records WHERE id=?)`,
			tries, f.Reason, model.Fingerprint(), f.ID)
		if err != nil {
			return fmt.Errorf("note failures: %w", err)
		}
	}
	return nil
}
