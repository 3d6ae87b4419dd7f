package opencode

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// What the rows of a session that is begun hold, as OpenCode writes it.

type begunTime struct {
	Created   int64 `json:"created"`
	Completed int64 `json:"completed,omitempty"`
}

type begunUser struct {
	Role  string          `json:"role"`
	Time  begunTime       `json:"time"`
	Agent string          `json:"agent"`
	Model json.RawMessage `json:"model,omitempty"`
}

type begunPath struct {
	Cwd  string `json:"cwd"`
	Root string `json:"root"`
}

// begunTokens are of a call of a model that never was.
type begunTokens struct {
	Input     int `json:"input"`
	Output    int `json:"output"`
	Reasoning int `json:"reasoning"`
	Cache     struct {
		Read  int `json:"read"`
		Write int `json:"write"`
	} `json:"cache"`
}

type begunAnswer struct {
	Role     string      `json:"role"`
	Parent   string      `json:"parentID"`
	Mode     string      `json:"mode"`
	Agent    string      `json:"agent"`
	Path     begunPath   `json:"path"`
	Cost     int         `json:"cost"`
	Tokens   begunTokens `json:"tokens"`
	Model    string      `json:"modelID"`
	Provider string      `json:"providerID"`
	Time     begunTime   `json:"time"`
	Finish   string      `json:"finish"`
	Summary  bool        `json:"summary,omitempty"`
}

type begunPart struct {
	Type      string      `json:"type"`
	Text      string      `json:"text,omitempty"`
	Synthetic bool        `json:"synthetic,omitempty"`
	Auto      *bool       `json:"auto,omitempty"`
	Tool      string      `json:"tool,omitempty"`
	CallID    string      `json:"callID,omitempty"`
	State     *begunState `json:"state,omitempty"`
	Mime      string      `json:"mime,omitempty"`
	Filename  string      `json:"filename,omitempty"`
	URL       string      `json:"url,omitempty"`
}

// begunFile is an image that a tool returned.
type begunFile struct {
	ID      string `json:"id"`
	Session string `json:"sessionID"`
	Message string `json:"messageID"`
	begunPart
}

func imagePart(p session.Picture) begunPart {
	return begunPart{Type: "file", Mime: p.Media, Filename: strings.Replace(p.Media, "/", ".", 1), URL: p.URL()}
}

type begunState struct {
	Status   string          `json:"status"`
	Input    json.RawMessage `json:"input"`
	Output   *string         `json:"output,omitempty"`
	Error    *string         `json:"error,omitempty"`
	Title    *string         `json:"title,omitempty"`
	Metadata *struct{}       `json:"metadata,omitempty"`
	Files    []begunFile     `json:"attachments,omitempty"`
	Time     begunSpan       `json:"time"`
}

type begunSpan struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// ids are those of OpenCode: in the order of their making, and before all that it makes
// from now on.
type ids struct{ next uint64 }

// perMillisecond is how many of a kind there can be in a millisecond; a second before now
// there is room for all of a session.
const perMillisecond, before = 0x1000, 1000

func newIDs(now int64) *ids { return &ids{uint64(now-before) * perMillisecond} }

func (i *ids) ascending(kind string) string {
	i.next++
	return idOf(kind, i.next)
}

func (i *ids) descending(kind string) string { return idOf(kind, ^(i.next + before*perMillisecond)) }

func idOf(kind string, n uint64) string {
	const letters, random, mask = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 14, 1<<48 - 1
	var tail [random]byte
	rand.Read(tail[:]) // never fails, by its documentation
	for i, c := range tail {
		tail[i] = letters[int(c)%len(letters)]
	}
	return fmt.Sprintf("%s_%012x%s", kind, n&mask, tail[:])
}
