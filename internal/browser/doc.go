// Package browser drives a headless Chromium for the tests of pages: it opens
// one, says what the console and the network have seen, and takes pictures.
//
// It speaks the DevTools protocol over a websocket. Without a Chromium its users
// are skipped ([Find]).
package browser
