package claude

import (
	"context"
	"io"
	"os"
	"sync"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// historyLines is where the prompts of each session lie in the history. One file
// has those of all sessions, so each is found without reading the file again while
// it stays as it was.
type historyLines struct {
	mu    sync.Mutex
	of    os.FileInfo // the history that was read, nil before that
	lines map[string][]linePlace
}

// linePlace is a line of the history that is a prompt.
type linePlace struct {
	agent          string
	named          bool // it names its session
	offset, length int64
}

// belongs reports whether the line is of the prompts that are listed under an agent:
// those that name a session are listed once, wherever they were typed.
func (l linePlace) belongs(agent string) bool { return l.named || l.agent == agent }

// find returns the lines of what is listed under an id, in their order, reading the
// history if it is not the one that was read last. What it returns is not changed.
func (h *historyLines) find(ctx context.Context, file *os.File, id string) ([]linePlace, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if h.of == nil || !sameHistory(h.of, info) {
		if err := h.read(ctx, file, info); err != nil {
			return nil, err
		}
	}
	return h.lines[id], nil
}

func sameHistory(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func (h *historyLines) read(ctx context.Context, file *os.File, info os.FileInfo) error {
	lines, reader := map[string][]linePlace{}, promptReader{}
	_, err := jsonl.Scan(ctx, io.NewSectionReader(file, 0, info.Size()), jsonl.Options{}, func(r *jsonl.Record) error {
		if p, ok := reader.read(r.Raw); ok {
			lines[p.id()] = append(lines[p.id()], linePlace{p.agent, p.named, r.Offset, r.Length})
		}
		return nil
	})
	if err != nil {
		return err
	}
	h.of, h.lines = info, lines
	return nil
}

// forget makes the next search read the history again.
func (h *historyLines) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of, h.lines = nil, nil
}
