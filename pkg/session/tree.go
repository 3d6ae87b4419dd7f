package session

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// treeWindow is how many entries back a parent is looked for: 65,536 entries
// are about 150 MB of log (docs/dev/decisions.md D4). A parent that is further away
// counts as missing, which leaves both parts active.
const treeWindow = 1 << 16

// Parents of runs that are not entries. A root of session n (see
// [TreeBuilder.Header]) is -1-n.
const missingParent = math.MinInt32

// TreeEntry is what a tree needs to know of one entry that has an id. An
// entry without Parent and not Root follows the entry before it.
type TreeEntry struct {
	ID     []byte
	Parent []byte
	Root   bool // the entry says that it has no parent
}

// run is a stretch of entries each of which follows the one before it.
type run struct {
	first  int32 // ordinal of its first entry
	count  int32
	parent int32 // ordinal of the entry that the first one hangs on, or below 0
	same   int32 // ordinal of the entry that the first one repeats, or -1
	active int32 // how many of its entries, from the first, are active
}

// TreeBuilder collects the tree of a log while the log is read. It keeps runs
// of entries, the ids of the last 65,536 entries (8 bytes each), and nothing
// else for a log without forks.
type TreeBuilder struct {
	tree   *Tree
	window int
	count  int

	last    []byte // id of the entry before, empty if nothing may follow it blindly
	header  []byte
	session int32
	ids     [][]uint64       // keys of the last entries, a ring of blocks
	byID    map[uint64]int32 // the same by key, made at the first entry that does not follow
	said    []said
	edits   []contextEdit
	scratch []byte
}

// said is the text of a message after the first fork.
type said struct {
	ordinal int32
	hash    uint64
}

// NewTreeBuilder returns a builder of an empty tree.
func NewTreeBuilder() *TreeBuilder {
	return &TreeBuilder{
		window: treeWindow,
		tree:   &Tree{seed: maphash.MakeSeed(), firstFork: math.MaxInt32, parting: math.MaxInt32},
	}
}

// Header tells that a header with this id was read. Entries without a parent,
// or with the header as parent, start the header's session; two headers in
// one file are two sessions.
func (b *TreeBuilder) Header(id []byte) {
	if b.count > 0 {
		b.session++
	}
	b.header = append(b.header[:0], id...)
}

// Add adds the next entry of the log and returns its ordinal among the
// entries added, from 0.
//
// A parent must come before its child: with that no cycle can be built. An
// entry whose parent is not there starts a tree of its own. An entry that
// does not follow the one before it and whose id is known is that entry again
// and changes nothing.
func (b *TreeBuilder) Add(e TreeEntry) int {
	ordinal := int32(b.count)
	repeated := false
	if b.follows(e) {
		b.tree.runs[len(b.tree.runs)-1].count++
	} else {
		repeated = b.start(e, ordinal)
	}
	key := b.key(e.ID)
	b.remember(key, ordinal, repeated)
	b.count++
	b.last = b.last[:0]
	if !repeated {
		b.last = append(b.last, e.ID...)
	}
	return int(ordinal)
}

func (b *TreeBuilder) follows(e TreeEntry) bool {
	if len(b.last) == 0 || e.Root {
		return false
	}
	return len(e.Parent) == 0 || string(e.Parent) == string(b.last)
}

// start begins a new run and reports whether the entry repeats an earlier one.
func (b *TreeBuilder) start(e TreeEntry, ordinal int32) bool {
	if ordinal > 0 {
		b.tree.firstFork = min(b.tree.firstFork, ordinal)
	}
	if same, ok := b.find(e.ID); ok {
		b.repeat(same, ordinal)
		return true
	}
	parent := b.parent(e, ordinal)
	if ordinal > 0 && parent != missingParent {
		b.tree.parting = min(b.tree.parting, parent)
	}
	b.tree.runs = append(b.tree.runs, run{first: ordinal, count: 1, parent: parent, same: -1})
	return false
}

func (b *TreeBuilder) parent(e TreeEntry, ordinal int32) int32 {
	unnamed := len(e.Parent) == 0
	if e.Root || (unnamed && ordinal == 0) || (!unnamed && string(e.Parent) == string(b.header)) {
		return -1 - b.session
	}
	if unnamed {
		return b.tree.node(ordinal - 1)
	}
	if parent, ok := b.find(e.Parent); ok {
		return parent
	}
	return missingParent
}

func (b *TreeBuilder) repeat(same, ordinal int32) {
	if b.tree.repeated == nil {
		b.tree.repeated = make(map[int32]struct{})
	}
	b.tree.repeated[same] = struct{}{}
	last := &b.tree.runs[len(b.tree.runs)-1]
	if last.same >= 0 && same == last.same+last.count {
		last.count++
		return
	}
	b.tree.runs = append(b.tree.runs, run{first: ordinal, count: 1, parent: missingParent, same: same})
}

