package session

import (
	"encoding/binary"
	"hash/maphash"
	"math"
)

// treeWindow is how many entries back a parent is looked for: 65,536 entries
// are about 150 MB of log (research/performance.md section 0). A parent that
// is further away counts as missing, which leaves both parts active.
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
	for _, s := range b.said {
		if t.node(s.ordinal) > t.parting && t.Branch(int(s.ordinal)) == Active {
			t.said = append(t.said, s.hash)
		}
	}
	t.sortSaid()
	return t
}
