// Package faults proves the first promise: no crash, no full or dying disk, no
// live agent, no second run and no power cut loses a line.
//
// Everything is data. A [Command] is one thing that sessctl does to files,
// with the home it is done in and the state that must be there in the end. A
// [Fault] is one thing that can go wrong, and at which calls of the program it
// can. [Bench.Try] brings the two together: it runs the built program once for
// each call, lets the fault happen there (internal/crashloop stops the program
// before the call), and then looks: at what is on disk at that moment, and
// again after the next runs have settled it. To prove one more command, add a
// row to [Commands].
//
// What is checked, in every run (docs/dev/decisions.md D14 and D15):
//
//   - every line of the source, as often as the source has it, is in the live
//     log, in the old log that was moved aside, or in an archive; a hidden or
//     temporary file does not count
//   - what reached an old log late is in the session that followed, once the
//     next runs are over
//   - a live log has its header, and the runtime's index can be read and names
//     for other sessions what it named before
//   - exit 0 although a call failed is a swallowed error, unless [excused]
//     says why not
//   - the next run completes what the first began: the end state is exact, to
//     the number of chunks in memory; every archive verifies; no temporary
//     file and no journal entry is left
//
// The package runs on Linux for amd64; power cuts need root and loop devices.
package faults
