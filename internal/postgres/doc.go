// Package postgres starts a PostgreSQL server for tests, in a directory of its
// own and on a socket that nobody else sees. It uses the programs that are
// installed, and says why where it cannot.
package postgres

import "errors"

// ErrUnavailable is returned, wrapped with the reason, when no server can be
// started here.
var ErrUnavailable = errors.New("PostgreSQL cannot be started here")
