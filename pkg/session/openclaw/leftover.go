package openclaw

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw/agentdb"
)

// Leftovers implements [session.LeftoverLister]: it compares every log that lies
// beside a database with the sessions in it, the one that its header names and
// the one that its name does. From 2026.9.5 on the runtime's own doctor refuses
// to finish while there is such a log. It
// changes nothing. The database can have been changed since by the runtime; what
// is missing is missing now.
func (s *Store) Leftovers(ctx context.Context) ([]session.Leftover, error) {
	root, err := s.pin.OpenRoot(s.root)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	defer root.Close()
	agents, err := s.lister(root, time.Now()).agents()
	if err != nil {
		return nil, err
	}
	var all []session.Leftover
	for _, agent := range agents {
		db, _, err := s.era(root, agent)
		if err != nil || db == nil {
			continue // List says what is wrong
		}
		of, err := s.leftoversOf(ctx, root, agent)
		if err != nil {
			return all, err
		}
		all = append(all, of...)
	}
	return all, nil
}

// leftoversOf compares the logs of one agent. Only a context that ended is an
// error.
func (s *Store) leftoversOf(ctx context.Context, root *os.Root, agent string) ([]session.Leftover, error) {
	d, err := s.directory(root, agent)
	if err != nil {
		return nil, ctx.Err() // there is none
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return nil, ctx.Err()
	}
	byName := sortLogs(names).byName
	var all []session.Leftover
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if !strings.HasSuffix(name, logEnd) {
			continue // closed by the runtime, which does not mind it
		}
		l := session.Leftover{Path: d.At(name), Agent: agent, Named: byName[name].session}
		l.Err = s.compareLeftover(ctx, d, byName[name], &l)
		if ctx.Err() != nil {
			return all, ctx.Err()
		}
		all = append(all, l)
	}
	return all, nil
}

func (s *Store) compareLeftover(ctx context.Context, d *directory, n logName, l *session.Leftover) error {
	db, release, err := s.databases.Known(ctx, s.databaseFile(d.agent))
	if err != nil {
		return err
	}
	defer release()
	f, err := durable.OpenRegularIn(d.Root, n.name)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer f.Close()
	return (&comparison{db: db, leftover: l, known: map[[sha256.Size]byte]bool{}}).run(ctx, f, n.session)
}

// comparison holds one log against a database.
type comparison struct {
	db       *agentdb.Database
	leftover *session.Leftover
	known    map[[sha256.Size]byte]bool // records of the sessions that count
	loaded   []string                   // their ids
}

func (c *comparison) run(ctx context.Context, log io.Reader, named string) error {
	if err := c.load(ctx, named); err != nil {
		return err
	}
	counts, err := jsonl.Scan(ctx, log, jsonl.Options{}, func(r *jsonl.Record) error { return c.record(ctx, r) })
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	if unread := counts.Bad; unread > 0 || counts.Torn {
		return fmt.Errorf("%d of its lines cannot be read as records", max(unread, 1))
	}
	return nil
}

// load takes in the records of a session of the database, if it has it.
func (c *comparison) load(ctx context.Context, id string) error {
	if slices.Contains(c.loaded, id) {
		return nil
	}
	c.loaded = append(c.loaded, id)
	log, err := c.db.Log(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = jsonl.Scan(ctx, io.NewSectionReader(log, 0, log.Size()), jsonl.Options{}, func(r *jsonl.Record) error {
		sum, _, err := sumRecord(r)
		if err == nil {
			c.known[sum] = true
		}
		return nil // a record that is no JSON is like no other
	})
	return err
}

// record looks one record of the log up.
func (c *comparison) record(ctx context.Context, r *jsonl.Record) error {
	sum, head, err := sumRecord(r)
	if err != nil {
		return err
	}
	c.leftover.Records++
	if head.Type == "session" && session.SafeID(head.ID) {
		c.leftover.Headed = cmp.Or(c.leftover.Headed, head.ID)
		if err := c.load(ctx, head.ID); err != nil {
			return err
		}
	}
	if c.known[sum] {
		return nil
	}
	if c.leftover.Missing++; c.leftover.Missing == 1 {
		c.leftover.First = fmt.Sprintf("line %d", r.Line)
	}
	return nil
}

// recordHead is what tells a record from others.
type recordHead struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// errCut is returned for a record that is too long to be compared.
var errCut = errors.New("a record is too long to be compared")

// sumRecord is the hash of what a record says, whatever the order of its keys
// and the space between them: the migration takes records in as they are.
func sumRecord(r *jsonl.Record) (sum [sha256.Size]byte, head recordHead, err error) {
	if r.CutBytes > 0 {
		return sum, head, errCut
	}
	if err := json.Unmarshal(r.Raw, &head); err != nil {
		return sum, head, fmt.Errorf("%w: %w", jsonl.ErrSyntax, err)
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(r.Raw))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return sum, head, fmt.Errorf("%w: %w", jsonl.ErrSyntax, err)
	}
	text, err := json.Marshal(value)
	return sha256.Sum256(text), head, err
}