func (b *TreeBuilder) find(id []byte) (int32, bool) {
	if b.byID == nil && b.count > 0 {
		b.index()
	}
	ordinal, ok := b.byID[b.key(id)]
	return ordinal, ok
}

// index makes the map of ids. Until now every entry followed the one before.
func (b *TreeBuilder) index() {
	b.byID = make(map[uint64]int32, min(b.count, b.window))
	for i := max(0, b.count-b.window); i < b.count; i++ {
		b.byID[*b.slot(i)] = int32(i)
	}
}

func (b *TreeBuilder) remember(key uint64, ordinal int32, repeated bool) {
	slot := b.slot(int(ordinal))
	if oldest := ordinal - int32(b.window); oldest >= 0 && b.byID != nil && b.byID[*slot] == oldest {
		delete(b.byID, *slot)
	}
	*slot = key
	if b.byID != nil && !repeated {
		b.byID[key] = ordinal
	}
}

// idBlock is how many ids are made room for at once, so that a small log takes
// little and a large one leaves nothing behind for the collector.
const idBlock = 1024

// slot returns where the key of an entry is kept as long as it is in the
// window.
func (b *TreeBuilder) slot(ordinal int) *uint64 {
	i := ordinal % b.window
	if i/idBlock == len(b.ids) {
		b.ids = append(b.ids, make([]uint64, idBlock))
	}
	return &b.ids[i/idBlock][i%idBlock]
}

// key returns the eight bytes of a usual id as they are, and the hash of any
// other.
func (b *TreeBuilder) key(id []byte) uint64 {
	if len(id) == 8 {
		return binary.LittleEndian.Uint64(id)
	}
	return maphash.Bytes(b.tree.seed, id)
}

// Said tells what the message at ordinal says. Before the first fork it is
// free and nothing is kept.
func (b *TreeBuilder) Said(ordinal int, m *Message) {
	if b.tree.firstFork > int32(ordinal) {
		return
	}
	hash, text, scratch := b.tree.textHash(m, b.scratch)
	b.scratch = scratch
	if text {
		b.said = append(b.said, said{ordinal: int32(ordinal), hash: hash})
	}
}

// Tree returns the finished tree. The builder must not be used after it.
func (b *TreeBuilder) Tree() *Tree {
	t := b.tree
	t.count = b.count
	t.resolve()
	t.settleEdits(b.edits)
	for _, s := range b.said {
		if t.node(s.ordinal) > t.parting && t.Branch(int(s.ordinal)) == Active {
			t.said = append(t.said, s.hash)
		}
	}
	t.sortSaid()
	return t
}

// Tree says which entries of a log are active. It never changes once it is
// built, so several scans may share it.
//
// Active are, for every tree of the log, the entries on the path from its
// last entry back to its root: the last entry is where pi and OpenClaw go on
// (docs/dev/formats.md, "pi"). Entries without a parent belong to one tree per
// header, so starting over at the root abandons what was there. An entry whose
// parent is missing has a tree of its own, so a lost line or a second writer
// abandons nothing.
type Tree struct {
	runs      []run
	count     int
	forked    bool
	firstFork int32              // ordinal of the first entry that does not follow the one before
	parting   int32              // ordinal of the earliest entry that has two children
	said      []uint64           // texts of active messages from firstFork on, sorted
	repeated  map[int32]struct{} // entries whose id occurs again
	edited    map[int32][]byte   // what is sent in the place of entries; nil for nothing
	seed      maphash.Seed
}

// Forked reports whether a second scan with the tree would emit anything
// else: some entry is abandoned, occurs twice, or was edited for the context.
func (t *Tree) Forked() bool { return t.forked || len(t.edited) > 0 }

// Branch returns where an entry stands, by its ordinal among the entries that
// were added. Entries that the tree does not know are active.
func (t *Tree) Branch(ordinal int) Branch {
	if !t.forked || ordinal < 0 || ordinal >= t.count {
		return Active
	}
	node := t.node(int32(ordinal))
	r := &t.runs[t.runOf(node)]
	if node-r.first < r.active {
		return Active
	}
	return Abandoned
}

// node returns the ordinal of the entry that the one at ordinal repeats, or
// ordinal.
func (t *Tree) node(ordinal int32) int32 {
	r := &t.runs[t.runOf(ordinal)]
	if r.same < 0 {
		return ordinal
	}
	return r.same + ordinal - r.first
}

