package hooks

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// A file of settings in TOML is changed by whole tables: ours is put at its end,
// and taken away from its header to the next one. Every other byte stays.

// putTable is a file with a table at its end, which it does not have yet.
func putTable(text []byte, name string, rows any) ([]byte, error) {
	body, err := toml.Marshal(rows)
	if err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	var b bytes.Buffer
	b.Write(text)
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		b.WriteByte('\n')
	}
	if len(text) > 0 {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "[%s]\n%s", name, body)
	return b.Bytes(), checkTOML(b.Bytes())
}

// hasTable reports whether a file has a table of a dotted name, however it is
// written.
func hasTable(text []byte, name string) (bool, error) {
	var all any = map[string]any{}
	if err := toml.Unmarshal(text, &all); err != nil {
		return false, fmt.Errorf("read settings: %w", err)
	}
	for part := range strings.SplitSeq(name, ".") {
		table, _ := all.(map[string]any)
		if all = table[part]; all == nil {
			return false, nil
		}
	}
	return true, nil
}

// dropTable is a file without a table, and without the empty line before it.
func dropTable(text []byte, name string) ([]byte, error) {
	if err := checkTOML(text); err != nil {
		return nil, err
	}
	start, end := findTable(text, name)
	if start < 0 {
		return text, nil
	}
	if bytes.HasSuffix(text[:start], []byte("\n\n")) {
		start--
	}
	rest := append(bytes.Clone(text[:start]), text[end:]...)
	return rest, checkTOML(rest)
}

// findTable is where a table stands: from its header to the next one, or the
// end. Lines of a string of several lines that look like a header are not told
// apart, which [checkTOML] of what is left finds.
func findTable(text []byte, name string) (start, end int) {
	start = -1
	for at := 0; at < len(text); {
		size := bytes.IndexByte(text[at:], '\n') + 1
		if size == 0 {
			size = len(text) - at
		}
		line := strings.TrimSpace(string(text[at : at+size]))
		switch {
		case start < 0 && line == "["+name+"]":
			start = at
		case start >= 0 && strings.HasPrefix(line, "[") && !strings.HasPrefix(line, "["+name+"."):
			return start, at
		}
		at += size
	}
	return start, len(text)
}

func checkTOML(text []byte) error {
	var settings map[string]any
	if err := toml.Unmarshal(text, &settings); err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	return nil
}

// tableText is a table as it stands in a file, without the space around it, or "".
func tableText(text []byte, name string) string {
	start, end := findTable(text, name)
	if start < 0 {
		return ""
	}
	return string(bytes.TrimSpace(text[start:end]))
}
