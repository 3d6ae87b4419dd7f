package gemini

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/partsformat"
)

// PlanBegin implements [session.Beginner] (docs/dev/formats.md, "A session that is
// begun").
func (s *Store) PlanBegin(_ context.Context, c session.Carried) (session.Begun, error) {
	project, err := s.project(c.Directory)
	if err != nil {
		return session.Begun{}, fmt.Errorf("begin a chat of Gemini: %w", err)
	}
	b := begun{id: session.NewID(), at: c.Now.UnixMilli()}
	hash, now := sha256.Sum256([]byte(c.Directory)), session.Stamp(b.at)
	b.lines.Add(begunChat{b.id, hex.EncodeToString(hash[:]), now, now, "main"})
	if c.Summary != "" {
		b.add(session.NewID(), "user", partsformat.Part{Text: session.MarkedSummary(c.Summary)})
	}
	b.add(strings.ReplaceAll(session.NewID(), "-", ""), "user", partsformat.Part{Text: c.Note}) // such an id is the runtime's
	var times session.Times
	for _, m := range c.Messages {
		b.at = times.At(m, c.Now)
		kind := "user"
		if m.Role == session.RoleAssistant {
			kind = "gemini"
		}
		b.add(session.NewID(), kind, partsformat.ContentOf(m).Parts...)
	}
	if b.lines.Err != nil {
		return session.Begun{}, fmt.Errorf("begin a chat of Gemini: %w", b.lines.Err)
	}
	dir := filepath.Join(s.Base, project)
	return session.Begun{
		ID: b.id, Path: filepath.Join(dir, chatsName, "session-"+strings.ReplaceAll(now[:len("2006-01-02T15:04")], ":", "-")+"-"+b.id[:8]+".jsonl"), Log: b.lines.Bytes(),
		Owner: filepath.Join(dir, ownerName), Directory: c.Directory, Command: []string{"gemini", "--resume", b.id},
	}, nil
}

const (
	ownerName    = ".project_root" // in the directory of a project: its working directory
	registryName = "projects.json"
)

// project is the name of the directory in which Gemini looks for the chats of a working
// directory: the one that it has, else the one that it would take.
func (s *Store) project(directory string) (string, error) {
	var registry struct{ Projects map[string]string }
	text, err := os.ReadFile(filepath.Join(filepath.Dir(s.Base), registryName))
	if err == nil {
		err = json.Unmarshal(text, &registry)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read its list of projects: %w", err)
	}
	if name := registry.Projects[directory]; session.SafeID(name) && s.owner(name, directory) == directory {
		return name, nil
	}
	markers, _ := filepath.Glob(filepath.Join(s.Base, "*", ownerName))
	for _, marker := range markers {
		if name := filepath.Base(filepath.Dir(marker)); s.owner(name, "") == directory {
			return name, nil
		}
	}
	var taken []string
	for _, name := range registry.Projects {
		taken = append(taken, name)
	}
	first := shortName(filepath.Base(directory))
	for n, name := 1, first; ; n, name = n+1, fmt.Sprintf("%s-%d", first, n) {
		if !slices.Contains(taken, name) && s.owner(name, directory) == directory {
			return name, nil
		}
	}
}

// owner is the working directory that a project's directory says it belongs to; orElse if
// it says none.
func (s *Store) owner(name, orElse string) string {
	text, err := os.ReadFile(filepath.Join(s.Base, name, ownerName))
	if errors.Is(err, fs.ErrNotExist) {
		return orElse
	}
	return strings.TrimSpace(string(text))
}

// shortName is what Gemini makes of the name of a directory.
func shortName(base string) string {
	words := strings.FieldsFunc(strings.ToLower(base), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	if len(words) == 0 {
		return "project"
	}
	return strings.Join(words, "-")
}

// Begin implements [session.Beginner]: the project's directory first, with whose it is,
// so that Gemini gives it to no other one.
func (s *Store) Begin(ctx context.Context, b session.Begun) error {
	err := s.Logs.Begin(ctx, session.Begun{Path: b.Owner, Log: []byte(b.Directory)})
	if errors.Is(err, fs.ErrExist) && s.owner(filepath.Base(filepath.Dir(b.Owner)), "") == b.Directory {
		err = nil
	}
	if err != nil {
		return err
	}
	return s.Logs.Begin(ctx, b)
}

// tools says that calls go as text: later resumes of Gemini send a result several times,
// which Google refuses, and new models want a signature with a call.
func tools() session.ToolNames { return session.ToolNames{TextOnly: true, Unsent: "/?", Images: true} }

// begun is a chat while it is written.
type begun struct {
	id    string
	at    int64
	lines session.Lines
}

type begunChat struct {
	Session string `json:"sessionId"`
	Project string `json:"projectHash"`
	Start   string `json:"startTime"`
	Updated string `json:"lastUpdated"`
	Kind    string `json:"kind"`
}

type begunMessage struct {
	ID        string             `json:"id"`
	Timestamp string             `json:"timestamp"`
	Type      string             `json:"type"`
	Content   []partsformat.Part `json:"content"`
	Model     string             `json:"model,omitempty"`
}

func (b *begun) add(id, kind string, parts ...partsformat.Part) {
	m := begunMessage{ID: id, Timestamp: session.Stamp(b.at), Type: kind, Content: parts}
	if kind == "gemini" {
		m.Model = session.OriginMark
	}
	b.lines.Add(m)
}
