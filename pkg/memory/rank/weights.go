package rank

// All weights and thresholds of the ranking, in the order of the stages that use
// them (see Rank). Each says what justifies it: figures of
// docs/dev/ranking.md, which has the commands that print them, and docs/dev/decisions.md
// D9 and D11. They were chosen on four LoCoMo conversations, 50 questions about
// coding sessions and technical Markdown. On six conversations that were held back
// all of them together find 0.809 / 0.861 of the answers in 5 / 10 hits, a point less
// than on those they were chosen on; no weight was measured alone there.

// What is proposed. 100 records in place of PoolSize find no more on the
// conversations and the coding questions; the others have no figure.
const (
	Proposed     = 100  // that each half proposes
	MostProposed = 1600 // if most of those have the same text
	PoolSize     = 50   // by relevance, before importance has its say
	MaxTerms     = 64   // of a full-text query: a pasted page is not a question
	// ownPlaces is how many of the pool may be an agent's own words: the other places
	// are for what was said.
	ownPlaces = PoolSize / 5
)

// The mix of the two halves. On the conversations words alone find 0.784 / 0.836,
// vectors alone 0.677 / 0.766, and hybrid 0.823 / 0.884; more weight for one half
// loses there or on the coding questions (docs/dev/decisions.md D9).
const (
	textShare   = 0.6
	vectorShare = 0.4
)

// How much a record gains that was said in a time which the query names, on the scale
// of relevance: "what did we decide on 3 March" is answered on 3 March, or in the week
// after, when it is told; failing that, in that month. Together they gain 1.5 points
// of recall@5 on the conversations, where 86 of 755 questions name a date. None was
// measured alone, and none on text that is not of the conversations.
const (
	saidThen    = 0.5
	saidAfter   = 0.25
	saidNear    = 0.15
	tellingDays = 7  // after a day, in which it is told
	overhang    = 10 // days after a month, in which it still is
)

// ShortBytes is how long a record is, in bytes, that is understood from those
// around it: about four short messages. It has no figure of its own; that short hits
// bring their neighbours is worth 0.823 / 0.884 to 0.862 / 0.912 on the
// conversations.
const ShortBytes = 900

// neighbourShare is how much each of the two neighbours of a record counts: what
// comes before or after a relevant record is more likely to be relevant. It falls
// with the square of the length beyond ShortBytes. Its figure on the conversations is
// part of that of the second look; there is none on unseen data.
const neighbourShare = 0.2

// Bounds of the second look: how many records, and about how many bytes of text
// in all. A record of 3,500 characters costs about 0.3 ms; a question 10 ms.
const (
	refined      = 100
	refinedBytes = 180_000
)

// passageBytes is how long a passage of one message may be; shortPassage is
// how short two neighbours must be together to be one. A chunk of 3,500
// characters says many things, and what answers a question is a few lines of
// it. Passages of two messages find less. The lengths themselves have no figure.
const (
	passageBytes = 800
	shortPassage = 200
)

// What the second look counts: the words of the record, the words of its best
// passage, and its meaning: as a whole, and that of the nearest passage. Chosen on
// the conversations with one left out at a time (0.820 / 0.885); no figure apart from
// the others.
const (
	wholeTextShare = 0.4
	passageShare   = 0.3
	meaningShare   = 0.3
	detailShare    = 0.1 // of which that of the nearest passage
)

// How fast a repeated term stops adding to a passage's score, and how much a
// long passage is held back: the constants of the built-in embedder
// (docs/dev/decisions.md D6). Other constants of BM25 find no more.
const (
	wordSaturation  = 0.9
	wordLengthShare = 0.4
)

// answerShare is what a record gains whose passage has the words of a question
// and what its answer must have: a time for "when", a number for "how many". There is
// no figure on unseen data.
const answerShare = 0.1

