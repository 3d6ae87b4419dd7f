package postgres

import "context"

// OpenLater connects as a later sessctl that has these migrations too.
func OpenLater(ctx context.Context, o Options, later ...string) (*Memory, error) {
	return open(ctx, o, append(migrations(), later...))
}
