// Package fields reads objects of JSON by a table: the path of each member that
// matters, and where its value goes. Most runtimes write records that such a table
// describes whole:
//
//	{"type":"message","id":"m1","usage":{"in":12},"content":[{"type":"text","text":"hi"}]}
//
//	type decoder struct {
//		cursor   jsonl.Cursor
//		name, id []byte
//		input    int64
//	}
//
//	var records = fields.New(func(d *decoder) []fields.Field {
//		return []fields.Field{
//			fields.Text("type", &d.name),
//			fields.ID("id", &d.id),
//			fields.Count("usage.in", &d.input),
//			fields.Func("content", (*decoder).content),
//		}
//	})
//
//	err := records.Read(d, &d.cursor, line)
//
// A table is made once, for all decoders: it knows of each destination only where in
// the decoder it lies, and is told the decoder with each record. What a record lacks
// keeps the value it had, so the decoder empties its record first. Nothing else is
// decoded, and a member that no path names may hold anything.
//
// A value of another type than its path expects is no error: it is as if the record
// said nothing there. Of a member that stands twice the last one counts, as in
// JavaScript. Slices stay what they are until the cursor is given the next text.
package fields
