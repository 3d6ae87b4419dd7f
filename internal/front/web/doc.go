// Package web is what the HTTP server is made of below its handlers: addresses
// and tokens, who may ask what, bounds of connections, and the questions of the
// API as values.
package web
