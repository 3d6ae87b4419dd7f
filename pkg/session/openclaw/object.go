package openclaw

import (
	"bytes"
	"encoding/json"
	"errors"
)

// member is one member of a JSON object, by its place in the text.
type member struct {
	key      string
	name     int // where the key's quotation mark is
	nameEnd  int
	from, to int // the value
}

// members returns the members of the JSON object that text is, in order,
// repeated keys included. The text must be valid JSON.
func members(text []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.Join(errors.New("not a JSON object"), err)
	}
	var found []member
	for dec.More() {
		m, err := nextMember(dec, text)
		if err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	_, err := dec.Token()
	return found, err
}

func nextMember(dec *json.Decoder, text []byte) (member, error) {
	before := int(dec.InputOffset())
	token, err := dec.Token()
	if err != nil {
		return member{}, err
	}
	key, _ := token.(string)
	m := member{key: key, nameEnd: int(dec.InputOffset())}
	m.name = before + bytes.IndexByte(text[before:m.nameEnd], '"')
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return member{}, err
	}
	m.to = int(dec.InputOffset())
	m.from = m.to - len(value)
	return m, nil
}
