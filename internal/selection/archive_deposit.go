package selection

import "github.com/sessctl/sessctl/pkg/session"

// Deposit is a database into which rows go back, and its store.
type Deposit struct {
	Store            session.Store
	Database, Source string // source is where the session was when it was archived
}
