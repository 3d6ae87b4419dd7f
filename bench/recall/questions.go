package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

// conversation is a dialogue over many sessions, and questions about it.
type conversation struct {
	name      string
	sessions  [][]turn
	questions []question
}

// turn is what one side said.
type turn struct {
	id   string
	text string
	user bool // not the one who spoke last: a session that waits for its answer is not compacted
	time time.Time
}

// question is answered by some turns.
type question struct {
	text     string
	evidence []place
	hard     bool // of the third with the least overlap of words
}

// place is where a turn stands.
type place struct{ session, turn int }

// locomoTurn is a turn in LoCoMo's files.
type locomoTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

// loadLoCoMo reads the conversations in a directory.
func loadLoCoMo(dir string) ([]conversation, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []conversation
	for _, path := range paths {
		c, err := readLoCoMo(path)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		all = append(all, c)
	}
	return all, nil
}

func readLoCoMo(path string) (conversation, error) {
	c := conversation{name: strings.TrimSuffix(filepath.Base(path), ".json")}
	content, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(content, &fields); err != nil {
		return c, err
	}
	places := map[string]place{}
	for n := 1; ; n++ {
		raw, ok := fields["session_"+strconv.Itoa(n)]
		if !ok {
			break
		}
		var said []locomoTurn
		if err := json.Unmarshal(raw, &said); err != nil {
			return c, err
		}
		var turns []turn
		start := locomoTime(fields["session_"+strconv.Itoa(n)+"_date_time"])
		for i, t := range said {
			places[t.ID] = place{len(c.sessions), i}
			turns = append(turns, turn{id: t.ID, text: t.line(), user: t.Speaker != said[len(said)-1].Speaker, time: start.Add(time.Duration(i) * time.Minute)})
		}
		c.sessions = append(c.sessions, turns)
	}
	c.questions, err = locomoQuestions(fields["qa"], places)
	return c, err
}

// line is a turn as it would stand in a transcript.
func (t locomoTurn) line() string {
	s := t.Speaker + ": " + t.Text
	if t.Caption != "" {
		s += " [shared a photo: " + t.Caption + "]"
	}
	return s
}

// locomoTime reads "1:56 pm on 8 May, 2023".
func locomoTime(raw json.RawMessage) time.Time {
	var s string
	if err := json.Unmarshal(raw, &s); err == nil {
		if t, err := time.Parse("3:04 pm on 2 January, 2006", s); err == nil {
			return t
		}
	}
	return time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
}

