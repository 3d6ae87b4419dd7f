package browse

import (
	"cmp"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/sessctl/sessctl/pkg/printable"
)

// columns are those of the tree that are shown.
type columns struct{ title, id, project, bar, size, tokens, idle, state bool }

// column is one that a person can show or hide.
type column struct {
	name, about string
	on          *bool
	cells       int // 0 for a part of the name
}

const (
	barCells     = 8
	figureCells  = 11
	idleCells    = 6
	stateCells   = 22
	projectCells = 18
	leastName    = 20 // for what people chose, the name keeps so many
)

// all are the columns, those that are left out first at the end.
func (c *columns) all() []column {
	return []column{
		{"title", "what a session is about", &c.title, 0},
		{"name", "its key or id", &c.id, 0},
		{"size", "bytes on the disk", &c.size, figureCells},
		{"tokens", "size of the context", &c.tokens, figureCells},
		{"idle", "how long nobody has used it", &c.idle, idleCells + 1},
		{"bar", "its part of the largest", &c.bar, barCells + 1},
		{"project", "what its agent works on", &c.project, projectCells + 2},
		{"state", "over, idle, closed, pinned, in the archive", &c.state, stateCells + 2},
	}
}

// columnsOf are those that fit, and of these the ones that the person wants.
func (m *Model) columnsOf(width int) columns {
	c := columns{title: true, id: true, size: true, tokens: width >= 52, idle: width >= 62, bar: width >= 76, state: width >= 96}
	all := c.all()
	for _, column := range all {
		if on, asked := m.chosen[column.name]; asked {
			*column.on = on
		}
	}
	for i := len(all) - 1; i >= 0 && len(m.chosen) > 0 && c.figures() > max(width-leastName, 0); i-- {
		*all[i].on = false
	}
	return c
}

// figures is the width of everything behind the name.
func (c *columns) figures() (cells int) {
	for _, column := range c.all() {
		if *column.on {
			cells += column.cells
		}
	}
	return cells
}

func (c *columns) heading(by Sort, width int) Line {
	marked := func(name string, sort Sort) string {
		if by == sort {
			return "▼" + name
		}
		return name
	}
	text := pad("  "+marked("NAME", ByName), width-c.figures())
	if c.bar {
		text += strings.Repeat(" ", barCells+1)
	}
	if c.size {
		text += padLeft(marked("SIZE", ByBytes), figureCells)
	}
	if c.tokens {
		text += padLeft(marked("TOKENS", ByTokens), figureCells)
	}
	if c.idle {
		text += padLeft(marked("IDLE", ByAge), idleCells+1)
	}
	if c.project {
		text += "  " + pad("PROJECT", projectCells)
	}
	if c.state {
		text += "  STATE"
	}
	return Line{{text, Dim}}
}

// row draws a node of the tree.
func (t *treeScreen) row(m *Model, n *node, current bool, width int) Line {
	c := m.columnsOf(width)
	name := "  "
	if current {
		name = "> "
	}
	name += strings.Repeat("  ", n.level)
	switch {
	case n.session != nil && t.marked[n.key]:
		name += "* "
	case n.session != nil:
		name += "  "
	case t.open[n.key]:
		name += "▾ "
	default:
		name += "▸ "
	}
	room := width - c.figures()
	if n.session != nil {
		name += n.label(c, room-ansi.StringWidth(name))
	} else {
		name += printable.Middle(n.name, room-ansi.StringWidth(name))
	}
	if n.session == nil && n.level == 1 && !t.open[n.key] {
		name += " (" + counted(n.sessions, n.beside) + ")"
	}
	text := pad(name, room)
	if c.bar {
		text += " " + bar(n.figure(m.by), n.most)
	}
	switch {
	case !c.size:
	case c.tokens || m.by == ByBytes || m.by == ByName:
		text += padLeft(formatBytes(n.bytes), figureCells)
	default:
		text += padLeft(map[Sort]string{ByTokens: n.tokenText() + " tk", ByAge: n.idle(m.home.Now)}[m.by], figureCells)
	}
	if c.tokens {
		text += padLeft(n.tokenText(), figureCells)
	}
	if c.idle {
		text += padLeft(n.idle(m.home.Now), idleCells+1)
	}
	style := n.style(current)
	if c.project && n.session != nil {
		text += "  " + pad(cmp.Or(n.session.Project, n.session.Agent), projectCells)
	}
	if c.state && n.session != nil {
		text += "  " + pad(n.session.State, stateCells)
	}
	return Line{{text, style}}
}

// label is a session's name and title, in so many columns of the terminal: what the
// title needs the name leaves, down to shortName.
func (n *node) label(c columns, room int) string {
	const between, shortName = 2, 13
	title := safe(n.session.Title)
	switch {
	case !c.title:
		title = ""
	case !c.id && title != "":
		return title
	}
	if title == "" || room < shortName+between+shortName {
		return printable.Middle(n.name, room)
	}
	name := printable.Middle(n.name, max(shortName, room-between-ansi.StringWidth(title)))
	return name + strings.Repeat(" ", between) + title
}

// columnsScreen lets a person show and hide columns of the tree.
type columnsScreen struct{ list }

func (s *columnsScreen) title() string { return "columns of the tree" }

func (s *columnsScreen) press(m *Model, k Key) Request {
	all := (&columns{}).all()
	switch {
	case k.Name == "enter" || k.Name == "x" || k.Name == "space" || k.Name == "v":
		shown := m.columnsOf(m.width)
		if m.chosen == nil {
			m.chosen = map[string]bool{}
		}
		m.chosen[all[s.at].name] = !*shown.all()[s.at].on
	case k.Name == "r":
		m.chosen = nil
	case s.move(k, len(all)):
	case k.Name == "?":
		m.show(keysScreen())
	case isBack(k):
		m.back()
	}
	return Request{}
}

func (s *columnsScreen) hints(*Model) []hint {
	return []hint{{"enter", "show or hide"}, {"r", "as wide as fits"}, {"esc", "back"}}
}

func (s *columnsScreen) body(m *Model, width, height int) (lines []Line) {
	shown := m.columnsOf(width)
	all := shown.all()
	top, end := s.window(len(all), height)
	for i := top; i < end; i++ {
		mark, style := "  [ ] ", Plain
		if *all[i].on {
			mark = "  [x] "
		}
		if i == s.at {
			mark, style = ">"+mark[1:], Cursor
		}
		lines = append(lines, Line{{mark + pad(all[i].name, 10) + all[i].about, style}})
	}
	return lines
}
