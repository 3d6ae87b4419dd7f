package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/durable"
)

// fewEntries is how many entries of a catalogue are read as quickly as a cache of them.
const fewEntries = 500

// Works adds whose the archives are, and the directories that these agents worked in.
// Entries that cannot be read are left out, as in [Store.List]. An entry never says
// another agent later, so of a large catalogue file is a cache of what they say, by id;
// "" is none.
func (c *catalogue) Works(ctx context.Context, file string, all agentset.Directories) error {
	ids, err := c.ids(ctx)
	if err != nil {
		return err
	}
	if len(ids) < fewEntries {
		file = ""
	}
	return c.worksOf(ctx, ids, file, all)
}

func (c *catalogue) worksOf(ctx context.Context, ids []string, file string, all agentset.Directories) error {
	const rewrite = 20 // the cache is written when one in so many entries is not in it
	known := readWorks(file, c.dir)
	lines, unknown := make([]string, 0, len(ids)), 0
	for _, id := range ids {
		line, is := known[id]
		if !is {
			if err := ctx.Err(); err != nil {
				return err
			}
			e, err := c.load(id)
			if err != nil {
				continue
			}
			line = strings.Join([]string{e.Runtime, e.Agent, e.Project}, "\t")
			unknown++
		}
		runtime, rest, _ := strings.Cut(line, "\t")
		agent, directory, _ := strings.Cut(rest, "\t")
		all.Add(agentset.ID{Runtime: runtime, Agent: agent}, directory)
		if !strings.Contains(line, "\n") {
			lines = append(lines, id+"\t"+line)
		}
	}
	if file != "" && unknown*rewrite > len(ids) {
		_ = writeWorks(file, c.dir, lines) // it costs the next run its time and nothing else
	}
	return nil
}

// The cache is a line that names its format and the catalogue, a line for each archive,
// and the SHA-256 of these in hexadecimal.
const worksFormat = "sessctl agents 1\t"

// readWorks reads a cache. One of another catalogue, or that cannot be used, is empty.
func readWorks(file, catalogue string) map[string]string {
	known := map[string]string{}
	if file == "" {
		return known
	}
	body, err := readSummed(file)
	head, lines, _ := strings.Cut(body, "\n")
	if err != nil || head != worksFormat+catalogue {
		return known
	}
	for line := range strings.Lines(lines) {
		id, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		known[id] = text
	}
	return known
}

func writeWorks(file, catalogue string, lines []string) error {
	sweepUnchanged(file)
	if err := durable.MakeDir(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return durable.ReplaceFile(file, 0o600, func(w io.Writer) error {
		sum := sha256.New()
		out := bufio.NewWriter(io.MultiWriter(w, sum))
		_, _ = fmt.Fprintln(out, worksFormat+catalogue) // Flush returns the error
		for _, line := range lines {
			_, _ = fmt.Fprintln(out, line)
		}
		if err := out.Flush(); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w, hex.EncodeToString(sum.Sum(nil)))
		return err
	})
}
