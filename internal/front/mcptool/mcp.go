package mcptool

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/memory"
)

// MCPOptions are the options of mcp.
type MCPOptions struct {
	// Agent is the one agent that is served, "" for all, and Runtime the one runtime.
	// An agent that is named alone must be the only one of its name. Project says that
	// the name is a project's: then all of its agents are served.
	Agent      agentset.Set
	Runtime    string
	Project    bool
	AllowWrite bool
	Remote     bool // clients may be on other machines: their sessions are not among those here
}

// MaxMCPLine bounds one request, in bytes: the longest string that a schema
// allows is far shorter.
const MaxMCPLine = 1 << 20

// KeptOpen is a writer that stays open: stdout is not the server's to close.
type KeptOpen struct{ io.Writer }

// Close implements io.Closer.
func (KeptOpen) Close() error { return nil }

// InTurn makes a call when its turn comes.
func InTurn(ctx context.Context, working chan struct{}, call func(context.Context) (string, error)) (string, error) {
	select {
	case working <- struct{}{}:
		defer func() { <-working }()
		return call(ctx)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// ToolError is an error with its hint, for a model.
func ToolError(err error) string {
	body := failure.Explain(err)
	text := wording.VisibleText(strings.TrimSpace(body.Message))
	if body.Hint != "" {
		text += "\nhint: " + wording.Visible(body.Hint)
	}
	return text
}

// How long strings may be, in characters: what a schema says, and what the
// server checks before a tool is called.
const (
	maxQueryRunes = 1000 // of a question
	maxIDRunes    = 200  // of ids, names and times
	maxTextRunes  = memory.MaxOwnWords
)

// ToolSchema is the schema of a tool's arguments. Every string has a greatest
// length.
func ToolSchema[In any]() *jsonschema.Schema {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("the schema of %T: %v", *new(In), err)) // a defect that every test finds
	}
	for name, property := range schema.Properties {
		bound := maxIDRunes
		switch name {
		case "query", "file", "command", "error":
			bound = maxQueryRunes
		case "text":
			bound = maxTextRunes
		}
		if property.Type == "string" {
			property.MaxLength = &bound
		}
	}
	return schema
}
