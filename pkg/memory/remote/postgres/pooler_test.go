//go:build unix

package postgres_test

import (
	"net"
	"testing"

	server "github.com/sessctl/sessctl/internal/postgres"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
)

// between is [server.Between] for the time of a test.
func between(t *testing.T, dsn string, serve func(host net.Conn, server string)) string {
	t.Helper()
	way, stop, err := server.Between(dsn, serve)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return way
}

// TestConformanceByPooler: a shared memory behind a pooler in transaction mode is one.
func TestConformanceByPooler(t *testing.T) {
	dsn := database(t, shared(t))
	way, stop, err := server.Pooler(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	m := open(t, postgres.Options{URL: way, SetUp: true})
	conform(t, dsn, way)
	s := store(t)
	said(t, s, "pooled", 300)
	push(t, pusher(s, m, "pooled"))
	model, err := s.VectorModel(t.Context())
	if err == nil {
		_, err = m.Index(t.Context(), model)
	}
	if err != nil {
		t.Error(err)
	}
}
