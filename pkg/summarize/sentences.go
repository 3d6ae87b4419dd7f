package summarize

// Sentence is something that was said, with the estimates that decide whether a summary
// tells it and which later lines it names, and the signs that they are made of, in the
// order of their weights.
type Sentence struct {
	Text string // with the later words on it, as a summary tells it
	Line int    // 1-based line of the log

	Risk      float64 // how likely it is that it does not hold at the end, 0 to 1
	RiskSigns []float64
	Idle      float64 // how likely it is that nobody needs it, 0 to 1
	IdleSigns []float64

	Later []Later // the messages behind it that share a word with it
}

// Later is a message that may tell what became of a sentence, with the estimate that
// decides which lines a summary names.
type Later struct {
	Line   int     // 1-based line of the log
	Likely float64 // how likely it tells what became of a sentence that does not hold, 0 to 1
	Signs  []float64
}

// Sentences are those of what people said and of the agent's last words of each turn,
// whatever a summary tells of them. Somebody who knows what each was worth at the end can
// judge the estimates by them, and learn their weights from the signs.
func (e *Extractive) Sentences() (all []Sentence) {
	e = e.finished()
	e.remarks.index()
	for i := range e.remarks.all {
		t := &e.remarks.all[i]
		t.eachSentence(func(s sentence, opens bool) {
			if !s.head {
				all = append(all, e.weighed(i, string(s.text), opens))
			}
		})
	}
	return all
}

// weighed is a sentence of a message with its estimates; opens is true of its first.
func (e *Extractive) weighed(at int, text string, opens bool) Sentence {
	t, words := &e.remarks.all[at], len(stemsOf(text))
	c := candidate{text: oneLine(text, sentenceRunes), line: t.line, person: t.person, people: t.people}
	c = e.followed([]candidate{c}, anybody)[0]
	risk, idle := e.riskSigns(&c), e.idleSigns(at, text, words, opens)
	return Sentence{Text: c.text, Line: t.line, Risk: risk.risk(), RiskSigns: risk[:], Idle: idle.idle(), IdleSigns: idle[:], Later: e.remarks.laterThan(t.line, text)}
}

// laterThan are the messages behind a sentence of a line that share a word with it.
func (m *remarks) laterThan(line int, text string) (all []Later) {
	said, masses := m.subject(text)
	from := m.firstAfter(line)
	for i := from; i < len(m.all); i++ {
		if masses[i] > 0 {
			x := m.likelySigns(i, from, masses[i], &said)
			all = append(all, Later{Line: m.all[i].line, Likely: logistic(x.likely()), Signs: x[:]})
		}
	}
	return all
}

// eachSentence hands out the sentences of a message; opens is true of the first.
func (t *remark) eachSentence(yield func(s sentence, opens bool)) {
	opens, short := true, shortSentence
	if t.person {
		short = shortClause
	}
	eachSentenceOf([]byte(t.text), short, func(s sentence) {
		yield(s, opens)
		opens = false
	})
}
