package summarize_test

import (
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
	"github.com/sessctl/sessctl/pkg/summarize/state"
)

// Secrets are in no summary and in no state, also where they are longer than what is
// kept of a text, or stand in the arguments of a call.
func TestNoSecretIsQuoted(t *testing.T) {
	key := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEplantedKeyLine0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH+/\n", 400) + "-----END RSA PRIVATE KEY-----"
	planted := []string{key, "please use " + key + " for it", "password: Tr0ub4dorPlanted99", strings.Repeat("much text. ", 2000) + key + strings.Repeat(" and more.", 2000)}
	for _, secret := range planted {
		e := summarize.NewExtractive(summarize.Options{MaxRunes: 20000})
		r := &state.Reader{}
		add := func(role session.Role, parts ...session.Part) {
			m := &session.Message{Role: role, Parts: parts, Line: 1, CallID: []byte("c1"), Branch: session.Active}
			r.Add(m)
			_ = e.Add(m)
		}
		said := session.Part{Kind: session.PartText, Text: []byte(secret)}
		quoted := strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(secret)
		add(session.RoleUser, said)
		add(session.RoleAssistant, said, session.Part{Kind: session.PartToolCall, Name: []byte("bash"), CallID: []byte("c1"), Text: []byte(`{"command":"cat > key.pem <<EOF\n` + quoted + `\nEOF","password":"Tr0ub4dorPlanted99"}`)})
		add(session.RoleToolResult, said)
		add(session.RoleUser, said)
		stands := r.State()
		for name, text := range map[string]string{"state": stands.Text(4000), "summary": e.Summary().Text} {
			if strings.Contains(text, "PlantedKey") || strings.Contains(text, "plantedKey") || strings.Contains(text, "Planted99") {
				t.Errorf("%.40q: the %s has a secret:\n%.1500s", secret, name, text)
			}
		}
	}
}
