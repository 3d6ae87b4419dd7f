package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	idDigits = 16 // 64 bits of hash: one collision in 4 billion archives
	// maxName leaves room in 255 bytes for time, hash and suffixes.
	maxName    = 128
	stampForm  = "20060102T150405Z"
	logEnd     = ".jsonl"
	zstdEnd    = ".zst"
	shortDigit = 8
)

// ID returns the id of the archive of the bytes with this hash (lower-case
// hexadecimal) of this session. The same bytes of the same session always have
// the same id.
func ID(m Meta, sha256Hex string) string {
	hash := sha256.New()
	for _, part := range []string{"sessctl archive 1", m.Runtime, m.Agent, m.Session, sha256Hex} {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil))[:idDigits]
}

// fileNames are the names an archive may have, best first: a longer piece of
// the hash is used only where a shorter one is taken by something else.
func fileNames(e Entry) []string {
	end := sourceEnd(e.Source)
	if e.Compression == CompressionZstd {
		end += zstdEnd
	}
	var names []string
	for digits := shortDigit; digits <= len(e.SHA256); digits *= 2 {
		names = append(names, safeName(e.Session)+"."+e.CreatedAt.Format(stampForm)+"."+e.SHA256[:digits]+end)
	}
	return names
}

// sourceKind finds what a session's file is in its name, wherever the runtime
// has added something (x.md.rotated.2026-01-01T00-00-00.000Z).
var sourceKind = regexp.MustCompile(`^.*\.(jsonl|json|md|txt)(?:\.|$)`)

// sourceEnd is the end of the name of an archive that is not compressed: that
// of the file which the bytes came from. A source that is no file is a log.
func sourceEnd(source string) string {
	base := strings.ToLower(path.Base(filepath.ToSlash(source)))
	m := sourceKind.FindStringSubmatch(base)
	if m == nil {
		return logEnd
	}
	if strings.HasSuffix(base, zstdEnd) {
		return "." + m[1] + zstdEnd
	}
	return "." + m[1]
}

// parsedName is what the name of an archive's file says.
type parsedName struct {
	createdAt   time.Time
	compression string
}

// parseName reads the name of a file that may be an archive of e's bytes.
func parseName(name string, e Entry) (parsedName, bool) {
	rest, ok := strings.CutPrefix(name, safeName(e.Session)+".")
	stamp, rest, cut := strings.Cut(rest, ".")
	hash, end, cutAgain := strings.Cut(rest, ".")
	createdAt, err := time.Parse(stampForm, stamp)
	if !ok || !cut || !cutAgain || err != nil || len(hash) < shortDigit || !strings.HasPrefix(e.SHA256, hash) {
		return parsedName{}, false
	}
	// Archives of Markdown may be older than their own end, and end like logs.
	for _, known := range []string{sourceEnd(e.Source), logEnd} {
		switch "." + end {
		case known:
			return parsedName{createdAt, CompressionNone}, true
		case known + zstdEnd:
			return parsedName{createdAt, CompressionZstd}, true
		}
	}
	return parsedName{}, false
}

var notPlain = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// safeName turns an agent or session id into a file name of letters, digits,
// dots, underscores and dashes. An id that is one already stays as it is; of
// another one the rest is replaced and a hash of the id is added, so that
// different ids have different names.
func safeName(id string) string {
	plain := notPlain.ReplaceAllString(id, "_")
	plain = strings.TrimRight(strings.TrimLeft(plain, ".-"), ".")
	if plain == id && id != "" && len(id) <= maxName && !isDeviceName(id) {
		return id
	}
	hash := sha256.Sum256([]byte(id))
	short := plain[:min(len(plain), maxName-shortDigit-1)]
	if short != "" {
		short += "-"
	}
	return short + hex.EncodeToString(hash[:])[:shortDigit]
}

// isDeviceName reports the names that Windows keeps for devices, with or
// without an extension.
func isDeviceName(name string) bool {
	base, _, _ := strings.Cut(strings.ToUpper(name), ".")
	if slices.Contains([]string{"CON", "PRN", "AUX", "NUL"}, base) {
		return true
	}
	digit := strings.TrimPrefix(strings.TrimPrefix(base, "COM"), "LPT")
	return digit != base && len(digit) == 1 && digit >= "0" && digit <= "9"
}

// entryName is the catalogue's file for an id.
func entryName(id string) string { return id + ".json" }

// isID reports whether text may be an id or the start of one. Nothing else
// becomes part of a path.
func isID(text string) bool {
	return text != "" && len(text) <= idDigits && strings.Trim(text, "0123456789abcdef") == ""
}

// idOfFile is the id that a file of the catalogue is named after.
func idOfFile(name string) (string, bool) {
	id := strings.TrimSuffix(name, ".json")
	return id, filepath.Ext(name) == ".json" && len(id) == idDigits && isID(id)
}
