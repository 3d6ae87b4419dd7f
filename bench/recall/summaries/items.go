package main

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// itemPattern finds what may be needed again letter by letter. It is not what the
// summary itself looks for, so that neither is made to fit the other.
var itemPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`https?://[^\s"'<>` + "`" + `)\]}|\\]+` +
		`|(?:[A-Za-z]:)?[\\/~.]{0,3}[\w.@+~-]+(?:[\\/]{1,2}[\w.@+~$()-]+)+` + // paths
		`|\b[\w-]+(?:\.[\w-]+)+\b` + // files, versions, dotted names
		`|--[a-z][\w-]{2,}` +
		`|\b\d+(?:[:-]\d+)+\b|\b\d{3,}\b|\b[0-9a-f]{7,40}\b` +
		`|\b[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z0-9]+[A-Z]\w*\b|\b[a-z0-9]+(?:-[a-z0-9]+){2,}\b`)
})

// itemsOf are the items of a text in lower case: of a path its last part, or its last
// two if that is no file.
func itemsOf(text string) map[string]bool {
	found := map[string]bool{}
	for _, item := range itemPattern().FindAllString(text, -1) {
		item = strings.Trim(normal(item), ".,;:!?'\"`()[]{}<>*")
		if _, address, is := strings.Cut(item, "://"); is {
			item = strings.TrimRight(address, "/")
		} else if parts := strings.FieldsFunc(item, func(r rune) bool { return r == '/' }); len(parts) > 1 {
			item = parts[len(parts)-1]
			if !strings.Contains(item, ".") {
				item = parts[len(parts)-2] + "/" + item
			}
		}
		if len(item) > 3 && len(item) <= 80 && strings.Trim(item, "0") != "" {
			found[item] = true
		}
	}
	return found
}

// normal is a text in lower case, with the strokes of paths one way.
func normal(text string) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(text, `\\`, "/"), `\`, "/"))
}

// near is how far around an item the words that tell what it is are looked for, in bytes.
const near = 120

// places are where an item stands in a normal text, between boundaries.
func places(item, text string, each func(at int) (more bool)) {
	for from := 0; ; {
		at := strings.Index(text[from:], item)
		if at < 0 {
			return
		}
		at += from
		from = at + 1
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(item):])
		if !inWord(before) && !inWord(after) && !each(at) {
			return
		}
	}
}

func inWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z'
}

// around is what stands around a place on its line.
func around(text string, at, length int) string {
	from := max(strings.LastIndexByte(text[:at], '\n')+1, at-near)
	to := len(text)
	if n := strings.IndexByte(text[at+length:], '\n'); n >= 0 {
		to = at + length + n
	}
	return text[from:at] + " " + text[at+length:min(to, at+length+near)]
}

// plainWords are the words of a normal text that are no parts of anything else.
func plainWords(text string) map[string]bool {
	found := map[string]bool{}
	for _, w := range strings.Fields(text) {
		w = strings.Trim(w, ".;:!?\"'`()[]{}<>*#|")
		if utf8.RuneCountInString(w) > 3 && strings.IndexFunc(w, func(r rune) bool { return r < 'a' || r > 'z' && r < utf8.RuneSelf }) < 0 && !common[w] {
			found[w] = true
		}
	}
	return found
}

// common are words that tell nothing.
var common = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields("this that with from have been will would could should there their they them then than when what which where while your into over under about after before because also just like only some such very more most much many other these those here were does done make need want please sure thanks file files line lines code true false none command description path content text name type value input output user agent call result error message session") {
		set[w] = true
	}
	return set
}()
