package embed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/sessctl/sessctl/internal/modelhttp"
)

const (
	// DefaultOllamaURL is where an Ollama server listens.
	DefaultOllamaURL = "http://127.0.0.1:11434"
	// DefaultOllamaModel has 768 dimensions; users asked for it.
	DefaultOllamaModel = "nomic-embed-text"
	// ollamaContext in tokens. Without it the server takes 2,048, and dense
	// text of 3,500 characters does not fit (docs/dev/decisions.md D5).
	ollamaContext = 8192
	// ollamaKeepAlive keeps the model loaded between batches and runs.
	ollamaKeepAlive = "10m"
	// digestDigits of the manifest's digest are the revision; ollama list
	// shows as many.
	digestDigits = 12
)

// Ollama embeds with a model of an Ollama server. One value serves any number
// of goroutines.
type Ollama struct{ remote }

// NewOllama does not ask the server yet. It returns an error if the options
// name no server.
func NewOllama(o RemoteOptions) (*Ollama, error) {
	o.BaseURL = cmp.Or(o.BaseURL, DefaultOllamaURL)
	model := strings.TrimSuffix(cmp.Or(o.Model, DefaultOllamaModel), ":latest")
	base, err := modelhttp.ParseBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	prefix := prefixesOf(model)
	ollama := &Ollama{remote{
		client: newClient(base, o), prefix: prefix,
		protocol: ollamaProtocol{model: model, dim: o.Dim},
		expected: Model{Provider: "ollama", Name: model, Dim: cmp.Or(o.Dim, knownDim(model)), Prefix: prefix.identity()},
	}}
	ollama.revision = ollama.digest
	return ollama, nil
}

// OllamaURL makes a base URL of what the variable OLLAMA_HOST holds: a host, a
// host with a port or a URL. An address that means "all" is this machine.
func OllamaURL(host string) string {
	host = strings.TrimSpace(host)
	if host == "" {
		return DefaultOllamaURL
	}
	port := "11434"
	scheme, rest, found := strings.Cut(host, "://")
	if !found {
		scheme, rest = "http", host
	} else if port = "80"; scheme == "https" {
		port = "443"
	}
	rest, path, _ := strings.Cut(rest, "/")
	name, given, err := net.SplitHostPort(rest)
	if err != nil {
		name, given = strings.Trim(rest, "[]"), port
	}
	if name == "" || name == "0.0.0.0" || name == "::" {
		name = "127.0.0.1"
	}
	return strings.TrimRight((&url.URL{Scheme: scheme, Host: net.JoinHostPort(name, cmp.Or(given, port)), Path: path}).String(), "/")
}

// digest asks for the first digits of the digest of the model's manifest.
func (o *Ollama) digest(ctx context.Context) (string, error) {
	data, err := o.ask(ctx, call{method: "GET", path: "/api/tags", limit: maxOther, query: true})
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if !errors.Is(err, ErrUnavailable) {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return "", fmt.Errorf("list the models: %w", err)
	}
	var list struct {
		Models []struct {
			Name   string `json:"name"`
			Digest string `json:"digest"`
		} `json:"models"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return "", fmt.Errorf("%w: list the models: %w: %w", ErrUnavailable, errReply, err)
	}
	for _, m := range list.Models {
		digest := strings.TrimPrefix(m.Digest, "sha256:")
		if strings.TrimSuffix(m.Name, ":latest") == o.expected.Name && len(digest) >= digestDigits {
			return digest[:digestDigits], nil
		}
	}
	return "", fmt.Errorf("%w: the server at %s has no model %s (ollama pull %s gets it)", ErrUnavailable, o.base.Host, o.expected.Name, o.expected.Name)
}

// ollamaProtocol is POST /api/embed.
type ollamaProtocol struct {
	model string
	dim   int // to ask for, or 0
}

type ollamaRequest struct {
	Model      string         `json:"model"`
	Input      []string       `json:"input"`
	Truncate   bool           `json:"truncate"` // false: refuse what is too long, do not cut it silently
	Dimensions int            `json:"dimensions,omitempty"`
	KeepAlive  string         `json:"keep_alive"`
	Options    map[string]int `json:"options"`
}

func (p ollamaProtocol) request(texts []string) (string, any) {
	return "/api/embed", ollamaRequest{
		Model: p.model, Input: texts, Dimensions: p.dim, KeepAlive: ollamaKeepAlive,
		Options: map[string]int{"num_ctx": ollamaContext},
	}
}

func (p ollamaProtocol) decode(body []byte, dim int) (reply, error) { return decodeOllama(body, dim) }
