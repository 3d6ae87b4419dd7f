package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/vectors"
	"github.com/sessctl/sessctl/pkg/memory/words"
)

// Record is one piece of a session as memory keeps it.
type Record struct {
	ID                  string // see RecordID
	Text                string
	Category            string  // session_history, session_summary, fact or lesson
	Importance          float64 // 0 to 1
	CreatedAt           int64   // epoch milliseconds of the message
	Runtime             string
	Agent               string
	Session             string
	Key                 string // the runtime's routing key, or ""
	Archive             string // id of the archive that holds the source, or ""
	ArchivePath         string // of that archive, or of the log itself
	FirstLine, LastLine int    // in the source, 1-based, both included
	FirstByte, EndByte  int64
	Branch              string // active or abandoned; BranchCarried, BranchStored
	Position            int    // of the chunk in its session; -1 for a summary
	// Action is what a record of the category work says, nil of all others.
	Action *Action
}

// Source names the session that records come from.
type Source struct {
	Runtime, Agent, Session, Key string
	Archive, ArchivePath         string
}

// RecordID is the identity of a record: the same piece of the same session,
// cut by the same chunker, has the same id in every run.
func RecordID(agent, session string, position int, chunker, text string) string {
	b := make([]byte, 0, len(text)+256)
	for _, part := range []string{agent, session, strconv.Itoa(position), chunker, text} {
		b = append(strconv.AppendInt(b, int64(len(part)), 10), ':')
		b = append(append(b, part...), ',')
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])[:32]
}

// PutResult counts what Put did.
type PutResult struct {
	Stored   int // new
	Existing int // there already; text and source were brought up to date
	Buried   int // not stored: they were forgotten on purpose
	Repaired int // were damaged, and are stored anew
	// WordsAnew says that the index of words was damaged and was made anew of the
	// texts.
	WordsAnew bool
}

// Put stores the records of one session in one transaction; an error from the
// sequence undoes all of it. What a record does not say of its origin (runtime,
// agent, session, key, archive), the source says. Records that are there
// already keep their vector unless their text changed; a record that was
// forgotten is not stored again, and neither is one that has a part of it: begun are
// the archives with whose bytes that of the source begins, as far as pieces of them
// were forgotten. Records without a vector are pending.
func (s putting) Put(ctx context.Context, source Source, records iter.Seq2[Record, error], begun ...string) (PutResult, error) {
	return s.put(ctx, source, nil, records, begun)
}

// Embedding is the built-in embedder, and the model as which its vectors are stored.
type Embedding struct {
	Embedder *embed.Builtin
	Model    embed.Model
}

// PutEmbedded is Put with the built-in embedder: the records of the source's agent
// that are new get their vector in the same transaction. What has nothing to embed
// is noted as EmbedPending notes it; everything else that has no vector is pending.
func (s putting) PutEmbedded(ctx context.Context, source Source, by Embedding, records iter.Seq2[Record, error], begun ...string) (PutResult, error) {
	return s.put(ctx, source, &embedding{by.Embedder, by.Model, source.Agent}, records, begun)
}

func (s putting) put(ctx context.Context, source Source, e *embedding, records iter.Seq2[Record, error], begun []string) (PutResult, error) {
	var result PutResult
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		w, err := s.newEmbeddingWriter(ctx, tx, e, &result)
		if err != nil {
			return err
		}
		defer w.close()
		w.source, w.begun = source, begun
		if err := w.enterBuried(w.work.archive); err != nil { // of a log without an archive
			return err
		}
		for r, err := range ahead(records, aheadBy) {
			if err != nil {
				return err
			}
			if err := w.put(source.complete(r)); err != nil {
				return fmt.Errorf("store record %s of %s: %w", r.ID, source.Session, err)
			}
		}
		return w.finish()
	})
	if err != nil {
		return PutResult{}, err
	}
	return result, nil
}

// complete fills in what a record does not say of its origin.
func (s Source) complete(r Record) Record {
	r.Runtime = cmp.Or(r.Runtime, s.Runtime)
	r.Agent = cmp.Or(r.Agent, s.Agent)
	r.Session = cmp.Or(r.Session, s.Session)
	r.Key = cmp.Or(r.Key, s.Key)
	if r.Archive == "" && r.ArchivePath == "" {
		r.Archive, r.ArchivePath = s.Archive, s.ArchivePath
	}
	return r
}