// Who says it. Without each of these the 50 coding questions find, in the first hit,
// 5 and 10: 0.44 / 0.68 / 0.78 (unsaidShare), 0.40 / 0.72 / 0.76 (dumpShare), 0.42 /
// 0.70 / 0.80 (personShare); with all 0.44 / 0.76 / 0.82, with none 0.34 / 0.66 /
// 0.74. In a chat they change nothing. With each session left out the whole ranking
// finds 0.76 / 0.80.
const (
	// unsaidShare is what a record loses of which nothing was said in words:
	// half of it by how much of the text that is, half by how much of the
	// question's words.
	unsaidShare = 0.3
	// dumpShare is what a passage counts that nobody said in words.
	dumpShare = 0.3
	// personShare is what a record gains whose best passage a person said, for
	// each time that persons say less than half, a quarter, an eighth of all that
	// was proposed.
	personShare = 0.02
)

// The score. It is what was required; importance costs nothing where it says nothing
// (hybrid with importance at random: 0.797 / 0.874), and on raw cosines it would
// decide alone (0.248 / 0.291). docs/dev/decisions.md D9.
const (
	relevanceShare  = 0.7
	importanceShare = 0.3
)

// summaryImportance is what a summary's importance counts under Hybrid: more than
// that of history, less than what its record says. It finds 0.5 points more in 5 hits
// than 0.70, on the conversations; 0.25 and 0.5 find as much.
const summaryImportance = 0.4

// nearShare is how much of their words two records must share to be one hit.
// Neighbours share 200 of 3,500 characters by design and stay apart. It has no figure.
const nearShare = 0.9

// quotedShare is how many of a line's words must occur in what it is quoted
// from: a label may come first, and the end may be cut. That summaries are folded
// into what they quote is worth five points of recall@5 in technical Markdown; the
// share itself has no figure.
const quotedShare = 0.8

// The sixth hit and those after it. They take recall@10 from 0.875 to 0.887 on the
// conversations; there is no figure on unseen data.
const (
	// firstPlaces go by score alone: as many as a question gets by default.
	firstPlaces = 5
	// modelPlaces are the first, which the rest is compared with.
	modelPlaces = 3
	// alikeShare is what a record would gain that has the words of the first, no
	// others, and was said in words. Usual is a twentieth of it.
	alikeShare = 1.6
	// togetherShare is what a record gains for each of the first five that is of
	// its session.
	togetherShare = 0.03
)

// PinnedPlaces is how many places at the top can go to records with identifiers. It
// is a promise of recall, not a figure.
const PinnedPlaces = 3

// LeastFit is the fit below which the best hit of a question does not answer it:
// then 99 of 100 questions that have an answer get one, and 2 of 301 nonsense
// questions. It costs 0.004 of recall@10.
const LeastFit = 0.3

// Fit (see fit.go). The figures of LeastFit are those of all of these together.
const (
	absentShare = 0.5
	// unknownMeaning stands for a meaning that nothing is known of, and
	// servedFloor for one that only a served model knows: it never speaks against
	// a record.
	unknownMeaning = 0.5
	servedFloor    = 0.6
	// builtinMeaning brings the cosines of embed.Builtin, which reach 0.28, to
	// the scale of words.
	builtinMeaning = 4
	// servedMeaning does so for those of a model that a server runs: for how far
	// a record is above the least of those that were proposed. No good served model
	// has been measured.
	servedMeaning = 2
	// otherRecords are added to a memory: in one of a few records no word is
	// rare.
	otherRecords = 500
)

// Questions about what was done. None of these has a figure: they put what people
// mean by a name in an order (docs/recall.md).
//
// How well a name fits is told by the best of these that holds; less than the
// whole name is rated by the share of the question's words that it has.
const (
	sameFit     = 1.0
	endFit      = 0.98 // a path ends with what was asked for
	nameFit     = 0.95 // its last element is that, but for the extension
	likeNameFit = 0.9  // but for case, dots, dashes and underscores too
	holdsFit    = 0.9  // a command or an error has it in one piece
	// Of a path, the words in its last element count more.
	pathWordsShare, nameWordsShare = 0.55, 0.25
	wordsShare                     = 0.8 // of commands and errors
	// A word of a question that stands at the beginning of one of a text counts less
	// than one that is the same.
	BeginningShare = 0.8
	// LeastBeginning is how long the beginning must be, in bytes.
	LeastBeginning = 3
	// worthwhileShare is how much of the best fit a hit must have.
	worthwhileShare = 0.7
	// LeastNames is the share of the words of a file or command that a text must have.
	LeastNames = 0.6
	// LeastErrors is that of the words of an error.
	LeastErrors = 0.5
)
