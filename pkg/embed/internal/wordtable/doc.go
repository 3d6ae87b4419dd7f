// Package wordtable is a file of words and their vectors that needs no
// loading: it is looked up where it lies, in a compiled-in string.
//
// Layout, all numbers little-endian; n words, s slots (a power of two above
// n), d components, t bytes of text:
//
//	offset  bytes    what
//	0       8        "WORDTAB1"
//	8       4        n
//	12      4        d
//	16      4        s
//	20      4        t
//	24      4*s      slots: 0 is empty, else the top 16 bits of the word's
//	                 [Hash] << 16 | its row + 1
//	        4*(n+1)  where each word begins in the text, and where the last ends
//	        4*n      float32: what a component of the row is multiplied by
//	        t        the words, one after another
//	        n*d      rows of int8 components
//
// Rows are in the order of the words' frequency: the row number is the rank.
// A word is looked for from slot Hash mod s onward until an empty slot.
package wordtable
