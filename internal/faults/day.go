//go:build linux && amd64

package faults

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// dayLater lets the time go by for which an old log is watched where nobody
// can ask who has it open: what the journal says was done now was done
// yesterday. Where there are leases it does nothing.
func (h *Home) dayLater() error {
	if !h.Command.Lacking.Leases {
		return nil
	}
	names, err := filepath.Glob(filepath.Join(h.Data(), "journal", "*.json"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := yesterday(name); err != nil {
			return err
		}
	}
	return nil
}

func yesterday(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var intent map[string]json.RawMessage
	if err := json.Unmarshal(text, &intent); err != nil {
		return err
	}
	var rotation map[string]json.RawMessage
	if err := json.Unmarshal(intent["rotation"], &rotation); err != nil {
		return err
	}
	if rotation["at"], err = json.Marshal(time.Now().Add(-25 * time.Hour)); err != nil {
		return err
	}
	if intent["rotation"], err = json.Marshal(rotation); err != nil {
		return err
	}
	if text, err = json.Marshal(intent); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}
