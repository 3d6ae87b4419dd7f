package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/opencode/sessiondb"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// triedVersion is the version of OpenCode that has gone on with such rows.
const triedVersion = "1.18.33"

// PlanBegin implements [session.Beginner]: the rows of a session, as its log has them
// (docs/dev/formats.md, "A session that is begun").
func (s *Store) PlanBegin(ctx context.Context, c session.Carried) (session.Begun, error) {
	database := filepath.Join(s.root, s.name+databaseEnd)
	b := begun{c: c, at: c.Now.UnixMilli(), ids: newIDs(c.Now.UnixMilli())}
	if err := s.ground(ctx, database, &b); err != nil {
		return session.Begun{}, err
	}
	b.head()
	b.talk()
	if b.lines.Err != nil {
		return session.Begun{}, fmt.Errorf("begin a session of OpenCode: %w", b.lines.Err)
	}
	plan := session.Begun{ID: b.id, Path: database + sqlitefile.StoredMark + b.id, Log: b.lines.Bytes(), Command: []string{"opencode", "--session", b.id}}
	if err := s.Accepts(ctx, database, once(plan.Log)); err != nil {
		return session.Begun{}, fmt.Errorf("begin a session of OpenCode: %w", err)
	}
	return plan, nil
}

// Begin implements [session.Beginner]: all rows in one transaction, while no program has
// the database open.
func (s *Store) Begin(ctx context.Context, b session.Begun) error {
	database, _ := sqlitefile.CutPath(b.Path)
	if _, err := s.Deposit(ctx, database, once(b.Log)); err != nil {
		return fmt.Errorf("begin a session of OpenCode: %w", err)
	}
	return nil
}

// once opens one log.
func once(log []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		if log == nil {
			return nil, io.EOF
		}
		defer func() { log = nil }()
		return io.NopCloser(bytes.NewReader(log)), nil
	}
}

// ground finds in the database what the session belongs to, and the model that the
// person used last.
func (s *Store) ground(ctx context.Context, database string, b *begun) error {
	db, release, err := s.Databases.Fresh(ctx, s.file(filepath.Base(database)))
	if err != nil {
		return fmt.Errorf("begin a session of OpenCode: %w", err)
	}
	defer release()
	projects, err := db.Projects(ctx)
	if err == nil {
		b.project, err = projectOf(projects, b.c)
	}
	if err == nil {
		b.model, err = db.LastModel(ctx)
	}
	return err
}

// projectOf is the project of a directory: that of the repository that it lies in, else
// the one of all others.
func projectOf(all []sessiondb.Project, c session.Carried) (sessiondb.Project, error) {
	for dir := c.Directory; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			target, _ := filepath.EvalSymlinks(dir) // "" is no project's
			if i := slices.IndexFunc(all, func(p sessiondb.Project) bool { return p.At(dir) || p.At(target) }); i >= 0 {
				return all[i], nil
			}
			return sessiondb.Project{}, fmt.Errorf("%w: OpenCode does not know the repository %s yet: run opencode in it once", session.ErrUnsupported, dir)
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if i := slices.IndexFunc(all, func(p sessiondb.Project) bool { return p.ID == sessiondb.GlobalProject }); i >= 0 {
		return all[i], nil
	}
	return sessiondb.Project{ID: sessiondb.GlobalProject, Worktree: "/", Created: c.Now.UnixMilli()}, nil
}

// tools are OpenCode's names of the tools that others have too.
func tools() session.ToolNames {
	return session.ToolNames{
		Images: true, ResultImages: true,
		Run: "bash", Read: "read", Write: "write", Edit: "edit",
		Command: "command", Path: "filePath", Old: "oldString", New: "newString",
	}
}

// begunSlug is the name in addresses of a session that was begun with what was said
// elsewhere. OpenCode does not change it.
const begunSlug = "carried-over"

// begun is the log of a session while it is written.
type begun struct {
	ids     *ids
	c       session.Carried
	project sessiondb.Project
	model   json.RawMessage

	id     string
	at     int64
	asked  string // the last message of a person
	holder string // the message whose parts are written
	lines  session.Lines
}

// begunLine is a row.
type begunLine struct {
	Type    string `json:"type"`
	Format  int    `json:"format,omitempty"`
	Table   string `json:"table,omitempty"`
	Row     any    `json:"row"`
	Payload any    `json:"payload,omitempty"`
}

type begunTimes struct {
	Created int64 `json:"time_created"`
	Updated int64 `json:"time_updated"`
}

type begunSession struct {
	ID        string `json:"id"`
	Project   string `json:"project_id"`
	Slug      string `json:"slug"`
	Directory string `json:"directory"`
	Title     string `json:"title"`
	Version   string `json:"version"`
	begunTimes
}

