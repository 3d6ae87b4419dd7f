package summarize

import "slices"

// item is something worth saying and the line of the log that said it.
type item struct {
	line  int
	text  string
	score float64
}

// best keeps the highest-scoring items; of equals the later ones. The same
// text is kept once.
type best struct {
	keep  int
	items []item
}

func (b *best) add(it item) {
	if it.text == "" {
		return
	}
	if i := slices.IndexFunc(b.items, func(x item) bool { return x.text == it.text }); i >= 0 {
		b.items[i].score = max(b.items[i].score, it.score)
		return
	}
	b.items = append(b.items, it)
	if len(b.items) <= b.keep {
		return
	}
	worst := 0
	for i, x := range b.items {
		if x.score < b.items[worst].score {
			worst = i // the earliest of the lowest
		}
	}
	b.items = slices.Delete(b.items, worst, worst+1)
}

// inOrder returns the items in the order of the log.
func (b *best) inOrder() []item {
	return slices.SortedStableFunc(slices.Values(b.items), func(x, y item) int { return x.line - y.line })
}

// recent keeps the last items.
type recent struct {
	keep  int
	items []item
}

func (r *recent) add(it item) {
	r.items = append(r.items, it)
	if len(r.items) > r.keep {
		r.items = slices.Delete(r.items, 0, 1)
	}
}

func (r *recent) clear() { r.items = r.items[:0] }

// command is a command that was run and how it ended.
type command struct {
	item
	call  string
	code  int
	known bool
	bad   bool
}

// commands keeps the last commands; failed ones stay longer.
type commands struct{ list []command }

func (c *commands) called(call string, line int, text string) {
	c.push(command{item: item{line: line, text: text}, call: call})
}

func (c *commands) ran(line int, text string, code int, known bool) {
	c.push(command{item: item{line: line, text: text}, code: code, known: known, bad: known && code != 0})
}

func (c *commands) push(x command) {
	c.list = append(c.list, x)
	if len(c.list) <= keepCommands {
		return
	}
	i := slices.IndexFunc(c.list[:len(c.list)/2], func(x command) bool { return !x.bad })
	c.list = slices.Delete(c.list, max(i, 0), max(i, 0)+1)
}

func (c *commands) answered(call string, code int, known, failed bool) {
	for i := len(c.list) - 1; i >= 0; i-- {
		if x := &c.list[i]; x.call == call && call != "" {
			x.code, x.known, x.bad = code, known, failed || known && code != 0
			return
		}
	}
}

// file is a file that a tool touched.
type file struct {
	path    string
	line    int // of the last touch
	touches int
	changed bool
}

// keepFiles bounds the files that are remembered while the log goes by.
const keepFiles = 400

// files keeps what was read and changed, each path once. The first touches of
// a session that touches more than keepFiles files are forgotten.
type files struct {
	list  []file
	index map[string]int
}

func (f *files) add(path string, line int, changed bool) {
	if f.index == nil {
		f.index = map[string]int{}
	}
	if i, ok := f.index[path]; ok {
		x := &f.list[i]
		x.line, x.touches, x.changed = line, x.touches+1, x.changed || changed
		return
	}
	if len(f.list) >= keepFiles {
		f.forget()
	}
	f.index[path] = len(f.list)
	f.list = append(f.list, file{path: path, line: line, touches: 1, changed: changed})
}

// forget drops the older half.
func (f *files) forget() {
	slices.SortStableFunc(f.list, func(x, y file) int { return x.line - y.line })
	f.list = slices.Delete(f.list, 0, len(f.list)/2)
	clear(f.index)
	for i, x := range f.list {
		f.index[x.path] = i
	}
}

// touched returns the read or the changed files, the latest first. A file in
// both is changed (seed 001, section 7.5).
func (f *files) touched(changed bool) []file {
	var some []file
	for _, x := range f.list {
		if x.changed == changed {
			some = append(some, x)
		}
	}
	slices.SortStableFunc(some, func(x, y file) int { return y.line - x.line })
	return some
}
