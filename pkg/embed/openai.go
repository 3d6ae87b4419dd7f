package embed

import (
	"cmp"
	"strings"

	"github.com/sessctl/sessctl/internal/modelhttp"
)

const (
	// defaultOpenAIURL is the provider whose protocol it is.
	defaultOpenAIURL = "https://api.openai.com"
	// defaultOpenAIModel has 1,536 dimensions.
	defaultOpenAIModel = "text-embedding-3-small"
)

// OpenAI embeds with any server that speaks OpenAI's POST /v1/embeddings. One
// value serves any number of goroutines.
type OpenAI struct{ remote }

// NewOpenAI does not ask the server yet. It returns an error if the options
// name no server. The base URL may end in /v1 or not.
func NewOpenAI(o RemoteOptions) (*OpenAI, error) {
	o.BaseURL = cmp.Or(o.BaseURL, defaultOpenAIURL)
	o.Model = cmp.Or(o.Model, defaultOpenAIModel)
	base, err := modelhttp.ParseBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	base.Path = strings.TrimSuffix(base.Path, "/v1")
	prefix := prefixesOf(o.Model)
	return &OpenAI{remote{
		client: newClient(base, o), prefix: prefix,
		protocol: openAIProtocol{model: o.Model, dim: o.Dim},
		// No reply says which weights made it: the place has to stand for them.
		expected: Model{Provider: "openai", Name: o.Model, Revision: base.Host + base.Path, Dim: cmp.Or(o.Dim, knownDim(o.Model)), Prefix: prefix.identity()},
	}}, nil
}

// openAIProtocol is POST /v1/embeddings.
type openAIProtocol struct {
	model string
	dim   int // to ask for, or 0
}

type openAIRequest struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions,omitempty"`
}

func (p openAIProtocol) request(texts []string) (string, any) {
	return "/v1/embeddings", openAIRequest{Model: p.model, Input: texts, EncodingFormat: "float", Dimensions: p.dim}
}

func (p openAIProtocol) decode(body []byte, dim int) (reply, error) { return decodeOpenAI(body, dim) }
