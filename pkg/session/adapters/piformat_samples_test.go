package adapters_test

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/jsonl"
)

func readSample(t testing.TB, name string) []byte {
	t.Helper()
	text, err := piformatReadLog(samples.Beside(t, "samples/"+name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// piformatReadLog returns a log's text, decompressed; of a stream that is cut off, the
// part that can be read.
func piformatReadLog(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	plain, _, err := jsonl.Decompress(f, info.Size())
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	text, err := io.ReadAll(plain)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return text, err
}
