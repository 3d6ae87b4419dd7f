package workspace

import (
	"errors"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/pkg/compact"
)

// Due is the threshold of sessions for which there is no other. In the place of a
// number that is none, which compact refuses, it is the usual one.
func (c *compactionConfig) Due() compact.Threshold {
	t, err := compact.ParseThreshold(c.Threshold)
	if err != nil {
		return compact.DefaultThreshold()
	}
	return t
}

// Limits are the thresholds and windows of the configuration, for a run with a
// threshold of its own. One that was asked for is that of every session.
func (c *compactionConfig) Limits(of compact.Threshold, asked bool) compact.Limits {
	l, _ := c.limits() // they were checked when they were read
	if l.Threshold = of; asked {
		l.Of = nil
	}
	return l
}

func (c *compactionConfig) limits() (compact.Limits, error) {
	l := compact.Limits{Of: map[string]compact.Threshold{}, Windows: map[string]int64{}}
	for _, line := range c.Of {
		name, text, _ := strings.Cut(line, "=")
		t, err := compact.ParseThreshold(text)
		if err != nil || name == "" {
			return l, failure.Usage("write pi=80%, or openclaw/coordinator=120000,80%", "compaction.thresholds: %q is no runtime or runtime/agent with its threshold", line)
		}
		l.Of[name] = t
	}
	for _, line := range c.Windows {
		at := strings.LastIndexByte(line, '=')
		tokens, err := strconv.ParseInt(line[at+1:], 10, 64)
		if at <= 0 || err != nil || tokens <= 0 {
			return l, failure.Usage("write gpt-4.1=1000000, or pi/work=200000", "compaction.windows: %q is no model, runtime or runtime/agent with its tokens", line)
		}
		l.Windows[line[:at]] = tokens
	}
	return l, nil
}

// CheckThresholds refuses thresholds and windows that cannot be read. A number that
// is none is refused by the commands that use it.
func (c *Config) CheckThresholds() error {
	if _, err := compact.ParseThreshold(c.Compaction.Threshold); err != nil && !errors.Is(err, compact.ErrNotPositive) {
		return failure.Usage(KeysHint, "compaction.threshold: %w", err)
	}
	_, err := c.Compaction.limits()
	return err
}
