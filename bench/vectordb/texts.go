package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// fillTexts puts the texts of an exported memory into a table of FTS5, as it
// comes: with its own copy of them, and no vectors. It prints how many bytes the
// database has.
func fillTexts(ctx context.Context, home string) error {
	f, err := os.Open(filepath.Join(home, "memories.jsonl"))
	if err != nil {
		return err
	}
	defer f.Close()
	path := filepath.Join(home, "fts5.db")
	if err := writeTexts(ctx, path, json.NewDecoder(bufio.NewReader(f))); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil {
		fmt.Println(info.Size())
	}
	return err
}

func writeTexts(ctx context.Context, path string, lines *json.Decoder) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "CREATE VIRTUAL TABLE texts USING fts5(text)"); err != nil {
		return err
	}
	for {
		var line struct {
			Text string `json:"text"`
		}
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			return tx.Commit()
		} else if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO texts (text) VALUES (?)", line.Text); err != nil {
			return err
		}
	}
}
