package memory

import (
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/quantized"
	"github.com/sessctl/sessctl/pkg/memory/words"
)

// embedding is how the texts of an agent get their vectors while they are stored.
type embedding struct {
	embedder *embed.Builtin
	model    embed.Model
	agent    string
}

// preparedText is what is stored of a text, and what was made of it for that.
type preparedText struct {
	record int64
	agent  string
	text   string

	kept  any // see textWriter
	words words.Read
	row   []byte // of its vector; nil where none was asked for, or there is none
	err   error  // why there is no vector that was asked for
}

// preparer makes of texts what is stored of them: it compresses them, and reads
// each once for both its words and its vector.
type preparer struct {
	texts  *textWriter
	reader *embed.Reader
	agent  string            // whose texts get vectors
	packer *quantized.Packer // nil for no vectors
	vector []float32
}

// newPreparer returns one that makes vectors of the texts of one agent; e is nil
// for no vectors.
func newPreparer(e *embedding) (*preparer, error) {
	texts, err := newTextWriter()
	if err != nil {
		return nil, err
	}
	p := &preparer{texts: texts}
	if e == nil {
		p.reader = embed.NewReader(nil)
		return p, nil
	}
	p.reader, p.agent, p.vector = embed.NewReader(e.embedder), e.agent, make([]float32, e.model.Dim)
	p.packer, err = quantized.NewPacker(e.model.Dim)
	return p, err
}

// read reads the words of a text, and makes its vector.
func (p *preparer) read(x *preparedText, b *textBatch) {
	if p.reader.Vocabulary().Size() > words.VocabularyBytes {
		p.reader.Renew()
	}
	p.reader.Read(x.text)
	x.words, b.counts = words.Of(p.reader, b.counts)
	if p.packer == nil || x.agent != p.agent {
		return
	}
	if x.err = p.reader.Vector(p.vector); x.err != nil {
		return
	}
	if b.rows, x.row = p.packer.Append(b.rows, p.vector); x.row == nil {
		x.err = embed.ErrNotFinite
	}
}

// batchTexts and batchBytes bound the texts that are prepared together.
const (
	batchTexts = 64
	batchBytes = 256 << 10
)

// textBatch are texts that are prepared together, and the room for it.
type textBatch struct {
	texts    []preparedText
	size     int
	packed   []byte
	counts   []embed.TermCount
	rows     []byte
	panicked any
}

func (b *textBatch) add(record int64, r Record) {
	b.texts = append(b.texts, preparedText{record: record, agent: r.Agent, text: r.Text})
	b.size += len(r.Text)
}

func (b *textBatch) full() bool { return len(b.texts) >= batchTexts || b.size >= batchBytes }

func (b *textBatch) reset() {
	clear(b.texts)
	b.texts, b.size, b.packed, b.counts, b.rows = b.texts[:0], 0, b.packed[:0], b.counts[:0], b.rows[:0]
}

// prepareAll prepares the texts of a batch. What it makes stands in the room of the
// batch. Compressing a text and reading it do not need each other: they are done at
// the same time.
func (p *preparer) prepareAll(b *textBatch) {
	if len(b.texts) == 0 {
		return
	}
	compressed := concurrently(func() {
		for i := range b.texts {
			b.texts[i].kept, b.packed = p.texts.appendKept(b.packed, b.texts[i].text)
		}
	})
	defer compressed()
	for i := range b.texts {
		p.read(&b.texts[i], b)
	}
}

// concurrently runs f on another processor. What it returns waits for its end, and
// panics as f did.
func concurrently(f func()) (wait func()) {
	ended := make(chan any, 1)
	go func() {
		defer func() { ended <- recover() }()
		f()
	}()
	return func() {
		if p := <-ended; p != nil {
			panic(p)
		}
	}
}

// preparation prepares batches on another processor, in their order, while those
// before are stored.
type preparation struct {
	preparer *preparer
	filling  *textBatch
	room     []*textBatch // that is not used
	sent     int          // batches that have not come back
	tasks    chan *textBatch
	done     chan *textBatch
}

// mostSent is how many batches are on their way: enough that neither side waits
// for the other.
const mostSent = 4

func newPreparation(e *embedding) (*preparation, error) {
	p, err := newPreparer(e)
	return &preparation{preparer: p, filling: &textBatch{}}, err
}

// send has the texts prepared that were gathered.
func (p *preparation) send() {
	if p.tasks == nil {
		p.tasks, p.done = make(chan *textBatch, mostSent), make(chan *textBatch, mostSent)
		go p.serve()
	}
	p.tasks <- p.filling
	p.sent++
	p.filling = &textBatch{}
	if last := len(p.room) - 1; last >= 0 {
		p.filling, p.room = p.room[last], p.room[:last]
	}
}

func (p *preparation) serve() {
	defer close(p.done)
	for b := range p.tasks {
		func() {
			defer func() { b.panicked = recover() }()
			p.preparer.prepareAll(b)
		}()
		p.done <- b
	}
}

// receive returns the batch that was sent first. It is given back by release.
func (p *preparation) receive() *textBatch {
	b := <-p.done
	p.sent--
	if b.panicked != nil {
		panic(b.panicked)
	}
	return b
}

func (p *preparation) release(b *textBatch) {
	b.reset()
	p.room = append(p.room, b)
}

// close ends the preparation. What was not received is dropped.
func (p *preparation) close() {
	if p.tasks == nil {
		return
	}
	close(p.tasks)
	for range p.done { // until it has ended
	}
	p.tasks = nil
}
