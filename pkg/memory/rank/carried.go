package rank

import (
	"slices"
	"strings"
)

// foldCarried drops what was carried into a session where a piece of the session that
// it was said in, or another copy, is in the list and says what of it is asked for. The
// piece counts it as its duplicate, and takes its place if that is the better one.
func (r *ranking) foldCarried(list []*Candidate) []*Candidate {
	if !slices.ContainsFunc(list, func(x *Candidate) bool { return x.Carried }) {
		return list
	}
	r.begunWith = map[[2][4]string]bool{}
	asked, kept := termSet(r.Words), slices.Clone(list)
	for _, x := range list {
		if !x.Carried {
			continue
		}
		i := original(kept, x, asked)
		if i < 0 {
			continue
		}
		k, at := kept[i], slices.Index(kept, x)
		k.Duplicates += 1 + x.Duplicates
		r.begunWith[[2][4]string{x.owner(), k.owner()}] = true
		if i > at {
			k.Relevance, k.Importance, k.Score = x.Relevance, x.Importance, x.Score
			kept[at], at = k, i
		}
		kept = slices.Delete(kept, at, at+1)
	}
	return kept
}

// original is the index of a piece of another session that says what of x is asked
// for, -1 without any. One that is no copy itself comes first.
func original(list []*Candidate, x *Candidate, asked map[string]bool) int {
	best, all := linesOf(x, asked)
	for _, copied := range []bool{false, true} {
		i := slices.IndexFunc(list, func(k *Candidate) bool {
			return k.Carried == copied && k.isPieceElsewhere(x) && x.Holds&^k.Holds == 0 &&
				k.lines(best, asked) == len(best) && 2*sessionLines(list, k, all, asked) >= len(all)
		})
		if i >= 0 {
			return i
		}
	}
	return -1
}

// isPieceElsewhere says whether a record is a piece of another session than x.
func (c *Candidate) isPieceElsewhere(x *Candidate) bool {
	return c.Position >= 0 && !c.OwnWords && !c.sameSession(x)
}

// linesOf are the lines of a record: those that have the most of the terms that are
// asked for, none without any, and all.
func linesOf(x *Candidate, asked map[string]bool) (best, all []string) {
	most := 1
	for line := range strings.SplitSeq(x.Text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		all = append(all, line)
		have := len(askedTerms(asked, line))
		if have > most {
			most, best = have, nil
		}
		if have == most {
			best = append(best, line)
		}
	}
	return best, all
}

// sessionLines counts the lines that stand in the pieces of a session in a list:
// windows over the same lines begin elsewhere.
func sessionLines(list []*Candidate, of *Candidate, lines []string, asked map[string]bool) (n int) {
	for _, line := range lines {
		if slices.ContainsFunc(list, func(k *Candidate) bool { return k.sameSession(of) && k.lines([]string{line}, asked) == 1 }) {
			n++
		}
	}
	return n
}

// longLine is how long a line may be, in bytes, to stand in a window as a whole.
const longLine = 500

// lines counts the lines that a record has word for word. Of those that may be cut, or
// call a tool by another name, it has what is asked for and half of the terms.
func (c *Candidate) lines(lines []string, asked map[string]bool) (n int) {
	for _, line := range lines {
		if len(line) <= longLine && !strings.Contains(line, "[tool call] ") {
			if strings.Contains(c.Text, line) {
				n++
			}
			continue
		}
		have, terms := termSet(c.Text), termSet(line)
		if containsAll(have, askedTerms(asked, line)) && 2*len(common(terms, have)) >= len(terms) {
			n++
		}
	}
	return n
}

// common are the terms of one set that another has too.
func common(terms, have map[string]bool) map[string]bool {
	both := map[string]bool{}
	for term := range terms {
		if have[term] {
			both[term] = true
		}
	}
	return both
}
