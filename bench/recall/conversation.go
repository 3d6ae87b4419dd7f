package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/embed"
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
