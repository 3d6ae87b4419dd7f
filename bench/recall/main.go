// Command recall measures how well the product finds again what it took away.
//
// It writes conversations as sessions of an agent, one turn a message, compacts
// them with the program itself, and asks it questions whose answers are known
// to stand in certain turns. A turn counts as found by a hit if at least half
// of its text stands in the hit's text and both are of one session.
//
//	recall@k  mean share of a question's turns that stand in the first k hits
//	MRR       mean of 1 / place of the first hit that holds any of them
//	B8k       mean share that stands in the first 8,000 characters of hits: the
//	          only figure that does not change with the size of chunks
//
// "hard" is recall@10 over the third of the questions whose words overlap least
// with the turns that answer them.
//
// The conversations of LoCoMo (Maharana et al. 2024, CC BY-NC 4.0) are not part
// of the project: -locomo names the directory of their JSON files. The technical
// domain needs no data: the Markdown files of the modules in the Go module cache
// give sections, and the heading of a section, taken out of it, is the question.
//
//	go run ./bench/recall -locomo DIR
//	go run ./bench/recall -docs 1500
//	go run ./bench/recall -locomo DIR -ollama http://127.0.0.1:11434
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
)

type options struct {
	locomo  string
	docs    int
	ranks   string
	join    int
	pooled  bool
	library bool
	program string
	random  bool
	ollama  string
	model   string
}

func main() {
	var o options
	flag.StringVar(&o.locomo, "locomo", "", "directory of LoCoMo conversations (*.json)")
	flag.IntVar(&o.docs, "docs", 0, "how many sections of Markdown files of the module cache")
	flag.StringVar(&o.ranks, "ranks", "text,vector,hybrid,seed", "rankings to measure")
	flag.IntVar(&o.join, "join", 1, "so many turns a message: 1000 makes a session one text that is cut into chunks of 3,500 characters")
	flag.BoolVar(&o.pooled, "pooled", false, "all conversations in one memory")
	flag.BoolVar(&o.library, "library", false, "ask package memory instead of starting the program for every question")
	flag.BoolVar(&o.random, "random-importance", true, "also measure hybrid with importance that says nothing")
	flag.StringVar(&o.ollama, "ollama", "", "URL of an Ollama server that makes the vectors, instead of the built-in embedder")
	flag.StringVar(&o.model, "model", embed.DefaultOllamaModel, "its model")
	flag.StringVar(&o.program, "program", "", "the program to measure (built if empty)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "recall:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	conversations, err := load(o)
	if err != nil {
		return err
	}
	if len(conversations) == 0 {
		return errors.New("nothing to measure: give -locomo DIR or -docs N")
	}
	markHard(conversations)
	dir, err := os.MkdirTemp("", "sessctl-recall-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.program == "" {
		if o.program, err = build(ctx, dir); err != nil {
			return err
		}
	}
	homes, err := writeHomes(ctx, o, dir, conversations)
	if err != nil {
		return err
	}
	return measure(ctx, o, homes)
}

// load reads what is asked for.
func load(o options) ([]conversation, error) {
	var all []conversation
	if o.locomo != "" {
		found, err := loadLoCoMo(o.locomo)
		if err != nil {
			return nil, err
		}
		all = found
	}
	if o.docs > 0 {
		found, err := loadDocs(o.docs)
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

// measure prints one table a ranking and what must hold.
func measure(ctx context.Context, o options, homes []home) error {
	t := &table{homes: homes}
	for rank := range strings.SplitSeq(o.ranks, ",") {
		if err := t.measure(ctx, o, rank); err != nil {
			return err
		}
	}
	if o.random {
		if err := t.measureRandom(ctx); err != nil {
			return err
		}
	}
	_, err := os.Stdout.WriteString(t.text())
	return errors.Join(err, t.broken())
}
