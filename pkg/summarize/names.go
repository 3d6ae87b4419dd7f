package summarize

import (
	"strings"
	"unicode/utf8"
)

// The index of the names that a summary lacks.
const (
	indexName  = "Also in the log"
	indexTitle = "## " + indexName
	mostIndex  = 5 // of a summary at most one code point in so many
)

// report is what became of the names of a log.
type report struct{ all, lost, named int }

// complete returns a text with the index of the names that it lacks, of at most so many
// code points, and the report of the loss. Names are ranked by how late and how often
// they were used.
func (e *Extractive) complete(text string, runes int) (whole string, r report) {
	return e.indexed(usesOf(e.events, nil), text, runes)
}

func (e *Extractive) indexed(u *uses, text string, runes int) (whole string, r report) {
	u.untold()
	told := termsOf(text)
	for _, t := range u.byKey {
		if t.telling() && !t.stays {
			if r.all++; !told[t.key] {
				r.lost++
			}
		}
	}
	list := ""
	space := min(runes-utf8.RuneCountInString(text), e.options.MaxRunes/mostIndex) - len("\n\n"+indexTitle+"\n\n")
	for t := range u.top() {
		if space < 4 {
			break
		}
		if !t.telling() || told[t.key] || isCommonplace(t.key) {
			continue
		}
		name := e.spelled(t)
		n := utf8.RuneCountInString(name) + len(", ")
		if name == "" || n > space {
			continue
		}
		space -= n
		list += ", " + name
		r.named++
	}
	if list == "" {
		return text, r
	}
	return text + "\n\n" + indexTitle + "\n\n" + strings.TrimPrefix(list, ", "), r
}

// isCommonplace reports whether a name tells nothing of the work: a media type, a
// version of HTTP, an encoding, a device.
func isCommonplace(key string) bool {
	key = strings.ToLower(key)
	kind, rest, two := strings.Cut(strings.TrimPrefix(key, "/"), "/")
	switch kind {
	case "text", "application", "image", "audio", "video", "font", "multipart":
		return two && !strings.ContainsAny(rest, "/") && !strings.Contains(rest, ".") && kind+"/"+rest == key
	case "http":
		return two && strings.Trim(rest, "0123456789.") == ""
	case "dev":
		return two && strings.HasPrefix(key, "/") && !strings.Contains(rest, "/")
	}
	return strings.HasPrefix(key, "utf-8") || strings.HasPrefix(key, "utf-16") || key == "utf8"
}

// termsOf are the terms of a text.
func termsOf(text string) map[string]bool {
	found := map[string]bool{}
	r := termReader{yield: func(key []byte, _ class) { found[string(key)] = true }}
	r.read(text)
	r.commands(text)
	return found
}

// spelled is a term as it stands in the log; "" if that looks like a secret.
func (e *Extractive) spelled(t *use) string {
	x := &e.events[t.last]
	at := indexFold(x.text, t.key)
	if at < 0 {
		return ""
	}
	end := at + len(t.key)
	from, to := lineAround(x.text, at)
	if safe := redact(x.text[from:to]); indexFold(safe, t.key) < 0 {
		return ""
	}
	if at > 0 && x.text[at-1] == '\\' && strings.IndexByte("nrt", x.text[at]) >= 0 { // a string within a string
		at++
	}
	return x.text[at:end]
}
