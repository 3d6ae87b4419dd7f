package session

import (
	"hash/maphash"
	"slices"
)

// Tree says which entries of a log are active. It never changes once it is
// built, so several scans may share it.
//
// Active are, for every tree of the log, the entries on the path from its
// last entry back to its root: the last entry is where pi and OpenClaw go on
// (research/formats.md section 3). Entries without a parent belong to one
// tree per header, so starting over at the root abandons what was there. An
// entry whose parent is missing has a tree of its own, so a lost line or a
// second writer abandons nothing (research/pitfalls.md 35, 37).
type Tree struct {
	runs      []run
	count     int
	forked    bool
	firstFork int32              // ordinal of the first entry that does not follow the one before
	parting   int32              // ordinal of the earliest entry that has two children
	said      []uint64           // texts of active messages from firstFork on, sorted
	repeated  map[int32]struct{} // entries whose id occurs again
	seed      maphash.Seed
}

// Forked reports whether a second scan with the tree would emit anything
// else: some entry is abandoned, or some entry occurs twice.
func (t *Tree) Forked() bool { return t.forked }

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
// (research/formats.md section 4.3). It must be called for every message, in
// file order; raw is the record's text.
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
