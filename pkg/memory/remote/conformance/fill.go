package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

// Agent is whose session [Fill] fills.
const Agent = "scout"

// NoteText is what record i of n says that [Fill] puts into a session.
func NoteText(session string, i, n int) string {
	return fmt.Sprintf("user: note %d of %s says that the crane number %d lifts %d tons.", i, session, i*7%n, i%97)
}

// Fill puts n records and their vectors, by the built-in embedder, into the
// memory of a host: what [Agent] said in one session.
func Fill(ctx context.Context, s *memory.Store, session string, n int) error {
	const began, pause = start, 1000
	e, err := embed.NewBuiltin()
	if err != nil {
		return err
	}
	var vectors []memory.Vector
	_, err = s.Put(ctx, memory.Source{Runtime: "openclaw", Agent: Agent, Session: session}, func(yield func(memory.Record, error) bool) {
		for i := range n {
			text := NoteText(session, i, n)
			r := memory.Record{ID: memory.RecordID(Agent, session, i, "test", text), Text: text, Category: "session_history", Importance: 0.25, CreatedAt: began + int64(i)*pause, Branch: "active", Position: i}
			unit, err := e.EmbedDocuments(ctx, []string{text})
			if err == nil {
				vectors = append(vectors, memory.Vector{ID: r.ID, Values: unit[0]})
			}
			if !yield(r, err) {
				return
			}
		}
	})
	return errors.Join(err, s.PutVectors(ctx, e.Model(), Agent, vectors, nil))
}