// writer stores records in a transaction. Each statement is prepared once:
// there are many records. For a new record each writes one row: before a
// statement that may write several, SQLite makes the full-text index write
// down what it has gathered, which doubles the work.
type writer struct {
	cancelled  func() error
	ctx        context.Context // without a cancel, which costs every statement a goroutine: each is short
	tx         *sql.Tx
	result     *PutResult
	models     []string // fingerprints of those that are known
	prepared   map[string]*sql.Stmt
	texts      *textWriter     // of the work; nil until there is one
	vectors    *vectors.Writer // nil where records are only made pending
	ahead      *preparation
	sources    map[Record]int64 // what records have in common, and where it is kept
	terms      []byte
	names      *embed.NameReader // of the texts of the work; nil until there is one
	words      *words.Writer
	workWords  *words.Writer // of the texts of the work
	tombstones bool          // something was forgotten once
	wasNew     bool          // the record before was not there
	// keepTexts leaves a record alone that is no piece of a log, and whose text is
	// another one than is given.
	keepTexts bool
	work      work
	// What was forgotten in another shape is looked for in memory, which is nil where
	// that is not to be: see buriedPieces.
	memory *connection
	source Source
	begun  []string // archives with whose bytes that of source begins
	buried buriedPieces
}

func newWriter(ctx context.Context, tx *sql.Tx, result *PutResult) (*writer, error) {
	return putting{}.newEmbeddingWriter(ctx, tx, nil, result)
}

// newEmbeddingWriter returns a writer that gives new records their vectors; e may
// be nil.
func (s putting) newEmbeddingWriter(ctx context.Context, tx *sql.Tx, e *embedding, result *PutResult) (*writer, error) {
	w := &writer{memory: s.connection, cancelled: ctx.Err, ctx: context.WithoutCancel(ctx), tx: tx, result: result, prepared: map[string]*sql.Stmt{}, sources: map[Record]int64{}, words: recordWords().NewWriter(ctx, tx), workWords: workWords().NewWriter(ctx, tx)}
	var err error
	if e != nil {
		if w.vectors, err = vectors.NewWriter(w.ctx, tx, e.model, e.agent); err != nil {
			return nil, err
		}
		w.vectors.Exec = w.exec
	}
	if w.ahead, err = newPreparation(e); err != nil {
		return nil, err
	}
	if w.models, err = database.Strings(ctx, tx, "SELECT fingerprint FROM models"); err != nil {
		return nil, err
	}
	return w, tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM tombstones)").Scan(&w.tombstones)
}

// finish stores what is still held.
func (w *writer) finish() error {
	if err := (actionWriter{w}).release(math.MaxInt64); err != nil {
		return err
	}
	if err := w.leaveBuried(); err != nil {
		return err
	}
	if err := w.settle(); err != nil {
		return err
	}
	if w.vectors != nil {
		if err := w.vectors.Flush(); err != nil {
			return err
		}
	}
	return w.finishWords()
}

// finishWords stores the words that are still held. Where those of before are
// damaged it reads all anew: they stand in the texts.
func (w *writer) finishWords() error {
	if err := w.finishLexicon(w.words); err != nil {
		return err
	}
	if has, err := hasActions(w.ctx, w.tx); err != nil || !has {
		return err
	}
	return w.finishLexicon(w.workWords)
}

func (w *writer) finishLexicon(of *words.Writer) error {
	if err := of.Flush(); err != nil {
		return err
	}
	few, err := of.LackRecords(w.ctx, w.tx)
	if err != nil || !few && !of.Damaged() {
		return err
	}
	w.result.WordsAnew = true
	return readWordsAnew(of.Context(), w.tx, of.Lexicon)
}

func (w *writer) statement(text string) (*sql.Stmt, error) {
	if s, ok := w.prepared[text]; ok {
		return s, nil
	}
	s, err := w.tx.PrepareContext(w.ctx, text)
	if err == nil {
		w.prepared[text] = s
	}
	return s, err
}

func (w *writer) exec(text string, args ...any) (sql.Result, error) {
	s, err := w.statement(text)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(w.ctx, args...)
}

func (w *writer) close() {
	w.ahead.close()
	for _, s := range w.prepared {
		_ = s.Close() // the transaction decides
	}
}

const (
	selectBuried = "SELECT EXISTS (SELECT 1 FROM tombstones WHERE id=?)"
	selectKnown  = "SELECT record FROM record_rows WHERE id=?"
)

// put stores one record. One of the category work may wait for release.
func (w *writer) put(r Record) error {
	if err := w.cancelled(); err != nil {
		return err
	}
	if err := w.enter(r.Archive); err != nil {
		return err
	}
	if r.Action != nil {
		w.work.held = append(w.work.held, r)
		return nil
	}
	buried, err := w.isBuried(r.ID)
	if err != nil {
		return err
	}
	if err := w.passed(r, buried); err != nil {
		return err
	}
	if buried {
		delete(w.buried.missing, r.ID)
		w.result.Buried++
		return nil
	}
	if touched(w.buried.all, r) {
		if _, known, err := w.rowOf(r.ID); err != nil || !known {
			w.buried.waiting = append(w.buried.waiting, r)
			return err
		}
		w.wasNew = false
	}
	return w.place(r)
}

