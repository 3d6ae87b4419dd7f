// Package fields reads objects of JSON by a table: the path of each member that
// matters, and where its value goes. Most runtimes write records that such a table
// describes whole:
//
//	{"type":"message","id":"m1","usage":{"in":12},"content":[{"type":"text","text":"hi"}]}
//
//	type record struct {
//		name, id []byte
//		input    int64
//	}
//
//	d.table = fields.New(
//		fields.Text("type", &d.record.name),
//		fields.ID("id", &d.record.id),
//		fields.Count("usage.in", &d.record.input),
//		fields.Func("content", d.content),
//	)
//
//	d.record = record{}
//	err := d.table.Read(line)
//
// A table is bound to its destinations: a decoder makes one, and reads all its
// records with it. What a record lacks keeps the value it had, so the decoder empties
// its record first. Nothing else is decoded, and a member that no path names may hold
// anything.
//
// A value of another type than its path expects is no error: it is as if the record
// said nothing there. Of a member that stands twice the last one counts, as in
// JavaScript. Slices stay what they are until the table reads the next text.
package fields
