package postgres

import "context"

// findSearch looks whether the server has pg_textsearch.
func (m *Memory) findSearch(_ context.Context) error { return nil }
