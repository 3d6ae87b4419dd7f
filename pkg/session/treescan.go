package session

import "encoding/binary"

// TreeScan is the tree of a log whose entries have no ids of their own: the first
// scan of the log builds it; a second one is given it, and learns which branch a
// message is on. Call [NewTreeScan].
type TreeScan struct {
	known   *Tree // nil while it is built
	builder *TreeBuilder
	repeats *Repeats
	nodes   int
	id      [8]byte // of the node that is added
}

// NewTreeScan begins the scan of a log whose tree is known, or nil.
func NewTreeScan(known *Tree) *TreeScan {
	if known != nil {
		return &TreeScan{known: known, repeats: known.Repeats()}
	}
	return &TreeScan{builder: NewTreeBuilder()}
}

// Tree is the tree, whole when the scan has ended.
func (t *TreeScan) Tree() *Tree {
	if t.known != nil {
		return t.known
	}
	return t.builder.Tree()
}

// Len is how many entries there are so far.
func (t *TreeScan) Len() int { return t.nodes }

// Add adds the next entry, and returns its node: its number.
func (t *TreeScan) Add(e TreeEntry) int {
	n := t.nodes
	t.nodes++
	if t.builder != nil {
		e.ID = append(t.id[:0], NodeID(n)...)
		t.builder.Add(e)
	}
	return n
}

// Aside adds an entry that says nothing, and reports whether its branch was left.
func (t *TreeScan) Aside() bool {
	node := t.Add(TreeEntry{})
	return t.known != nil && t.known.Branch(node) != Active
}

// NodeID is the id of a node of a [TreeScan].
func NodeID(node int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(node)) } //nolint:gosec // a number is not negative

// Say adds a message, says which branch it is on if that is known, and returns its
// node.
func (t *TreeScan) Say(m *Message) int {
	node := t.Add(TreeEntry{})
	if t.known != nil {
		m.Branch = t.known.Branch(node)
	} else {
		t.builder.Said(node, m)
	}
	return node
}

// Repeated reports whether a message of an abandoned branch is said again by the
// active one.
func (t *TreeScan) Repeated(node int, m *Message) bool {
	return t.known != nil && t.repeats.Repeated(node, m, nil)
}
