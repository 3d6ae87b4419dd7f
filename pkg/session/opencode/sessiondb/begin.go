package sessiondb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/pkg/session/rowlog"
)

// Project is what a session belongs to.
type Project struct {
	ID, Worktree string
	Created      int64 // epoch milliseconds
	sandboxes    string
}

// GlobalProject is the project of all directories without a repository.
const GlobalProject = "global"

// At reports whether a directory is the project's, or one of its worktrees.
func (p Project) At(directory string) bool {
	var more []string
	_ = json.Unmarshal([]byte(p.sandboxes), &more) // another form names none
	return p.Worktree == directory || slices.Contains(more, directory)
}

// Projects lists the projects that there are.
func (d *Database) Projects(ctx context.Context) (all []Project, err error) {
	query := "SELECT id, worktree, time_created, coalesce(sandboxes, '') FROM " + projectTable
	err = rowlog.Each(ctx, rowlog.For(d.conn, "list projects"), func(rows *sql.Rows) error {
		var p Project
		err := rows.Scan(&p.ID, &p.Worktree, &p.Created, &p.sandboxes)
		all = append(all, p)
		return err
	}, query)
	return all, err
}

// LastModel is the model that a person was answered by last, as a message of theirs
// names it; nil if there is none.
func (d *Database) LastModel(ctx context.Context) (json.RawMessage, error) {
	var model string
	err := d.conn.QueryRowContext(ctx, "SELECT json_extract(data, '$.model') FROM "+messageTable+" WHERE json_valid(data) AND json_extract(data, '$.role') = 'user' AND json_type(data, '$.model') = 'object' ORDER BY time_created DESC LIMIT 1").Scan(&model)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for the last model: %w", err)
	}
	return json.RawMessage(model), nil
}
