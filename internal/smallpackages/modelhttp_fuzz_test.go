package smallpackages_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/modelhttp"
)

// What a model's server complains is an error that does not have the key, whatever
// it looks like.
func FuzzModelhttpComplaint(f *testing.F) {
	const deep = 20_000
	for _, body := range []string{
		"", "{}", "[]", "null", `{"error":"x"}`, `{"error":1}`, `{"error":{"message":"x"}}`, `{"error":{"message":` + "1}}", `{"error":"` + key + `"}`, key, "<html>",
		strings.Repeat("[", deep), strings.Repeat(`{"error":`, deep) + `"x"` + strings.Repeat("}", deep),
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		_, _, err := ask(t, modelhttp.Retry{}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(body))
		})
		if err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("%q: %v", body, err)
		}
	})
}
