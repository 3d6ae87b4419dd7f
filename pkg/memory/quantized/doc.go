// Package quantized keeps a vector as a row of small whole numbers and compares a
// question with such rows. It knows neither files nor SQL.
//
// A [Packer] scales a vector to unit length and makes a row of it: an int8 for each
// component, those that are 0 left out where that is shorter, and the largest
// component apart (rows.go has the format). Rows lie one behind the other: [Cut] takes
// the next, [Sum] is its checksum, [Decode] makes a vector of it again.
//
// A [Comparer] compares one question with many rows as they lie, in whole numbers
// (compare.go). Its cosines are off by at most [Comparer.Slack], so they tell which
// rows may be among the nearest and not their order: whoever wants that keeps the
// [Best] and compares their vectors.
package quantized
