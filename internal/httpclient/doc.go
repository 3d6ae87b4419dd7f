// Package httpclient is what every HTTP client of sessctl does alike: it
// follows no redirect, because a redirect could carry what is sent, and a key,
// to another host; it does not wait long for a connection; it reads Retry-After
// in both forms; and its errors show no URL, which may hold a token.
//
// internal/modelhttp asks models with it, pkg/operate/outbox tells receivers of
// events.
package httpclient
