// Package fakegateway stands in for the gateway of OpenClaw 2026.7.1 in tests:
// a server that is seen as the real one is (its lock file), that is asked as
// the real one is (by its WebSocket, or by a program with the arguments
// "gateway call METHOD --params JSON --json"), and that changes a state directory as the real one does when
// it resets a session. It can also behave badly.
//
// The server runs in the test's process and the program in another one, so
// that a test can kill whoever asks without killing the gateway.
//
// What the real gateway does is checked by testdata/accept; what is known of
// it is in docs/dev/formats.md, "openclaw".
package fakegateway
