// Package jsonl reads JSON Lines logs: one JSON object per line, by the
// gigabyte, written by programs that crash, in whatever state the crash left
// them. It costs little more than reading the file, and its memory does not
// grow with the file or with its longest line.
//
// It has five parts, and each can be used alone:
//
//	Decompress      what the bytes are, told by their first ones; a cap on bombs
//	Reader          the lines of a stream; an over-long line is shrunk
//	BackwardReader  the same lines from the end, to read only the tail
//	Cursor          the fields of one JSON text, decoded only when asked for
//	Scan            all of it: every record of a log to a function, with counts
//
// # Lines
//
// A line may have any length. One longer than [Options].MaxLine keeps its
// structure, and its long strings are cut: what makes lines long is images and
// dumps in base64, and the text beside them must not be lost. What was cut is
// counted. Nothing is ever repaired in the file: archives hold the bytes.
//
// # Records
//
// [Scan] tells four kinds of lines apart. A line that is a JSON object is a
// record. A blank line, or one of NULs, is nothing. A last line without a line
// feed that is not a whole record is torn: its writer may be at work, so it is
// pending and not an error. Every other line is bad, and salvaged as far as
// possible: records glued to each other or to the fragment of another are
// found and read (docs/dev/formats.md, "Damaged input").
//
// # Fields
//
// A [Cursor] goes through a text once, forwards:
//
//	var c jsonl.Cursor
//	c.Reset(record.Raw)
//	for ok := c.EnterObject(); ok && c.NextKey(); {
//		switch string(c.Key()) {
//		case "role":
//			role, _ = c.Bytes()
//		case "usage":
//			for ok := c.EnterObject(); ok && c.NextKey(); { ... }
//		}
//	}
//	err := c.End()
//
// Values that are not read are skipped, and skipping is fast because strings
// need not be looked at: Reset makes an index of all quotes and escapes, 64
// bytes at a time, and the cursor steps from mark to mark. The index is made
// with SSE2 on amd64 and in Go elsewhere (or with the build tag purego).
//
// One odd field does not lose a record: a value of another kind than the one
// asked for is skipped, numbers are read in every form that writers use, keys
// are compared exactly, and of duplicate keys the caller sees all, so the last
// one wins as in JavaScript. encoding/json is the oracle of all of it under
// fuzzing.
package jsonl
