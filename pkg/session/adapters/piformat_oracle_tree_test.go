package adapters_test

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// naiveNode is an entry of the tree: the entry it hangs on, and the entry it
// is a copy of (itself if it is none).
type naiveNode struct {
	record *naiveRecord
	parent int // another node, -1: missing, less: the root of session -2-n
	same   int
}

// naiveScan returns the messages that a second scan emits, and how many say
// nothing new.
func naiveScan(records []*naiveRecord) (emitted []piformatSaid, repeated int) {
	nodes, parting := naiveTree(records)
	active := naiveActive(nodes)
	for _, r := range records {
		if r.message != nil && r.node >= 0 && !active[nodes[r.node].same] {
			r.message.Branch = "abandoned"
		}
	}
	bodies := map[string]bool{}
	for _, r := range records {
		if r.message == nil {
			continue
		}
		if r.node >= 0 {
			body := strconv.Itoa(nodes[r.node].same) + r.raw
			if bodies[body] || naiveSaidAgain(records, nodes, r, parting) {
				repeated++
				continue
			}
			bodies[body] = true
		}
		emitted = append(emitted, *r.message)
	}
	return emitted, repeated
}

func naiveSaidAgain(records []*naiveRecord, nodes []naiveNode, r *naiveRecord, parting int) bool {
	if r.message.Branch != "abandoned" || r.message.Text == "" {
		return false
	}
	for _, other := range records {
		m := other.message
		if m == nil || other.node < 0 || nodes[other.node].same <= parting {
			continue
		}
		if m.Branch == "active" && m.Role == r.message.Role && m.Text == r.message.Text {
			return true
		}
	}
	return false
}

func naiveTree(records []*naiveRecord) (nodes []naiveNode, parting int) {
	parting = 1 << 30
	count, header, last := 0, "\x00", "\x00"
	find := func(id string) int {
		for i := len(nodes) - 1; i >= 0; i-- {
			if nodes[i].same == i && nodes[i].record.id == id {
				return i
			}
		}
		return -1
	}
	for _, r := range records {
		if r.kind == "session" {
			if len(nodes) > 0 {
				count++
			}
			header = r.id
		}
		if r.node < 0 {
			continue
		}
		n, parent, root := len(nodes), r.name("parentId"), r.null("parentId")
		node := naiveNode{record: r, parent: -1, same: n}
		follows := last != "\x00" && !root && (parent == "" || parent == last)
		if same := find(r.id); same >= 0 && !follows {
			nodes = append(nodes, naiveNode{record: r, same: same})
			last = "\x00"
			continue
		}
		switch {
		case follows:
			node.parent = n - 1
		case root, parent == "" && n == 0, parent == header:
			node.parent = -2 - count
		case parent == "":
			node.parent = nodes[n-1].same
		default:
			node.parent = find(parent)
		}
		if !follows && n > 0 && node.parent != -1 {
			parting = min(parting, node.parent)
		}
		nodes = append(nodes, node)
		last = r.id
	}
	return nodes, parting
}

func naiveActive(nodes []naiveNode) map[int]bool {
	leaves := map[int]int{}
	for i := range nodes {
		root := i
		for nodes[root].parent >= 0 {
			root = nodes[root].parent
		}
		if nodes[root].parent < -1 {
			root = nodes[root].parent
		}
		if nodes[i].same == i {
			leaves[root] = i
		}
	}
	active := map[int]bool{}
	for _, i := range leaves {
		for ; i >= 0; i = nodes[i].parent {
			active[i] = true
		}
	}
	return active
}

// naivePath returns the entries from the last one back to its root, and those
// without an id that lie on the way.
func naivePath(records []*naiveRecord) []*naiveRecord {
	var path []*naiveRecord
	want, anything := "", true
	for i := len(records) - 1; i >= 0; i-- {
		r := records[i]
		if r.kind == "session" {
			if anything || r.id == want {
				return path
			}
			continue
		}
		if r.id != "" && !anything && r.id != want {
			continue
		}
		path = append(path, r)
		if r.id == "" {
			continue
		}
		if r.null("parentId") {
			return path
		}
		want = r.name("parentId")
		anything = want == ""
	}
	return path
}

