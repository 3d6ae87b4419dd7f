//go:build linux && amd64

package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
)

// redactings apply the rules of today to a memory that was made by older ones.
func redactings() []Command {
	return []Command{{
		Name: "memory redact", Runtime: "openclaw", Args: strings.Fields("memory redact"), Prepare: leftSecret,
		Done: func(*Home) error { return nil },
		Settled: func(h *Home) error {
			return errors.Join(h.recalls(Chunks), h.hasNoTrace(olderSecret), lacksOlderSecret(h))
		},
	}}
}

// olderSecret is a secret that memory got before there was a rule for it.
const olderSecret = "zk9v7lm2tzrk"

// leftSecret is a home whose memory has a secret that older rules did not find.
func leftSecret(h *Home) (err error) {
	if err := compacted(h); err != nil {
		return err
	}
	ctx := context.Background()
	store, err := memory.Open(ctx, filepath.Join(h.Data(), "memory"), memory.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	_, _, err = store.StoreOwnWords(ctx, memory.OwnWords{
		Runtime: "openclaw", Agent: "a", Category: "lesson", Importance: 0.5, Text: "The box has password=" + olderSecret + " since May, as the label below it says.", At: time.UnixMilli(5000),
	})
	return err
}

// lacksOlderSecret checks that neither memory nor the files beside it have the secret.
func lacksOlderSecret(h *Home) error {
	code, out, err := h.Run("memory", "export")
	if err != nil || code != 0 || strings.Contains(out, olderSecret) {
		return fmt.Errorf("memory export: exit %d, %v: %s", code, err, out)
	}
	kept, err := filepath.Glob(filepath.Join(h.Data(), "memory-stored", "*.json"))
	for _, path := range kept {
		raw, readErr := os.ReadFile(path)
		if err = errors.Join(err, readErr); bytes.Contains(raw, []byte(olderSecret)) {
			return fmt.Errorf("%s has what was redacted", path)
		}
	}
	return errors.Join(err, h.must([]int{0}, "memory", "verify"))
}
