package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html
var pageTemplate string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// pageBytes is how large a page becomes before the next one begins, in bytes of
// HTML. docs/dev/performance.md has what browsers take for it.
const pageBytes = 8 << 20

// Head is what the pages say of their session.
type Head struct {
	Runtime, Agent, Session, Key string
	Archive                      string // id
	Source                       string // path of the log
	CreatedAt                    string // of the archive, RFC 3339
	Bytes, Lines                 int64
	Redacted                     bool // secrets are masked
}

// Message is one message of a session, as it is shown. Its texts may hold
// anything.
type Message struct {
	Line      int // of the log, counted from 1; its anchor is #L<line>
	LastLine  int // where it is made from several lines, else 0
	Role      string
	Label     string // who speaks, for people
	Tool      string // whose result it is
	Time      string // RFC 3339, or ""
	Failed    bool
	Abandoned bool // it is on a branch that was left
	Exit      string
	Error     string
	Parts     []Part
	CutBytes  int64 // of text that is not shown
}

// PartKind says what a part of a message is.
type PartKind string

// The kinds of parts.
const (
	PartText     PartKind = "text"
	PartThinking PartKind = "thinking"
	PartCall     PartKind = "call" // Name is the tool, Text its arguments
	PartImage    PartKind = "image"
	PartCommand  PartKind = "command"
	PartUnsent   PartKind = "unsent" // output that the model was not sent
)

// Part is a piece of a message.
type Part struct {
	Kind PartKind
	Name string
	Text string
	Size int64 // bytes that are not shown, of an image
}

// Range is a page and the lines that its messages stand in.
type Range struct {
	Name        string // of its file
	First, Last int
}

// Pages writes the messages of one session as pages. The first has the name that
// it was given, the others that name with the line they begin with, so that the
// page of any line can be found by names alone (see [PageName]).
type Pages struct {
	head     Head
	name     string
	limit    int
	location *time.Location
	write    func(name string, write func(io.Writer) error) error

	template *template.Template
	frame    frame
	body     bytes.Buffer
	first    bytes.Buffer // body of the first page: it is written last, with the list of all
	ranges   []Range
	last     int
}

// NewPages returns pages of which the first has this name; write writes one file.
// A page ends after limit bytes, pageBytes if that is 0. Times are shown in the
// zone of location.
func NewPages(name string, head Head, limit int, location *time.Location, write func(name string, write func(io.Writer) error) error) (*Pages, error) {
	p := &Pages{head: head, name: name, limit: limit, location: location, write: write, frame: frame{style: baseStyle + pageStyle, script: pageScript}}
	if p.limit <= 0 {
		p.limit = pageBytes
	}
	funcs := reportFuncs(location, time.Time{})
	funcs["link"] = pageLink
	var err error
	p.template, err = template.New("page").Funcs(funcs).Parse(pageTemplate)
	return p, err
}

// PageName is the name of the page that begins with a line, where first is the
// name of the first page.
func PageName(first string, line int) string {
	stem, _ := strings.CutSuffix(first, ".html")
	return stem + "-L" + strconv.Itoa(line) + ".html"
}

// PageLine is the line that the page of this name begins with: 1 for the first
// page itself, ok is false for a name of another document.
func PageLine(first, name string) (line int, ok bool) {
	if name == first {
		return 1, true
	}
	stem, _ := strings.CutSuffix(first, ".html")
	text, found := strings.CutPrefix(name, stem+"-L")
	text, ends := strings.CutSuffix(text, ".html")
	line, err := strconv.Atoi(text)
	return line, found && ends && err == nil && line > 0 && strconv.Itoa(line) == text
}

// pageLink is how a page names its neighbour: as a file beside it, whatever
// signs its name has.
func pageLink(name string) string { return "./" + url.PathEscape(name) }

// Add adds a message.
func (p *Pages) Add(m Message) error {
	if len(p.ranges) == 0 {
		p.ranges = []Range{{Name: p.name, First: m.Line}}
	} else if p.body.Len() >= p.limit && m.Line > p.last {
		if err := p.next(m.Line); err != nil {
			return err
		}
	}
	view := newMessageView(m, m.Line > p.last)
	p.last = max(p.last, m.Line, m.LastLine)
	p.ranges[len(p.ranges)-1].Last = p.last
	return renderPart(&p.body, p.template, "message", view)
}

// next ends a page and begins the one of this line.
func (p *Pages) next(line int) error {
	name := PageName(p.name, line)
	p.ranges = append(p.ranges, Range{Name: name, First: line})
	if len(p.ranges) == 2 {
		p.body, p.first = bytes.Buffer{}, p.body
		return nil
	}
	if err := p.writePage(len(p.ranges)-2, &p.body); err != nil {
		return err
	}
	p.body.Reset()
	return nil
}

// Close writes what is left, and the first page at last: while it is not there,
// its pages are not whole. It returns the pages in their order.
func (p *Pages) Close() ([]Range, error) {
	if len(p.ranges) == 0 {
		p.ranges = []Range{{Name: p.name, First: 1}}
	}
	if len(p.ranges) == 1 {
		p.body, p.first = bytes.Buffer{}, p.body
	} else if err := p.writePage(len(p.ranges)-1, &p.body); err != nil {
		return nil, err
	}
	return p.ranges, p.writePage(0, &p.first)
}

// pageView is what stands around the messages of a page.
type pageView struct {
	Head
	Number        int    // counted from 1
	Previous, All string // links
	Next          string
	Range         Range
	Parts         []Range // all pages, on the first one
	Empty         bool
}

func (p *Pages) writePage(i int, body *bytes.Buffer) error {
	v := pageView{Head: p.head, Number: i + 1, Range: p.ranges[i], Empty: body.Len() == 0}
	if i > 0 {
		v.Previous, v.All = p.ranges[i-1].Name, p.ranges[0].Name
	} else if len(p.ranges) > 1 {
		v.Parts = p.ranges
	}
	if i+1 < len(p.ranges) {
		v.Next = p.ranges[i+1].Name
	}
	err := p.write(p.ranges[i].Name, func(w io.Writer) error {
		if err := p.frame.open(w); err != nil {
			return err
		}
		if err := renderPart(w, p.template, "head", v); err != nil {
			return err
		}
		if _, err := w.Write(body.Bytes()); err != nil {
			return err
		}
		if err := renderPart(w, p.template, "foot", v); err != nil {
			return err
		}
		return p.frame.close(w)
	})
	if err != nil {
		return fmt.Errorf("page %d: %w", i+1, err)
	}
	return nil
}
