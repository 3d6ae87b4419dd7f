package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
)

// nonsense is questions that no conversation answers: rare words alone and in
// sentences, and words that nobody has. They are the same in every run.
func nonsense() []string {
	random := rand.New(rand.NewPCG(7, 7))
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	words := strings.Fields(`zebra quantum unicorn walrus trombone glacier saxophone pterodactyl kumquat obelisk marzipan catapult flamingo
		sarcophagus avalanche periscope gargoyle rhubarb tarantula bagpipe chandelier armadillo boomerang accordion tundra hieroglyph
		monocle narwhal pharaoh harpsichord neutrino taxidermy stalactite cormorant monsoon plankton gondola mandolin tectonic nebula
		wombat xylophone zeppelin`)
	sentences := []string{
		"what did the %s say about the %s", "where is the %s %s", "how many %s does the %s have", "why did we move the %s to the %s",
		"which %s did I buy for the %s", "when did the %s go to the %s",
	}
	list := []string{"zebra quantum unicorn"}
	for range 20 {
		list = append(list, pick(words), pick(words)+" "+pick(words)+" "+pick(words), fmt.Sprintf(pick(sentences), pick(words), pick(words)))
		invented := ""
		for range 3 + random.IntN(5) {
			invented += string("bcdfghjklmnpqrstvwxz"[random.IntN(20)]) + string("aeiouy"[random.IntN(6)])
		}
		list = append(list, invented)
	}
	return list
}

// answered counts how many questions get any hit.
type answered struct{ own, owns, nonsense, nonsenses int }

// ownShare and nonsenseShare are shares of the questions that are answered.
func (a answered) ownShare() float64      { return float64(a.own) / float64(max(a.owns, 1)) }
func (a answered) nonsenseShare() float64 { return float64(a.nonsense) / float64(max(a.nonsenses, 1)) }

// askedShare is which of its own questions a home is asked: every third.
const askedShare = 3

// countAnswered asks every home some of its own questions, and the nonsense.
func countAnswered(ctx context.Context, homes []home, rank string) (a answered, err error) {
	for i := range homes {
		l, err := openLibrary(ctx, &homes[i])
		if err != nil {
			return a, err
		}
		defer l.store.Close()
		for _, c := range homes[i].conversations {
			for n := 0; n < len(c.questions); n += askedShare {
				q := c.questions[n]
				if err := countOne(ctx, l, q.text, rank, &a.own); err != nil {
					return a, err
				}
				a.owns++
			}
		}
		for _, text := range nonsense() {
			if err := countOne(ctx, l, text, rank, &a.nonsense); err != nil {
				return a, err
			}
			a.nonsenses++
		}
	}
	return a, nil
}

func countOne(ctx context.Context, l *library, text, rank string, count *int) error {
	hits, err := l.ask(ctx, text, rank)
	if len(hits) > 0 {
		*count++
	}
	return err
}
