package audit

import (
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
)

// WorkAction is one action.
type WorkAction struct {
	ID        string       `json:"id"`
	Kind      string       `json:"kind"` // command, read, write, edit, delete, search, fetch
	Tool      string       `json:"tool"`
	Text      string       `json:"text"`  // the command line, path, query or address
	Place     string       `json:"place"` // the directory of a command, or what was searched
	SpanFrom  int          `json:"span_from"`
	SpanTo    int          `json:"span_to"`
	Answered  bool         `json:"answered"`
	Failed    bool         `json:"failed"`
	Exit      *int         `json:"exit"` // null if the log does not tell
	Errors    []string     `json:"errors"`
	CreatedAt string       `json:"created_at"` // RFC 3339, UTC
	Runtime   string       `json:"runtime"`
	Agent     string       `json:"agent"`
	Session   string       `json:"session"`
	Branch    string       `json:"branch"`
	Source    RecallSource `json:"source"` // of the call
	// Of its result; 0 if there is none.
	ResultFirstLine int `json:"result_first_line"`
	ResultLastLine  int `json:"result_last_line"`
}

// NewWorkAction is what a call did, as JSON.
func NewWorkAction(r memory.Record) WorkAction {
	a := r.Action
	x := WorkAction{
		ID: r.ID, Kind: a.Kind, Tool: a.Tool, Text: a.Subject, Place: a.Place, SpanFrom: a.SpanFrom, SpanTo: a.SpanTo,
		Answered: a.Answered, Failed: a.Failed, Errors: []string{}, CreatedAt: time.UnixMilli(r.CreatedAt).UTC().Format(time.RFC3339),
		Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Branch: r.Branch, Source: NewRecallSource(r),
		ResultFirstLine: a.ResultFirstLine, ResultLastLine: a.ResultLastLine,
	}
	if a.HasExit {
		x.Exit = &a.Exit
	}
	if a.Errors != "" {
		x.Errors = strings.Split(a.Errors, "\n")
	}
	return x
}
