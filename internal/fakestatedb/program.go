package fakestatedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Program is what Hermes' own program does of what sessctl asks it for: "sessions
// prune --older-than DAYS --yes" and "sessions optimize", in the home that
// HERMES_HOME names. FAKEHERMES is "fail" for a program that refuses, "greedy" for
// one that removes every session, and "greedy-fail" for one that fails then.
func Program(args []string, out, complaints io.Writer) int {
	err := program(args, out)
	if err == nil && os.Getenv("FAKEHERMES") == "greedy-fail" {
		err = errors.New("it failed at the end")
	}
	if err != nil {
		fmt.Fprintln(complaints, err)
		return 1
	}
	return 0
}

func program(args []string, out io.Writer) (err error) {
	if os.Getenv("FAKEHERMES") == "fail" {
		return errors.New("refused: another Hermes process holds state.db")
	}
	home := os.Getenv("HERMES_HOME")
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(home, "state.db"))+"?_pragma=foreign_keys(1)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	ctx := context.Background()
	if len(args) == 2 && args[0] == "sessions" && args[1] == "optimize" {
		_, err := db.ExecContext(ctx, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
		return err
	}
	if len(args) != 5 || args[0] != "sessions" || args[1] != "prune" || args[2] != "--older-than" || args[4] != "--yes" {
		return fmt.Errorf("unknown arguments %q", args)
	}
	days, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	which := "ended_at IS NOT NULL AND started_at < ?"
	if strings.HasPrefix(os.Getenv("FAKEHERMES"), "greedy") {
		which = "started_at < ? + 1e9"
	}
	rows, err := db.QueryContext(ctx, "SELECT id FROM sessions WHERE "+which, time.Now().AddDate(0, 0, -days).Unix())
	if err != nil {
		return err
	}
	var ids []string
	for rows.Next() {
		var id string
		err = errors.Join(err, rows.Scan(&id))
		ids = append(ids, id)
	}
	if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, query := range []string{"UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?", "DELETE FROM messages WHERE session_id = ?", "DELETE FROM sessions WHERE id = ?"} {
		for _, id := range ids {
			if _, err := db.ExecContext(ctx, query, id); err != nil {
				return err
			}
		}
	}
	for _, id := range ids {
		files, _ := filepath.Glob(filepath.Join(home, "sessions", "request_dump_"+id+"_*.json"))
		for _, path := range append(files, filepath.Join(home, "sessions", id+".json"), filepath.Join(home, "sessions", id+".jsonl")) {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	_, err = fmt.Fprintf(out, "Pruned %d session(s).\n", len(ids))
	return err
}
