package session

import (
	"context"
	"io"
	"time"
)

// LogSource is a store with sessions that are not files ([KindStored]): it writes a session's log
// out when it is asked, one JSON object a line, always the same bytes for the
// same session. The Path of its references names a session for people and is
// not opened.
type LogSource interface {
	// OpenLog starts to read the log of a session. A [*BusyError] or an error
	// that wraps fs.ErrNotExist is returned for one that is not there any more.
	OpenLog(ctx context.Context, ref Ref) (io.ReadCloser, error)
}

// SourceOf returns the [LogSource] that writes out the log of a reference;
// false for a log that is a file. A store may have both.
func SourceOf(store Store, ref Ref) (LogSource, bool) {
	if ref.Kind != KindStored {
		return nil, false
	}
	source, ok := store.(LogSource)
	return source, ok
}

// Annotator is a store in which a summary is written beside the messages, and
// nothing is ever deleted (seed 004).
type Annotator interface {
	// PlanAnnotation says what Annotate would write. It changes nothing.
	PlanAnnotation(ctx context.Context, request ShortenRequest) (Annotation, error)
	// Annotate writes it. A session that has got messages since the snapshot
	// is a [*BusyError] and nothing is changed. It may be repeated.
	Annotate(ctx context.Context, a Annotation) error
}

// Annotation is the plan of a summary beside the messages: plain data that is
// written to the journal before anything changes.
type Annotation struct {
	Runtime string    `json:"runtime"`
	Agent   string    `json:"agent"`
	Session string    `json:"session"`
	Store   string    `json:"store"`
	Live    string    `json:"live"` // the reference's path
	Text    string    `json:"text"`
	At      time.Time `json:"at"`
	Proof   LogProof  `json:"proof"` // of the log as [LogSource] writes it
}