// place stores a record that was not forgotten.
func (w *writer) place(r Record) (err error) {
	rowid, known := int64(0), false
	if !w.wasNew { // else this one is new too, most likely, and inserting it tells
		if rowid, known, err = w.rowOf(r.ID); err != nil {
			return err
		}
	}
	if !known {
		if w.wasNew, err = w.insert(r); err != nil {
			return err
		}
		if w.wasNew {
			w.result.Stored++
			return nil
		}
		if rowid, _, err = w.rowOf(r.ID); err != nil {
			return err
		}
	}
	return w.update(rowid, r)
}

// isBuried says whether a record was forgotten. Where nothing ever was, nobody is
// asked.
func (w *writer) isBuried(id string) (buried bool, err error) {
	if !w.tombstones {
		return false, nil
	}
	s, err := w.statement(selectBuried)
	if err != nil {
		return false, err
	}
	return buried, s.QueryRowContext(w.ctx, id).Scan(&buried)
}

// rowOf looks for a record.
func (w *writer) rowOf(id string) (rowid int64, known bool, err error) {
	s, err := w.statement(selectKnown)
	if err != nil {
		return 0, false, err
	}
	err = s.QueryRowContext(w.ctx, id).Scan(&rowid)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return rowid, err == nil, err
}

// update brings a record up to date that is there already. One that is damaged
// is stored anew.
func (w *writer) update(rowid int64, r Record) error {
	known, err := w.read(rowid)
	switch {
	case err != nil:
		return err
	case !known.sound():
		w.result.Repaired++
		if err := errors.Join(w.words.Remove(rowid), w.dropVectors(rowid)); err != nil {
			return err
		}
		if _, err := remove(w.ctx, w.tx, "rowid=?", []any{rowid}); err != nil {
			return err
		}
		clear(w.sources) // some may be gone
		_, err := w.insert(r)
		return err
	}
	w.result.Existing++
	if w.keepTexts && r.Position < 0 && known.Text != r.Text {
		return nil
	}
	return w.refresh(rowid, r, known.Record)
}

const selectRecord = "SELECT " + columns + ", r.sum FROM records r JOIN texts t ON t.record=r.rowid WHERE r.rowid=?"

// read returns a record that is stored.
func (w *writer) read(rowid int64) (x stored, err error) {
	if err := w.settle(); err != nil {
		return x, err
	}
	s, err := w.statement(selectRecord)
	if err != nil {
		return x, err
	}
	err = s.QueryRowContext(w.ctx, rowid).Scan(x.fields()...)
	if errors.Is(err, sql.ErrNoRows) { // its text is gone
		return stored{sum: sql.NullInt64{Valid: true}}, nil
	}
	return x, err
}

const insertRecord = `
INSERT INTO record_rows (id, source, importance, created_at, first_line, last_line, first_byte, end_byte, position, sum)
VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING`

// insert stores a record, unless it is there already.
func (w *writer) insert(r Record) (inserted bool, err error) {
	rowid, inserted, err := w.insertRow(r)
	if err != nil || !inserted {
		return false, err
	}
	return true, w.write(rowid, r)
}

// insertRow stores what is known of a record beside its text.
func (w *writer) insertRow(r Record) (rowid int64, inserted bool, err error) {
	source, err := w.sourceOf(r)
	if err != nil {
		return 0, false, err
	}
	res, err := w.exec(insertRecord, r.ID, source, r.Importance, r.CreatedAt, r.FirstLine, r.LastLine, r.FirstByte, r.EndByte, r.Position, sumOf(r))
	if err != nil {
		return 0, false, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return 0, false, err
	}
	rowid, err = res.LastInsertId()
	return rowid, err == nil, err
}

// write stores the text of a record, new or cleared, its words and its vector, or
// makes it pending. It is stored with others: see settle.
func (w *writer) write(rowid int64, r Record) error {
	w.ahead.filling.add(rowid, r)
	if !w.ahead.filling.full() {
		return nil
	}
	w.ahead.send()
	if w.ahead.sent < mostSent {
		return nil
	}
	return w.receive()
}

// settle stores the texts that write has gathered.
func (w *writer) settle() error {
	for w.ahead.sent > 0 {
		if err := w.receive(); err != nil {
			return err
		}
	}
	b := w.ahead.filling
	w.ahead.preparer.prepareAll(b)
	err := w.storeAll(b)
	b.reset()
	return err
}

// receive stores the texts that were sent first.
func (w *writer) receive() error {
	b := w.ahead.receive()
	defer w.ahead.release(b)
	return w.storeAll(b)
}

func (w *writer) storeAll(b *textBatch) error {
	for i := range b.texts {
		if err := w.store(&b.texts[i]); err != nil {
			return err
		}
	}
	return nil
}

