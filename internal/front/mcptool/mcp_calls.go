package mcptool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/pkg/session"
)

// Call is the call of a tool as an answer prints it: its name and its arguments, which
// a model can send as they are.
func Call(tool string, in any) string {
	args, err := json.Marshal(in)
	if err != nil {
		panic(fmt.Sprintf("the arguments of %s: %v", tool, err)) // inputs always are JSON
	}
	return tool + " " + string(args)
}

// Range is the lines that a call of memory_read asks for. Beside first_line and
// last_line it may say "29-32", as people do.
func (in ReadInput) Range() (first, last int, err error) {
	if in.Lines == "" {
		return in.FirstLine, in.LastLine, nil
	}
	from, to, two := strings.Cut(strings.NewReplacer("lines", "", "line", "", " to ", "-", " ", "", "–", "-", "..", "-", ":", "-").Replace(in.Lines), "-")
	first, err = strconv.Atoi(from)
	if last = first; err == nil && two {
		last, err = strconv.Atoi(to)
	}
	if err != nil || in.FirstLine != 0 || in.LastLine != 0 {
		return 0, 0, failure.Usage(Call("memory_read", ReadInput{Archive: in.Archive, Hit: in.Hit, FirstLine: 29, LastLine: 32})+" reads lines 29 to 32", "lines %q is no range, or first_line and last_line say another", in.Lines)
	}
	return first, last, nil
}

// PlainErrors is the middleware that bounds the errors of all tools, and says in plain
// words what is wrong with arguments. schemas are those of the tools, by their names.
func PlainErrors(schemas map[string]*jsonschema.Schema) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, r)
			called, ok := result.(*mcp.CallToolResult)
			if ok && called != nil && called.IsError {
				asked, _ := r.GetParams().(*mcp.CallToolParamsRaw)
				explain(called, asked, schemas)
			}
			var wire *jsonrpc.Error
			if errors.As(err, &wire) && len(wire.Message) > recall.MostComplaint {
				err = &jsonrpc.Error{Code: wire.Code, Message: session.CutText(wire.Message, recall.MostComplaint, " …")}
			}
			return result, err
		}
	}
}

// explain puts plain words in the place of the library's, and bounds them.
func explain(called *mcp.CallToolResult, asked *mcp.CallToolParamsRaw, schemas map[string]*jsonschema.Schema) {
	for _, c := range called.Content {
		text, ok := c.(*mcp.TextContent)
		if !ok {
			continue
		}
		if asked != nil && schemas[asked.Name] != nil && strings.HasPrefix(text.Text, `validating "arguments"`) {
			text.Text = ToolError(wrongArguments(asked.Name, schemas[asked.Name], asked.Arguments))
		}
		text.Text = session.CutText(text.Text, recall.MostComplaint, " …")
	}
}

// wrongArguments says what of a tool's arguments its schema refuses.
func wrongArguments(tool string, schema *jsonschema.Schema, arguments json.RawMessage) error {
	takes := "it takes " + strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", ")
	var given map[string]any
	if err := json.Unmarshal(arguments, &given); err != nil {
		return failure.Usage(takes, "the arguments of %s are no JSON object", tool)
	}
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if complaint := wrongArgument(schema.Properties[name], given[name]); complaint != "" {
			wrong = append(wrong, fmt.Sprintf("%s %s", name, complaint))
		}
	}
	for _, name := range schema.Required {
		if given[name] == nil {
			wrong = append(wrong, name+" is missing")
		}
	}
	return failure.Usage(takes, "%s: %s", tool, cmp.Or(strings.Join(wrong, "; "), "these arguments are not what it takes"))
}

// wrongArgument says what is wrong with one argument; "" for nothing.
func wrongArgument(property *jsonschema.Schema, value any) string {
	if property == nil {
		return "is not an argument of it"
	}
	number, isNumber := value.(float64)
	text, isText := value.(string)
	_, isBool := value.(bool)
	switch {
	case property.Type == "string" && !isText:
		return "must be text"
	case property.Type == "boolean" && !isBool:
		return "must be true or false"
	case property.Type == "integer" && (!isNumber || number != math.Trunc(number)):
		return "must be a whole number"
	case property.Type == "number" && !isNumber:
		return "must be a number"
	case property.Minimum != nil && number < *property.Minimum, property.Maximum != nil && number > *property.Maximum:
		return fmt.Sprintf("must be between %v and %v, not %v", *property.Minimum, *property.Maximum, number)
	case property.MaxLength != nil && len([]rune(text)) > *property.MaxLength:
		return fmt.Sprintf("is longer than %d characters", *property.MaxLength)
	}
	return ""
}