type begunProject struct {
	ID       string `json:"id"`
	Worktree string `json:"worktree"`
	Created  int64  `json:"time_created"`
}

type begunRow struct {
	ID      string `json:"id"`
	Message string `json:"message_id,omitempty"`
	Session string `json:"session_id"`
	begunTimes
}

// head writes the session, and what it belongs to. OpenCode goes on with the session
// that was changed last.
func (b *begun) head() {
	b.id = b.ids.descending("ses")
	title := b.c.Title
	if title == "" {
		title = "carried over"
	}
	b.lines.Add(begunLine{Type: "opencode.session", Format: 1, Row: begunSession{b.id, b.project.ID, begunSlug, b.c.Directory, title, triedVersion, begunTimes{b.at, b.at}}})
	b.lines.Add(begunLine{Type: "row", Table: "project", Row: begunProject{b.project.ID, b.project.Worktree, b.project.Created}})
}

// talk writes the messages, in the order of their times, which is that of OpenCode: none
// is later than what it writes from now on. The note stands in the first of a person.
func (b *begun) talk() {
	var times session.Times
	if len(b.c.Messages) > 0 {
		b.at = min(times.At(b.c.Messages[0], b.c.Now), b.at)
	}
	if b.c.Summary != "" {
		b.ask(begunPart{Type: "compaction", Auto: new(bool)})
		b.answer("stop", true)
		b.part(begunPart{Type: "text", Text: b.c.Summary})
	}
	note := []begunPart{{Type: "text", Text: b.c.Note, Synthetic: true}}
	for i, m := range b.c.Messages {
		b.at = min(times.At(m, b.c.Now), b.c.Now.UnixMilli())
		switch m.Role {
		case session.RoleUser:
			b.ask(append(note, shownIn(m)...)...)
			note = nil
		case session.RoleAssistant:
			if note != nil {
				b.ask(note...)
				note = nil
			}
			b.say(m, b.c.Messages[i+1:])
		}
	}
}

// shownIn are the parts of what a person says and shows.
func shownIn(m session.CarriedMessage) (parts []begunPart) {
	if m.Text != "" {
		parts = append(parts, begunPart{Type: "text", Text: m.Text})
	}
	for _, image := range m.Images {
		parts = append(parts, imagePart(image))
	}
	return parts
}

// ask writes a message of a person.
func (b *begun) ask(parts ...begunPart) {
	b.asked = b.message(begunUser{Role: "user", Time: begunTime{Created: b.at}, Agent: "build", Model: b.model})
	for _, p := range parts {
		b.part(p)
	}
}

// answer begins a message of the model.
func (b *begun) answer(finish string, summary bool) {
	agent := "build"
	if summary {
		agent = "compaction"
	}
	b.message(begunAnswer{
		Role: "assistant", Parent: b.asked, Mode: agent, Agent: agent, Path: begunPath{b.c.Directory, b.project.Worktree},
		Model: session.OriginMark, Provider: session.OriginMark, Time: begunTime{b.at, b.at}, Finish: finish, Summary: summary,
	})
}

// say writes an answer: a call and its result are one part.
func (b *begun) say(m session.CarriedMessage, after []session.CarriedMessage) {
	finish := "stop"
	if len(m.Calls) > 0 {
		finish = "tool-calls"
	}
	b.answer(finish, false)
	if m.Text != "" {
		b.part(begunPart{Type: "text", Text: m.Text})
	}
	for i, call := range m.Calls {
		state := begunState{Status: "completed", Input: call.Arguments, Title: new(string), Metadata: &struct{}{}, Time: begunSpan{b.at, max(b.at, after[i].Time)}}
		if after[i].Failed {
			state = begunState{Status: "error", Input: call.Arguments, Error: &after[i].Text, Time: state.Time}
		} else {
			state.Output = &after[i].Text
			for _, image := range after[i].Images {
				state.Files = append(state.Files, begunFile{b.ids.ascending("prt"), b.id, b.holder, imagePart(image)})
			}
		}
		b.part(begunPart{Type: "tool", Tool: call.Name, CallID: call.ID, State: &state})
	}
}

func (b *begun) message(data any) string {
	b.holder = b.ids.ascending("msg")
	b.lines.Add(begunLine{Type: "message", Row: begunRow{ID: b.holder, Session: b.id, begunTimes: begunTimes{b.at, b.at}}, Payload: data})
	return b.holder
}

func (b *begun) part(data begunPart) {
	b.lines.Add(begunLine{Type: "part", Row: begunRow{b.ids.ascending("prt"), b.holder, b.id, begunTimes{b.at, b.at}}, Payload: data})
}
