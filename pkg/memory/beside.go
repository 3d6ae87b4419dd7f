package memory

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
)

// What must outlive the memory is in files beside its directory: what was forgotten
// (ForgottenDir), summaries that models wrote (KeptDir) and what agents stored in
// their own words (StoredDir).

// maxKept bounds, in bytes, what is read of the file of one record.
const maxKept = 1 << 20

// recordFile returns the file of a record in such a directory, "" for what is no id
// of one.
func recordFile(dir, id string) string {
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return filepath.Join(dir, id+".json")
}

// writeBeside writes a document in the place of what was there.
func (s *connection) writeBeside(path string, document any) error {
	if err := s.pins.MakeDir(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return writeWhole(s.pins, path, append(text, '\n'))
}

// removeBeside removes a file, if it is there. "" is none.
func (s *connection) removeBeside(path string) error {
	if path == "" {
		return nil
	}
	if _, err := s.pins.Lstat(path); errors.Is(err, fs.ErrNotExist) { // nearly always
		return nil
	}
	return s.pins.RemoveFile(path)
}

func writeWhole(pins *durable.Pins, path string, text []byte) error {
	return pins.ReplaceFile(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// readWhole reads at most so many bytes of a file.
func readWhole(pins *durable.Pins, path string, most int64) ([]byte, error) {
	file, err := pins.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, most))
}
