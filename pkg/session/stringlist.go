package session

import "github.com/sessctl/sessctl/pkg/jsonl"

// StringList reads an array and returns the strings in it; what else stands in
// it is passed over. Anything but an array is no string.
func StringList(c *jsonl.Cursor) []string {
	if !c.EnterArray() {
		return nil
	}
	var all []string
	for c.NextElement() {
		if c.Kind() != jsonl.String {
			c.Skip()
			continue
		}
		text, _ := c.Bytes()
		all = append(all, string(text))
	}
	return all
}
