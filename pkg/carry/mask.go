package carry

import (
	"bytes"
	"encoding/json"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// mask puts a mark in the place of what looks like a secret, everywhere, and returns in
// how many places. What is found in one text is looked for in all.
func mask(c *session.Carried) (places int) {
	known := secrets.NewSession()
	eachText(c, func(text string) string {
		known.Learn([]byte(text))
		return text
	})
	eachText(c, func(text string) string {
		clean, n := known.Redact(text)
		places += n
		return clean
	})
	return places
}

// eachText goes through all that is said, arguments included.
func eachText(c *session.Carried, do func(string) string) {
	c.Summary, c.Title = do(c.Summary), do(c.Title)
	for i := range c.Messages {
		m := &c.Messages[i]
		m.Text = do(m.Text)
		for j := range m.Calls {
			m.Calls[j].Arguments = eachString(m.Calls[j].Arguments, do)
		}
	}
}

// eachString goes through the strings of a JSON value, which stays as it is if none
// changes.
func eachString(raw json.RawMessage, do func(string) string) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return raw
	}
	changed := false
	value = eachIn(value, func(text string) string {
		clean := do(text)
		changed = changed || clean != text
		return clean
	})
	text, err := json.Marshal(value)
	if !changed || err != nil {
		return raw
	}
	return text
}

func eachIn(value any, do func(string) string) any {
	switch x := value.(type) {
	case string:
		return do(x)
	case []any:
		for i := range x {
			x[i] = eachIn(x[i], do)
		}
	case map[string]any:
		for k := range x {
			x[k] = eachIn(x[k], do)
		}
	}
	return value
}
