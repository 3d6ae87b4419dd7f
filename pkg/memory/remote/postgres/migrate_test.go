//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
)

// TestLaterVersion: a later sessctl that needs other tables refuses those of
// version 1 until it is told to set them up, and then changes them whole or not at
// all and loses nothing of what is there; this sessctl then refuses them, however
// it connects.
func TestLaterVersion(t *testing.T) {
	const another = "ALTER TABLE hosts ADD COLUMN place text NOT NULL DEFAULT ''"
	dsn := database(t, shared(t))
	s := store(t)
	if err := conformance.Fill(t.Context(), s, "first", 5); err != nil {
		t.Fatal(err)
	}
	m := open(t, postgres.Options{URL: dsn, SetUp: true})
	p := &remote.Pusher{Local: s, Shared: m, Host: conformance.Host, Server: m.Server()}
	if r, err := p.Push(t.Context()); err != nil || r.ThereNow != 5 {
		t.Fatal(r, err)
	}
	versionIs(t, dsn, 1)

	openLater := func(o postgres.Options, later ...string) (*postgres.Memory, error) {
		return postgres.OpenLater(t.Context(), o, later...)
	}
	_, err := openLater(postgres.Options{URL: dsn}, another)
	refusedAs(t, err, remote.ErrOlderSchema, "its tables have version 1, this sessctl needs 2")
	versionIs(t, dsn, 1)
	if _, err := openLater(postgres.Options{URL: dsn, SetUp: true}, another+"; SELECT 1/0"); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("tables that cannot be made: %v", err)
	}
	versionIs(t, dsn, 1)
	for range 2 { // what is done is not done again
		m, err = openLater(postgres.Options{URL: dsn, SetUp: true}, another)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		versionIs(t, dsn, 2)
	}
	result, err := m.Recall(t.Context(), memory.Query{Text: conformance.NoteText("first", 3, 5), Rank: memory.RankText}, nil, embed.Model{})
	if err != nil || len(result.Hits) != 5 {
		t.Errorf("%d of 5 records are found in the later tables: %v", len(result.Hits), err)
	}
	for _, setUp := range []bool{false, true} {
		_, err := postgres.Open(t.Context(), postgres.Options{URL: dsn, SetUp: setUp})
		refusedAs(t, err, remote.ErrNewerSchema, "its tables have version 2, this sessctl knows 1")
	}
}

// refusedAs expects an error that says why.
func refusedAs(t *testing.T, err, want error, why string) {
	t.Helper()
	if !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), why) {
		t.Errorf("%v, not %v: %s", err, want, why)
	}
}

// versionIs expects the tables to have a version, and the column of the second
// one if they have that.
func versionIs(t *testing.T, dsn string, want int) {
	t.Helper()
	var version, columns int
	conn := connect(t, dsn)
	defer conn.Close(context.Background())
	err := conn.QueryRow(t.Context(), `SELECT (SELECT max(version) FROM sessctl.migrations),
		(SELECT count(*) FROM information_schema.columns WHERE table_schema='sessctl' AND table_name='hosts' AND column_name='place')`).Scan(&version, &columns)
	if err != nil || version != want || columns != want-1 {
		t.Errorf("the tables have version %d and %d columns of a later one, not %d and %d: %v", version, columns, want, want-1, err)
	}
}