// runOf returns the index of the run that holds an ordinal.
func (t *Tree) runOf(ordinal int32) int {
	low, high := 0, len(t.runs)
	for low+1 < high {
		middle := int(uint(low+high) >> 1)
		if t.runs[middle].first <= ordinal {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// resolve finds the active part of every run.
func (t *Tree) resolve() {
	roots := make([]int32, len(t.runs)) // of the tree that a run belongs to
	leaves := make(map[int32]int)       // the last run of a tree
	for i, r := range t.runs {
		switch {
		case r.same >= 0:
			continue
		case r.parent >= 0:
			roots[i] = roots[t.runOf(r.parent)]
		case r.parent == missingParent:
			roots[i] = r.first
		default:
			roots[i] = r.parent
		}
		leaves[roots[i]] = i
	}
	for _, i := range leaves {
		t.activate(i)
	}
	t.forked = slices.ContainsFunc(t.runs, func(r run) bool { return r.same >= 0 || r.active < r.count })
}

// activate marks the path from the end of a run to its root.
func (t *Tree) activate(i int) {
	count := t.runs[i].count
	for {
		r := &t.runs[i]
		r.active = count
		if r.parent < 0 {
			return
		}
		i = t.runOf(r.parent)
		count = r.parent - t.runs[i].first + 1
	}
}

func (t *Tree) sortSaid() {
	slices.Sort(t.said)
	t.said = slices.Clip(slices.Compact(t.said))
}

// textHash returns the hash of who says what; false for a message without
// text, which may hold what is not text.
func (t *Tree) textHash(m *Message, scratch []byte) (uint64, bool, []byte) {
	scratch = m.AppendText(append(scratch[:0], byte(m.Role)))
	return maphash.Bytes(t.seed, scratch), len(scratch) > 1, scratch
}

// Repeats finds, in a second scan with a tree, the messages that say nothing
// new.
type Repeats struct {
	tree    *Tree
	said    map[uint64]struct{} // texts of active messages between the parting and the first fork
	bodies  map[body]struct{}   // records seen of entries that occur again
	scratch []byte
}

// body is one form of an entry that occurs more than once.
type body struct {
	node int32
	hash uint64
}

// Repeats returns a finder for one scan of the tree's log.
func (t *Tree) Repeats() *Repeats {
	return &Repeats{tree: t, said: make(map[uint64]struct{}), bodies: make(map[body]struct{})}
}

// Repeated reports whether a message is the exact copy of an earlier record
// with the same id, or abandoned with the role and text of an active message
// that is not before the point where the branches part: OpenClaw appends
// whole turns again under new ids after it has shortened a tool result
// (docs/dev/formats.md, "openclaw"). It must be called for every message, in file
// order; raw is the record's text.
func (r *Repeats) Repeated(ordinal int, m *Message, raw []byte) bool {
	if !r.tree.forked || ordinal >= r.tree.count {
		return false
	}
	node := r.tree.node(int32(ordinal))
	return r.copied(node, raw) || r.saidElsewhere(node, int32(ordinal), m)
}

func (r *Repeats) copied(node int32, raw []byte) bool {
	if _, ok := r.tree.repeated[node]; !ok {
		return false
	}
	b := body{node: node, hash: maphash.Bytes(r.tree.seed, raw)}
	_, seen := r.bodies[b]
	r.bodies[b] = struct{}{}
	return seen
}

func (r *Repeats) saidElsewhere(node, ordinal int32, m *Message) bool {
	abandoned := m.Branch == Abandoned
	remember := !abandoned && node > r.tree.parting && ordinal < r.tree.firstFork
	if !abandoned && !remember {
		return false
	}
	hash, text, scratch := r.tree.textHash(m, r.scratch)
	r.scratch = scratch
	if !text {
		return false
	}
	if remember {
		r.said[hash] = struct{}{}
		return false
	}
	_, before := r.said[hash]
	_, after := slices.BinarySearch(r.tree.said, hash)
	return before || after
}

// stringSet remembers strings by their hashes: 8 bytes each, and room. It may be
// used by several goroutines at once. It is cut in shards so that they do not
// wait for each other, and so that no large table is copied when it grows.
type stringSet struct {
	seed   maphash.Seed
	shards [64]hashShard
}

// hashShard is an open table of hashes; 0 is an empty place.
type hashShard struct {
	mu    sync.Mutex
	table []uint64
	used  int
}

func newStringSet() *stringSet { return &stringSet{seed: maphash.MakeSeed()} }

// add reports whether the string was there already.
func (s *stringSet) add(text []byte) (known bool) {
	hash := maphash.Bytes(s.seed, text)
	return s.shards[hash>>58].add(max(hash, 1))
}

func (s *hashShard) add(hash uint64) (known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if 4*s.used >= 3*len(s.table) {
		s.grow()
	}
	if !place(s.table, hash) {
		return true
	}
	s.used++
	return false
}

// grow makes room for half as much again: twice would be half empty.
func (s *hashShard) grow() {
	table := make([]uint64, max(32, len(s.table)*3/2))
	for _, hash := range s.table {
		if hash != 0 {
			place(table, hash)
		}
	}
	s.table = table
}

// place puts a hash into a table that has room, and reports whether it was not
// there.
func place(table []uint64, hash uint64) (fresh bool) {
	at, _ := bits.Mul64(hash<<6, uint64(len(table))) // the first six bits chose the shard
	for {
		switch table[at] {
		case hash:
			return false
		case 0:
			table[at] = hash
			return true
		}
		if at++; at == uint64(len(table)) {
			at = 0
		}
	}
}
