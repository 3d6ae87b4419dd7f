package session

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// Picture is an image as providers take it.
type Picture struct {
	Media  string // "image/png"
	Base64 string
}

// URL is the picture as a data URL.
func (p Picture) URL() string { return "data:" + p.Media + ";base64," + p.Base64 }

// maxPicture is how large an image may be for providers, in bytes of base64.
const maxPicture = 5 << 20

// PictureOf is the image of a part; false for what providers do not take: an address, a
// document, one of another format, or one that is too large. What it is its first bytes
// say, whatever the log calls it: a provider refuses an image by another one's name.
func PictureOf(p *Part) (Picture, bool) {
	raw := bytes.Trim(p.Image, `"`)
	if bytes.HasPrefix(raw, []byte("{")) { // {"type":"base64","data":...}
		var source struct{ Data string }
		_ = json.Unmarshal(raw, &source) // of another shape it has none
		raw = []byte(source.Data)
	}
	if head, data, ok := bytes.Cut(raw, []byte(";base64,")); ok && bytes.HasPrefix(head, []byte("data:")) {
		raw = data
	}
	if len(raw) == 0 || len(raw) > maxPicture {
		return Picture{}, false
	}
	text := strings.ReplaceAll(string(raw), `\/`, "/") // as some write it in JSON
	content, err := base64.StdEncoding.DecodeString(text)
	media := mediaOf(content)
	return Picture{media, text}, err == nil && media != ""
}

// mediaOf is the kind of an image that all providers take, "" for any other content.
func mediaOf(content []byte) string {
	switch {
	case bytes.HasPrefix(content, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(content, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(content, []byte("GIF8")):
		return "image/gif"
	case bytes.HasPrefix(content, []byte("RIFF")) && len(content) > 12 && string(content[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}