// store stores a text that was prepared.
func (w *writer) store(x *preparedText) error {
	if _, err := w.exec("INSERT INTO texts (record, text) VALUES (?, ?)", x.record, x.kept); err != nil {
		return err
	}
	if err := w.words.Post(x.record, x.words); err != nil {
		return err
	}
	for _, model := range w.models {
		if err := w.embed(x, model); err != nil {
			return err
		}
	}
	return nil
}

const insertPending = "INSERT INTO pending (model, agent, record, tries, reason) VALUES (?, ?, ?, ?, ?)"

// embed names the vector that was made of a text, or makes the text pending.
func (w *writer) embed(x *preparedText, model string) error {
	tries, reason := 0, ""
	if w.vectors != nil && model == w.vectors.Fingerprint() {
		switch {
		case x.row != nil:
			return w.vectors.Add(x.record, x.row)
		case errors.Is(x.err, embed.ErrNoVector):
			tries, reason = nothingTries, x.err.Error()
		case x.err != nil:
			tries, reason = 1, x.err.Error()
		}
	}
	_, err := w.exec(insertPending, model, x.agent, x.record, tries, reason)
	return err
}

const (
	selectSource = "SELECT source FROM sources WHERE agent=? AND runtime=? AND session=? AND category=? AND key=? AND archive=? AND archive_path=? AND branch=?"
	insertSource = "INSERT INTO sources (agent, runtime, session, category, key, archive, archive_path, branch) VALUES (?,?,?,?,?,?,?,?)"
)

// sourceOf returns where what a record has in common with others is kept.
func (w *writer) sourceOf(r Record) (source int64, err error) {
	shared := Record{Agent: r.Agent, Runtime: r.Runtime, Session: r.Session, Category: r.Category, Key: r.Key, Archive: r.Archive, ArchivePath: r.ArchivePath, Branch: r.Branch}
	if source, ok := w.sources[shared]; ok {
		return source, nil
	}
	s, err := w.statement(selectSource)
	if err != nil {
		return 0, err
	}
	args := []any{r.Agent, r.Runtime, r.Session, r.Category, r.Key, r.Archive, r.ArchivePath, r.Branch}
	err = s.QueryRowContext(w.ctx, args...).Scan(&source)
	if errors.Is(err, sql.ErrNoRows) {
		var result sql.Result
		if result, err = w.exec(insertSource, args...); err == nil {
			source, err = result.LastInsertId()
		}
	}
	if err == nil {
		w.sources[shared] = source
	}
	return source, err
}

const updateRecord = `
UPDATE record_rows SET source=?, importance=?, created_at=?, first_line=?, last_line=?, first_byte=?, end_byte=?, position=? WHERE record=?`

// refresh brings a record up to date that is known; a changed text needs a new
// vector. Whose it is stays, and where it comes from if that is not said.
func (w *writer) refresh(rowid int64, r, known Record) error {
	now := r
	now.Runtime, now.Agent, now.Session, now.Key = known.Runtime, known.Agent, known.Session, known.Key
	if r.Archive == "" && known.Archive != "" {
		now.Archive, now.ArchivePath = known.Archive, known.ArchivePath
	}
	source, err := w.sourceOf(now)
	if err != nil {
		return err
	}
	_, err = w.exec(updateRecord, source, r.Importance, r.CreatedAt, r.FirstLine, r.LastLine, r.FirstByte, r.EndByte, r.Position, rowid)
	if err != nil {
		return err
	}
	if known.Text != r.Text {
		if err := w.rewrite(rowid, now); err != nil {
			return err
		}
	}
	return w.sum(rowid)
}

// rewrite takes another text for a record.
func (w *writer) rewrite(rowid int64, r Record) error {
	if err := w.words.Remove(rowid); err != nil {
		return err
	}
	for _, statement := range []string{
		"DELETE FROM texts WHERE record=?", "DELETE FROM pending WHERE record=?",
	} {
		if _, err := w.exec(statement, rowid); err != nil {
			return err
		}
	}
	if err := w.dropVectors(rowid); err != nil {
		return err
	}
	return w.write(rowid, r)
}

// dropVectors deletes the vectors of a record.
func (w *writer) dropVectors(rowid int64) error {
	if w.vectors != nil {
		if err := w.vectors.Flush(); err != nil { // it may be in the block that is filled
			return err
		}
	}
	return vectors.Remove(w.ctx, w.tx, "record=?", rowid)
}

// sum gives a record its checksum as it is stored now.
func (w *writer) sum(rowid int64) error {
	x, err := w.read(rowid)
	if err != nil {
		return err
	}
	_, err = w.exec("UPDATE record_rows SET sum=? WHERE record=?", sumOf(x.Record), rowid)
	return err
}
