// Package exchange writes conversations in formats that other programs read:
//
//	ATIF                 a whole session as a trajectory of Harbor, version 1.7
//	Chat, Responses      a context as OpenAI's APIs have it, one conversation a line
//	ShareGPT             a context as turns of "from" and "value", one conversation a line
//
// Package session/exchange reads them. What a format has no place for stands in its
// "extra", where it has one, so that reading it back loses nothing that was said.
package exchange
