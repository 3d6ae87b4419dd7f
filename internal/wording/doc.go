// Package wording says counts, sizes, ages and foreign text in messages: what
// is printed about a session is the same words in every front end, and text that
// came from a log cannot act on the terminal that shows it. It also finds the
// known word that a mistyped one may mean.
package wording
