package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
)

// codingQuestion is a question about a session of a coding agent, with the lines
// of its log any of which answers it.
type codingQuestion struct {
	Kind     string   `json:"kind"`
	Question string   `json:"question"`
	Answers  [][2]int `json:"answers"`
	Session  string   `json:"session_file"` // relative to the root that -coding names
}

// aboutWork are the kinds of questions about what was done.
func (q codingQuestion) aboutWork() bool {
	return slices.Contains([]string{"command", "file", "error"}, q.Kind)
}

// codingHit is a hit of recall, or an action.
type codingHit struct {
	Session string `json:"session"`
	Source  struct {
		First int `json:"first_line"`
		Last  int `json:"last_line"`
	} `json:"source"`
	ResultLast int `json:"result_last_line"`
}

// answeredBy says whether a hit holds lines that answer the question.
func (q codingQuestion) answeredBy(h codingHit, session string) bool {
	return h.Session == session && slices.ContainsFunc(q.Answers, func(lines [2]int) bool {
		return h.Source.First <= lines[1] && max(h.Source.Last, h.ResultLast) >= lines[0]
	})
}

// codingWays are how the questions are asked.
func codingWays() []struct{ name, flags string } {
	return []struct{ name, flags string }{
		{"recall (hybrid)", "--category session_history"},
		{"words only (`--rank text`)", "--category session_history --rank text"},
		{"`--kind work`", "--kind work"},
	}
}

// measureCoding archives the sessions of a set of questions in one home and
// prints the share of the questions that the first hits of each way answer.
func measureCoding(ctx context.Context, o options, dir string) error {
	set, err := o.archiveCoding(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Println("| hit@1 / hit@5 / hit@10 | commands, files, errors | all |\n|---|---|---|")
	for _, way := range codingWays() {
		work, all, err := set.measure(func(question string) ([]codingHit, error) {
			return set.home.askCoding(ctx, question, strings.Fields(way.flags))
		})
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %s | %s |\n", way.name, work, all)
	}
	return nil
}

// codingSet is a set of questions, and the home that has their sessions in its
// memory.
type codingSet struct {
	home      *home
	questions []codingQuestion
	ids       map[string]string // of sessions, by file
}

// archiveCoding archives the sessions of the questions in one home.
func (o options) archiveCoding(ctx context.Context, dir string) (*codingSet, error) {
	raw, err := os.ReadFile(o.coding)
	if err != nil {
		return nil, err
	}
	set := &codingSet{home: &home{dir: filepath.Join(dir, "coding"), program: o.program, server: server{o.ollama, o.model}}, ids: map[string]string{}}
	if err := json.Unmarshal(raw, &set.questions); err != nil {
		return nil, fmt.Errorf("read %s: %w", o.coding, err)
	}
	for _, q := range set.questions {
		if set.ids[q.Session] == "" {
			if set.ids[q.Session], err = set.home.place(o.codingRoot, q.Session); err != nil {
				return nil, err
			}
		}
	}
	_, err = set.home.run(ctx, "archive", "--all", "--remember", "--json")
	return set, err
}

// measure asks all questions: those about what was done, and all of them.
func (s *codingSet) measure(ask func(question string) ([]codingHit, error)) (work, all codingScore, err error) {
	for _, q := range s.questions {
		hits, err := ask(q.Question)
		if err != nil {
			return work, all, err
		}
		at := slices.IndexFunc(hits, func(x codingHit) bool { return q.answeredBy(x, s.ids[q.Session]) })
		all.add(at)
		if q.aboutWork() {
			work.add(at)
		}
	}
	return work, all, nil
}

// askCoding asks package memory for ten pieces of sessions: what the program does,
// without starting it.
func (l *library) askCoding(ctx context.Context, question string) ([]codingHit, error) {
	q := memory.Query{Text: question, Category: "session_history", Limit: 10, LeastFit: memory.LeastFit}
	result, err := l.store.Recall(ctx, q, l.embedder, l.model)
	var hits []codingHit
	for _, h := range result.Hits {
		x := codingHit{Session: h.Session}
		x.Source.First, x.Source.Last = h.FirstLine, h.LastLine
		hits = append(hits, x)
	}
	return hits, err
}

// codingScore counts questions.
type codingScore struct{ questions, at1, at5, at10 int }

// add counts a question whose answer is the hit at an index, -1 for none.
func (s *codingScore) add(at int) {
	s.questions++
	if at == 0 {
		s.at1++
	}
	if at >= 0 && at < 5 {
		s.at5++
	}
	if at >= 0 && at < 10 {
		s.at10++
	}
}

func (s codingScore) String() string {
	n := float64(max(s.questions, 1))
	return fmt.Sprintf("%.2f / %.2f / %.2f (%d)", float64(s.at1)/n, float64(s.at5)/n, float64(s.at10)/n, s.questions)
}

// place copies a log to where its runtime would have it, and returns the id of
// its session.
func (h *home) place(root, file string) (id string, err error) {
	raw, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return "", err
	}
	id = strings.TrimSuffix(filepath.Base(file), ".jsonl")
	path := filepath.Join(h.dir, ".claude", "projects", "-work-coding", id+".jsonl")
	var head struct{ Type, ID, Timestamp string }
	first, _, _ := strings.Cut(string(raw), "\n")
	if err := json.Unmarshal([]byte(first), &head); err == nil && head.Type == "session" { // pi
		id = head.ID
		path = filepath.Join(h.dir, ".pi", "agent", "sessions", "--work-coding--", strings.NewReplacer(":", "-", ".", "-").Replace(head.Timestamp)+"_"+id+".jsonl")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return "", err
	}
	old := time.Now().Add(-2 * time.Hour)
	return id, os.Chtimes(path, old, old)
}

// askCoding asks the program for ten hits.
func (h *home) askCoding(ctx context.Context, question string, flags []string) ([]codingHit, error) {
	arguments := append([]string{"recall", "--json", "--limit", "10"}, flags...)
	out, err := h.run(ctx, append(arguments, "--", question)...)
	if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1 && len(out) > 0) { // 1 is that nothing fits
		return nil, err
	}
	var document struct{ Hits, Work []codingHit }
	if err := json.Unmarshal(out, &document); err != nil {
		return nil, err
	}
	return append(document.Hits, document.Work...), nil
}
