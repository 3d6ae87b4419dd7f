// Package piformat reads the session records that pi writes (versions 1 to 3)
// and that OpenClaw has taken over.
//
// A log is one JSON object per line: a header, and then entries that name
// their parent, so that a log is a tree whose last entry is where the runtime
// goes on. [Scan] reads a whole log forwards and hands out its messages;
// [Tail] reads as little as it can from the end and says how big the context
// is and whether the last turn is answered; [CountMessages] and [ReadHeader]
// answer only their question.
//
// Logs are written by programs that crash, and by many versions. A field of an
// unexpected type costs only that field, a bad line only that line, and a
// record of an unknown type still links the tree (docs/dev/formats.md, "pi",
// "openclaw" and "Damaged input").
package piformat