// locomoQuestions are the questions with evidence that exists.
func locomoQuestions(raw json.RawMessage, places map[string]place) ([]question, error) {
	var said []struct {
		Question string          `json:"question"`
		Evidence json.RawMessage `json:"evidence"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return nil, err
	}
	id := regexp.MustCompile(`D:?0*(\d+):0*(\d+)`) // some are written "D:1:3", "D1:03" or several in one string
	var all []question
	for _, s := range said {
		q := question{text: s.Question}
		for _, m := range id.FindAllStringSubmatch(string(s.Evidence), -1) {
			if p, ok := places["D"+m[1]+":"+m[2]]; ok && !slices.Contains(q.evidence, p) {
				q.evidence = append(q.evidence, p)
			}
		}
		if len(q.evidence) > 0 {
			all = append(all, q)
		}
	}
	return all, nil
}

// markHard marks the third of the questions with the least overlap: the share
// of a question's words that stand in the turns that answer it.
func markHard(conversations []conversation) {
	type rated struct {
		q       *question
		overlap float64
	}
	var all []rated
	for i := range conversations {
		c := &conversations[i]
		for j := range c.questions {
			all = append(all, rated{&c.questions[j], c.overlap(c.questions[j])})
		}
	}
	slices.SortStableFunc(all, func(x, y rated) int {
		switch {
		case x.overlap < y.overlap:
			return -1
		case x.overlap > y.overlap:
			return 1
		}
		return 0
	})
	for _, r := range all[:len(all)/3] {
		r.q.hard = true
	}
}

func (c *conversation) overlap(q question) float64 {
	answer := map[string]bool{}
	for _, p := range q.evidence {
		for _, term := range terms(c.sessions[p.session][p.turn].text) {
			answer[term] = true
		}
	}
	asked, common := terms(q.text), 0
	for _, term := range asked {
		if answer[term] {
			common++
		}
	}
	return float64(common) / float64(max(len(asked), 1))
}

func terms(text string) []string {
	all := strings.Fields(string(embed.AppendTerms(nil, text)))
	slices.Sort(all)
	return slices.Compact(all)
}

const (
	leastSection = 300  // bytes of a section that is worth finding
	mostSection  = 3300 // so that it fits one chunk
)

// loadDocs makes one conversation of sections of the module cache's Markdown:
// every section is a session of one message, and headings that stand only once
// are the questions.
func loadDocs(limit int) (conversation, error) {
	c := conversation{name: "docs"}
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return c, fmt.Errorf("find the module cache: %w", err)
	}
	paths, err := markdownFiles(strings.TrimSpace(string(out)))
	if err != nil {
		return c, err
	}
	headings, seen := map[string]int{}, map[string]bool{}
	var kept []section
	for _, path := range paths {
		for _, s := range sections(path) {
			if len(s.body) < leastSection || seen[s.body] {
				continue
			}
			seen[s.body] = true
			headings[strings.ToLower(s.heading)]++
			if len(kept) < limit {
				kept = append(kept, s)
			}
		}
	}
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, s := range kept {
		c.sessions = append(c.sessions, []turn{{id: fmt.Sprint(i), text: s.body, time: clock.Add(time.Duration(i) * time.Minute)}})
		if headings[strings.ToLower(s.heading)] == 1 && len(terms(s.heading)) >= 2 {
			c.questions = append(c.questions, question{text: s.heading, evidence: []place{{i, 0}}})
		}
	}
	return c, nil
}

// markdownFiles lists the Markdown files below a directory in their order,
// without change logs.
func markdownFiles(root string) (paths []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := strings.ToLower(path)
		switch {
		case err != nil:
			return nil // what cannot be read is left out
		case d.IsDir() && path == filepath.Join(root, "cache"):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, ".md") && !strings.Contains(name, "change"):
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}

// section is a part of a Markdown file.
type section struct{ heading, body string }

// sections cuts a Markdown file at its headings.
func sections(path string) (all []section) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<20)
	var heading string
	var body strings.Builder
	end := func() {
		if text := strings.TrimSpace(strings.ToValidUTF8(body.String(), "")); heading != "" && text != "" {
			all = append(all, section{heading, text[:min(len(text), mostSection)]})
		}
		body.Reset()
	}
	code := false
	for scanner.Scan() {
		line := scanner.Text()
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if !code && strings.HasPrefix(line, "#") {
			end()
			heading = strings.TrimSpace(strings.Trim(line, "# `"))
			continue
		}
		body.WriteString(line + "\n")
	}
	if scanner.Err() != nil {
		return nil
	}
	end()
	return all
}

// scramble copies a memory and gives every record any importance.
func scramble(ctx context.Context, from *library, dir string) (*library, error) {
	store, err := memory.Open(ctx, dir, memory.Options{})
	if err != nil {
		return nil, err
	}
	random, agents := rand.New(rand.NewPCG(1, 2)), map[string]bool{}
	_, err = from.store.Export(ctx, memory.ExportOptions{}, func(page []memory.Exported) error {
		_, err := store.Put(ctx, memory.Source{}, func(yield func(memory.Record, error) bool) {
			for _, e := range page {
				e.Importance = random.Float64()
				agents[e.Agent] = true
				if !yield(e.Record, nil) {
					return
				}
			}
		})
		return err
	})
	to := &library{store, from.embedder, from.model}
	for agent := range agents {
		if err == nil {
			_, err = store.EmbedPending(ctx, to.embedder, to.model, agent, nil)
		}
	}
	return to, err
}
