package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/memory"
)

// sessionScore is how well whole sessions are found, as LongMemEval defines it:
// sessions stand in the order of their first hits, and a question has one or
// several that hold its answer.
//
//	any@k   one of them is among the first k
//	all@k   all of them are
//	NDCG@k  of the first k, each of them as good as another
type sessionScore struct {
	any1, any5, any10, all5, all10, gain10, reciprocal float64
	questions                                          int
}

// add adds a question: the places of its sessions, from 0, -1 where it was not
// found.
func (s *sessionScore) add(places []int) {
	s.questions++
	within := func(k int) (n int) {
		for _, at := range places {
			if at >= 0 && at < k {
				n++
			}
		}
		return n
	}
	share := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	s.any1, s.any5, s.any10 = s.any1+share(within(1) > 0), s.any5+share(within(5) > 0), s.any10+share(within(10) > 0)
	s.all5, s.all10 = s.all5+share(within(5) == len(places)), s.all10+share(within(10) == len(places))
	s.gain10 += normalGain(places, 10)
	first := -1
	for _, at := range places {
		if at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	if first >= 0 {
		s.reciprocal += 1 / float64(first+1)
	}
}

// normalGain is the discounted gain of the first k, as a share of the best.
func normalGain(places []int, k int) float64 {
	gain, best := 0.0, 0.0
	for i, at := range places {
		if at >= 0 && at < k {
			gain += 1 / math.Log2(float64(at)+2)
		}
		if i < k {
			best += 1 / math.Log2(float64(i)+2)
		}
	}
	return gain / best
}

func (s sessionScore) String() string {
	n := float64(max(s.questions, 1))
	return fmt.Sprintf("%.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f", s.any1/n, s.any5/n, s.any10/n, s.all5/n, s.all10/n, s.gain10/n, s.reciprocal/n)
}

// sessionHits is how many hits are looked at for their sessions.
const sessionHits = 100

// measureSessions prints how well the sessions that hold the answers are found.
func measureSessions(ctx context.Context, homes []home, ranks string) error {
	fmt.Println("\n| sessions | any@1 | any@5 | any@10 | all@5 | all@10 | NDCG@10 | MRR |\n|---|---|---|---|---|---|---|---|")
	for rank := range strings.SplitSeq(ranks, ",") {
		var s sessionScore
		for i := range homes {
			if err := homes[i].findSessions(ctx, rank, &s); err != nil {
				return err
			}
		}
		fmt.Printf("| %s, %d questions | %s |\n", rank, s.questions, s)
	}
	return nil
}

// findSessions asks all questions of a home.
func (h *home) findSessions(ctx context.Context, rank string, s *sessionScore) error {
	l, err := openLibrary(ctx, h)
	if err != nil {
		return err
	}
	defer l.store.Close()
	for number, c := range h.conversations {
		for _, q := range c.questions {
			result, err := l.store.Recall(ctx, memory.Query{Text: q.text, Limit: sessionHits, Rank: rank}, l.embedder, l.model)
			if err != nil {
				return err
			}
			s.add(placesOf(number, q, result.Hits))
		}
	}
	return nil
}

// placesOf are the places of the sessions that hold the answer of a question.
func placesOf(number int, q question, hits []memory.Hit) (places []int) {
	var order, answers []string
	for _, h := range hits {
		if !slices.Contains(order, h.Session) {
			order = append(order, h.Session)
		}
	}
	for _, p := range q.evidence {
		if id := sessionID(number, p.session); !slices.Contains(answers, id) {
			answers = append(answers, id)
		}
	}
	for _, id := range answers {
		places = append(places, slices.Index(order, id))
	}
	return places
}

// bringing is a library whose short hits bring what stands before and after them,
// as the program's do.
type bringing struct{ *library }

func (b bringing) ask(ctx context.Context, text, rank string) ([]hit, error) {
	result, err := b.store.Recall(ctx, memory.Query{Text: text, Limit: wanted, Rank: rank, LeastFit: memory.LeastFit}, b.embedder, b.model)
	if err != nil {
		return nil, err
	}
	var hits []hit
	for _, h := range result.Hits {
		x := hit{Session: h.Session, Text: h.Text}
		if len(h.Text) <= memory.ShortBytes {
			near, err := b.store.Neighbors(ctx, h.Record, 1)
			if err != nil {
				return nil, err
			}
			for _, r := range append(near.Before, near.After...) {
				x.Text += "\n\n" + r.Text
			}
		}
		hits = append(hits, x)
	}
	return hits, nil
}
