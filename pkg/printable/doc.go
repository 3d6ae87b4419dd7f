// Package printable makes text that is not ours safe to show.
//
// What a session said may hold escape sequences, bidirectional overrides, NULs
// and bytes that are no UTF-8. They do something to a terminal, or to a page in a
// browser, instead of being seen there. Here they become escapes that are seen
// ([Line], [Text], [JSON]); everything else stays as it is.
package printable
