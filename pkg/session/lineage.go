package session

import (
	"fmt"
)

// Lineage is the tree of a log from which lines are taken out: every record that
// stays hangs on the nearest one before it that stays. Make one with
// [NewLineage].
type Lineage struct {
	ids     []string
	parents []int32 // -1 for a root
	index   map[string]int32
}

// NewLineage returns an empty one.
func NewLineage() *Lineage { return &Lineage{index: map[string]int32{}} }

// Add takes in the next record of the log; parent is "" for a root. It returns an
// error that wraps [ErrUnsupported] for an id that was there before, and for a
// parent that was not: nobody can tell then what hangs on what.
func (l *Lineage) Add(id, parent string) error {
	at := int32(-1)
	if parent != "" {
		known := false
		if at, known = l.index[parent]; !known {
			return fmt.Errorf("%w: its record %.36q hangs on one that is not before it", ErrUnsupported, id)
		}
	}
	if _, again := l.index[id]; again || id == "" {
		return fmt.Errorf("%w: two of its records have the id %.36q", ErrUnsupported, id)
	}
	l.index[id] = int32(len(l.ids)) //nolint:gosec // no log has so many records
	l.ids, l.parents = append(l.ids, id), append(l.parents, at)
	return nil
}

// Len is how many records were added.
func (l *Lineage) Len() int { return len(l.ids) }

// Path lists the records from the root to the last one, by the order in which
// they were added.
func (l *Lineage) Path() []int {
	var path []int
	for at := int32(len(l.ids)) - 1; at >= 0; at = l.parents[at] { //nolint:gosec // see Add
		path = append(path, int(at))
	}
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return path
}

// Parent is the id of what a record hangs on when others have gone, "" for
// nothing. moved says that it is another one than before.
func (l *Lineage) Parent(record int, goes func(record int) bool) (id string, moved bool) {
	at := l.parents[record]
	for at >= 0 && goes(int(at)) {
		at, moved = l.parents[at], true
	}
	if at < 0 {
		return "", moved
	}
	return l.ids[at], moved
}