// naiveTail computes what Tail says, from the whole log.
func naiveTail(log []byte) session.Tail {
	records := naiveRead(log, true)
	path := naivePath(records)
	for i, r := range path {
		if r.kind == "reset" {
			path = path[:i+1] // a compaction may keep from there
			break
		}
	}
	tail := session.Tail{MessagesExact: true, TokenSource: session.TokensFromEstimate, Answered: true}
	for _, r := range records {
		if r.kind == "message" {
			tail.Messages++
		}
	}
	naiveTurn(path, &tail)
	naiveTokens(records, path, &tail)
	return tail
}

func naiveTurn(path []*naiveRecord, tail *session.Tail) {
	roles := map[string]session.Role{}
	for role := session.RoleUser; role <= session.RoleSystem; role++ {
		roles[role.String()] = role
	}
	for _, r := range path {
		if r.message != nil && tail.LastRole == 0 {
			tail.LastRole = roles[r.message.Role]
		}
	}
	for _, r := range path {
		m := r.message
		if m == nil || !strings.Contains(" user tool_result assistant ", " "+m.Role+" ") {
			continue
		}
		calls := false
		for _, p := range m.Parts {
			calls = calls || p.Kind == session.PartToolCall
		}
		failed := m.StopReason == "error" || m.StopReason == "aborted"
		tail.Answered = m.Role == "assistant" && (failed || m.StopReason != "toolUse" && !calls)
		return
	}
}

// naivePrompt is what the first call was sent beside what was said before it.
func naivePrompt(records []*naiveRecord) int64 {
	before := int64(0)
	for _, r := range records {
		switch {
		case r.kind == "compaction":
			return 0
		case r.context() > 0:
			said, _ := strconv.ParseInt(strings.Fields(r.message.Usage)[1], 10, 64)
			return max(0, r.context()-said-before)
		case r.message != nil:
			before += r.message.estimate()
		}
	}
	return 0
}

func naiveTokens(records, path []*naiveRecord, tail *session.Tail) {
	for i, r := range path {
		if r.kind == "compaction" {
			tail.Tokens += r.message.estimate() + naiveKept(records, path[i+1:], r) + naivePrompt(records)
			return
		}
		if n := r.context(); n > 0 {
			tail.Tokens += n
			tail.TokenSource = session.TokensFromUsage
			return
		}
		if r.message != nil {
			tail.Tokens += r.message.estimate()
		}
	}
}

// naiveKept estimates what a compaction kept of the entries before it.
func naiveKept(records, before []*naiveRecord, compaction *naiveRecord) int64 {
	var sum int64
	if first := compaction.name("firstKeptEntryId"); first != "" {
		for _, r := range before {
			if r.message != nil && r.kind != "compaction" {
				sum += r.message.estimate()
			}
			if r.id == first {
				return sum
			}
		}
		return 0
	}
	first, ok := compaction.integer("firstKeptEntryIndex")
	ok = ok && first > 0 // the header stands at 0, and is no entry that could be kept
	for i, r := range records {
		if r == compaction {
			break
		}
		if ok && int64(i) >= first && r.message != nil && r.kind != "compaction" {
			sum += r.message.estimate()
		}
	}
	return sum
}

// context returns what the model call behind the record counted, or 0.
func (r *naiveRecord) context() int64 {
	m := r.message
	if r.kind != "message" || m.Role != "assistant" || m.Usage == "" || m.StopReason == "error" || m.StopReason == "aborted" {
		return 0
	}
	var sum, total int64
	for i, field := range strings.Fields(m.Usage) {
		n, _ := strconv.ParseInt(field, 10, 64)
		if i == 4 {
			total = n
			continue
		}
		sum += n
	}
	if total > 0 {
		return total
	}
	return sum
}

func (m *piformatSaid) estimate() int64 {
	var sum int64
	for _, p := range m.Parts {
		if p.Kind == session.PartUnsent {
			continue
		}
		sum += session.EstimateTokens([]byte(p.Name)) + session.EstimateTokens([]byte(p.Text))
		if p.Kind == session.PartImage {
			sum += 1200
		}
	}
	if m.OutOfContext {
		return 0
	}
	return sum
}

// salvageable reports whether a log has a line of which a part might be a
// record: the oracle does not read those.
func salvageable(log []byte) bool {
	for i, line := range bytes.Split(log, []byte("\n")) {
		if i == 0 {
			line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
		}
		line = bytes.Trim(line, "\x00\t\r\n ")
		if bytes.Contains(line, []byte("{")) && piformatObjectOf(line) == nil {
			return true
		}
	}
	return false
}
