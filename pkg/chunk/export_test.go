package chunk

// Whole lets the tests check which way a text is read.
var Whole = whole
