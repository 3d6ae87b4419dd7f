// Package browse is what `sessctl browse` shows and how it answers to keys,
// without a terminal.
//
// A [Model] is data. A key press ([Model.Press]) changes it and may return a
// [Request]: something that has to be done outside, such as reading a session or
// making a plan. Whoever does it hands the answer back ([Model.Loaded],
// [Model.Opened], [Model.Planned] and so on). [Model.Screen] draws the model as
// lines of styled text that fit a terminal of any size.
//
// Nothing is ever changed without a plan that was shown: a [Request] to carry
// something out is made in one place, the key that accepts a plan.
//
// Text of sessions is data. Everything that is drawn has passed package
// printable, so no control sequence of a session reaches the terminal.
package browse
