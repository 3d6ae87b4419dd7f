package summarize

import (
	"strings"
	"testing"
)

// What a server answers is a text, or refused; it never ends the program.
func FuzzReply(f *testing.F) {
	const deep = 20_000
	for _, body := range []string{
		"", "{}", "[]", "null", "{", "404 page not found", `{"message":null}`, `{"message":{"content":"x"},"done":true,"prompt_eval_count":9223372036854775807,"eval_count":1}`,
		`{"choices":[]}`, `{"choices":[null]}`, `{"choices":[{"message":{"content":null,"refusal":"no"}}]}`, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`,
		`{"content":[]}`, `{"content":null,"stop_reason":"refusal"}`, `{"content":[{"type":"text","text":1}]}`, `{"response":"x"}`, `{"response":1}`,
		strings.Repeat("[", deep), strings.Repeat(`{"message":`, deep) + "1" + strings.Repeat("}", deep),
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, provider := range []string{ProviderOllama, ProviderOpenAI, ProviderAnthropic, ProviderHermes} {
			p, _ := protocolOf(provider)
			if a, err := p.reply(&Endpoint{Window: 8192}, body); err != nil && a != (Reply{}) {
				t.Errorf("%s: %q is %+v and %v", provider, body, a, err)
			}
		}
	})
}
