package cmd

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/lipgloss"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/tui"
	"github.com/sessctl/sessctl/pkg/browse"
)

// browseScreen connects the model of the browser with a terminal.
type browseScreen struct {
	browser       *browser
	ctx           context.Context
	model         *browse.Model
	first         browse.Request
	program       *tea.Program
	styles        map[browse.Style]lipgloss.Style
	width, height int
	loading       context.CancelFunc
}

// answer is what a request has given: it is taken by the model, which may ask for
// more.
type answer func(m *browse.Model) browse.Request

// run draws the browser until the person quits, or ctx ends.
func (b *browser) run(ctx context.Context) error {
	by := browse.ByBytes
	for i, name := range browse.Sorts() {
		if name == b.options.Sort {
			by = browse.Sort(i)
		}
	}
	model, first := browse.New(by)
	s := &browseScreen{browser: b, ctx: ctx, model: model, first: first, styles: browseStyles(b.app), loading: func() {}}
	s.program = tea.NewProgram(s, tea.WithContext(ctx), tea.WithInput(b.In), tea.WithOutput(b.Out), tea.WithoutSignalHandler(), tea.WithEnvironment(os.Environ()))
	_, err := s.program.Run()
	b.breakOff()
	s.loading()
	switch {
	case err == nil, ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, tea.ErrProgramPanic):
		return &failure.Error{Code: "failed", Exit: failure.ExitFailed, Hint: "nothing was lost; please report what is printed above", Err: errors.New("browse has stopped because of a bug")}
	}
	return drawError(err)
}

// browseStyles say how styles look. Without colour they all look alike: the text
// says the same.
func browseStyles(a *app) map[browse.Style]lipgloss.Style {
	base := a.renderer().NewStyle()
	return map[browse.Style]lipgloss.Style{
		browse.Plain: base, browse.Title: base.Reverse(true).Bold(true), browse.Dim: base.Faint(true), browse.Strong: base.Bold(true),
		browse.Cursor: base.Reverse(true), browse.Warning: base.Foreground(lipgloss.Color("3")), browse.Marked: base.Bold(true).Foreground(lipgloss.Color("6")),
	}
}

// Init implements tea.Model.
func (s *browseScreen) Init() tea.Cmd { return s.do(s.first) }

// Update implements tea.Model.
func (s *browseScreen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return s, s.do(s.model.Press(browse.Key{Name: msg.String(), Text: msg.Key().Text}))
	case tea.PasteMsg:
		s.model.Paste(msg.Content)
	case ticked:
		if s.model.Tick(msg.serial) {
			return s, tick(msg.serial)
		}
	case answer:
		return s, s.do(msg(s.model))
	}
	return s, nil
}

// View implements tea.Model.
func (s *browseScreen) View() tea.View {
	view := tea.NewView("")
	view.AltScreen = true
	if s.width == 0 {
		return view
	}
	var b strings.Builder
	for i, line := range s.model.Screen(s.width, s.height) {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, span := range line {
			b.WriteString(s.styles[span.Style].Render(span.Text))
		}
	}
	view.SetContent(b.String())
	return view
}

// do begins what the model asks for. Its answer comes as a message.
func (s *browseScreen) do(r browse.Request) tea.Cmd {
	switch r.Do {
	case browse.Nothing:
		return nil
	case browse.Quit:
		return tea.Quit
	case browse.Copy:
		return tea.SetClipboard(r.Text)
	case browse.Suspend:
		return tea.Suspend
	case browse.Cancel:
		s.browser.breakOff()
		return nil
	case browse.Load:
		s.loading()
		ctx, cancel := context.WithCancel(s.ctx)
		s.loading = cancel
		return s.working(func() answer { return s.load(ctx, r) })
	}
	ctx, cancel := s.browser.begin(s.ctx)
	return tea.Batch(tick(r.Serial), s.working(func() answer {
		defer cancel()
		return s.carryOut(ctx, r)
	}))
}

// ticked says that a request takes another second.
type ticked struct{ serial int }

func tick(serial int) tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return ticked{serial} })
}

// working is a piece of work that the end of the program waits for.
func (s *browseScreen) working(work func() answer) tea.Cmd {
	s.browser.work.Add(1)
	return func() tea.Msg {
		defer s.browser.work.Done()
		return work()
	}
}

func (s *browseScreen) load(ctx context.Context, r browse.Request) answer {
	var last browse.Home
	err := s.browser.load(ctx, func(home browse.Home) {
		if last = home; !home.Complete {
			s.program.Send(answer(func(m *browse.Model) browse.Request {
				m.Loaded(r.Serial, home)
				return browse.Request{}
			}))
		}
	})
	return func(m *browse.Model) browse.Request {
		if err != nil && !isCanceled(err) {
			last.Complete = true
			last.Notes = append(last.Notes, failure.Explain(err).Message)
		}
		m.Loaded(r.Serial, last)
		return browse.Request{}
	}
}

// carryOut does what the person waits for.
func (s *browseScreen) carryOut(ctx context.Context, r browse.Request) answer {
	tell := s.progress(r.Serial)
	switch r.Do {
	case browse.Read:
		page, err := s.browser.read(ctx, r.Place, func(done, total int64) { tell("", done, total) })
		return s.answered(r, err, func(m *browse.Model) { m.Opened(r.Serial, page) })
	case browse.Recall:
		hits, note, err := s.browser.ask(ctx, r.Question)
		return s.answered(r, err, func(m *browse.Model) { m.Answered(r.Serial, r.Question, hits, note) })
	case browse.List:
		doings, err := s.browser.undoable(ctx, r.Target)
		return s.answered(r, err, func(m *browse.Model) { m.Listed(r.Serial, r.Target, doings) })
	case browse.MakePlan:
		plan := s.browser.plan(ctx, r, tell)
		return s.answered(r, ctx.Err(), func(m *browse.Model) { m.Planned(r.Serial, r, plan) })
	}
	result := s.browser.carry(ctx, r, tell)
	return func(m *browse.Model) browse.Request { return m.Ended(r.Serial, result) }
}

func (s *browseScreen) answered(r browse.Request, err error, take func(*browse.Model)) answer {
	return func(m *browse.Model) browse.Request {
		if err != nil {
			m.Failed(r.Serial, tui.FailureOf(err))
		} else {
			take(m)
		}
		return browse.Request{}
	}
}

// progressShown is how often the screen says how far a piece of work is.
const progressShown = 100 * time.Millisecond

// progress passes on how far a request has come, not too often.
func (s *browseScreen) progress(serial int) func(what string, done, total int64) {
	var last time.Time
	return func(what string, done, total int64) {
		if time.Since(last) < progressShown {
			return
		}
		last = time.Now()
		go s.program.Send(answer(func(m *browse.Model) browse.Request { // the work does not wait for the screen
			m.Progress(serial, what, done, total)
			return browse.Request{}
		}))
	}
}
