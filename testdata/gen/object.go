package main

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object whose members keep their order, as a runtime
// writes them.
type object []member

type member struct {
	name  string
	value any
}

// newObject makes an object of names and values that take turns.
func newObject(pairs ...any) object {
	o := make(object, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		o = append(o, member{pairs[i].(string), pairs[i+1]})
	}
	return o
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := encode(m.value)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// encode writes JSON as JavaScript does: nothing is escaped for HTML.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}
