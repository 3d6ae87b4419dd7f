package copieddb

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// ends are those of the files of a database.
var ends = [...]string{"", "-wal", "-journal", "-shm"}

// Rows are what queries find in a database, each row as one text. It is copied to a
// path and the copy removed. An error is returned for a database that SQLite finds
// damaged.
func Rows(path, to string, queries ...string) (rows []string, err error) {
	for _, end := range ends[:3] {
		data, readErr := os.ReadFile(path + end)
		if errors.Is(readErr, os.ErrNotExist) && end != "" {
			continue
		}
		if err := errors.Join(readErr, os.WriteFile(to+end, data, 0o600)); err != nil {
			return nil, err
		}
	}
	defer func() {
		for _, end := range ends {
			err = errors.Join(err, os.RemoveAll(to+end))
		}
	}()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(to))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	var sound string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&sound); err != nil || sound != "ok" {
		return nil, fmt.Errorf("the database is damaged: %s: %w", sound, err)
	}
	for _, query := range queries {
		found, err := read(db, query)
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

func read(db *sql.DB, query string) (rows []string, err error) {
	found, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, found.Err(), found.Close()) }()
	for found.Next() {
		var row string
		if err := found.Scan(&row); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}
