package agent

import (
	"errors"
	"io/fs"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/sessctl/sessctl/pkg/durable"
)

const (
	// configName is the file of the runtime's settings, beside the sessions.
	configName = "config.yaml"
	maxConfig  = 1 << 20 // bytes
)

// settings are what the runtime's own configuration says of compaction.
type settings struct {
	Off     bool  // it is turned off
	Reserve int64 // tokens of the window, for the answer; 0 for the default
	Keep    int64 // tokens; 0 for the default
	path    string
	err     error // why the file is not used
}

// readSettings reads the settings beside a sessions directory. A directory of another
// name may lie anywhere, and what is beside it is nothing of the runtime.
func readSettings(sessions string) settings {
	s := settings{path: filepath.Join(filepath.Dir(sessions), configName)}
	if filepath.Base(sessions) != sessionsName {
		return s
	}
	raw, err := durable.ReadSmall(s.path, maxConfig)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.err = err
		}
		return s
	}
	var file struct {
		Compaction struct {
			Enabled *bool `yaml:"enabled"`
			Reserve int64 `yaml:"reserve_tokens"`
			Keep    int64 `yaml:"keep_recent_tokens"`
		} `yaml:"compaction"`
	}
	if s.err = yaml.Unmarshal(raw, &file); s.err != nil {
		return s
	}
	c := file.Compaction
	if c.Reserve < 0 || c.Keep < 0 {
		s.err = errors.New("a number of tokens is below zero")
		return s
	}
	s.Off, s.Reserve, s.Keep = c.Enabled != nil && !*c.Enabled, c.Reserve, c.Keep
	return s
}
