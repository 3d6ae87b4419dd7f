package report

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

//go:embed report.html
var reportTemplate string

//go:embed report.css
var reportStyle string

//go:embed report.js
var reportScript string

// How many rows of a long list, and how many alerts, are shown unfolded.
const (
	firstRows   = 15
	firstAlerts = 5
)

// WriteHTML writes a report as one file: it needs no network, and no script to be
// read. Times are shown in the zone of location.
func WriteHTML(w io.Writer, d Document, location *time.Location) error {
	t, err := template.New("report").Funcs(reportFuncs(location, madeAt(d))).Parse(reportTemplate)
	if err != nil {
		return err
	}
	f := frame{style: baseStyle + reportStyle, script: reportScript}
	if err := f.open(w); err != nil {
		return err
	}
	if err := renderPart(w, t, "report", newReportView(d)); err != nil {
		return err
	}
	return f.close(w)
}

// What a page bounds, so that it stays below a megabyte whatever sessions and
// agents there are. `report --json` has the rest.
const (
	mostAlerts = 100
	mostPurges = 250
	clipRunes  = 160
)

// clip cuts what is too long for a cell.
func clip(s string) string {
	if len(s) <= clipRunes {
		return s
	}
	runes := []rune(s)
	if len(runes) <= clipRunes {
		return s
	}
	return string(runes[:clipRunes]) + " …"
}

// textPart is a part of a sentence. An option of a command is one of its own: a
// line is not broken after its hyphens.
type textPart struct {
	Text   string
	Option bool
}

// wordsOf are the parts of a sentence that may name commands, clipped.
func wordsOf(sentence string) (parts []textPart) {
	for i, word := range strings.Split(clip(sentence), " ") {
		if i > 0 {
			word = " " + word
		}
		if option := strings.TrimPrefix(word, " "); strings.HasPrefix(option, "-") && option != "-" {
			parts = append(parts, textPart{word[:len(word)-len(option)], false}, textPart{option, true})
			continue
		}
		parts = append(parts, textPart{word, false})
	}
	return parts
}

// reportView is a document with what is drawn of it.
type reportView struct {
	Document
	Problems   int // alerts
	Size       chart
	PutAway    chart
	KnownDays  int
	AnyPutAway bool
	Layers     []layerName
	Moved      []layerName
	DiskParts  []diskSegment
	Agents     folded[Share]
	Sessions   folded[Session]
	AlertKinds []alertKind

	FoldedAlerts folded[Alert]
	FoldedPurges folded[Purge]
	FoldedRuns   folded[Run]
	MoreAlerts   int
	MorePurges   int

	Outcomes    []outcomeCount
	MostTokens  int64 // of a runtime
	MostAgent   int64
	MostSession int64
	MostDisk    int64 // of a runtime
	MostType    int64
	MostRecord  int64
}

// folded is a list whose first rows are shown, and the rest on demand.
type folded[T any] struct{ First, Rest []T }

func fold[T any](all []T, first int) folded[T] {
	n := min(len(all), first)
	if len(all) <= first+3 { // to fold so few costs more than to show them
		n = len(all)
	}
	return folded[T]{all[:n], all[n:]}
}

// layerName is an entry of a legend.
type layerName struct{ Name, Class string }

// diskSegment is a piece of the bar of the whole disk.
type diskSegment struct {
	DiskPart
	Class    string
	X, Width float64 // of 100
}

type outcomeCount struct {
	Outcome string
	Runs    int
}

func newReportView(d Document) reportView {
	sizes := []layer{
		{"logs", "k0", func(d Day) int64 { return d.Logs }, false},
		{"archives", "k2", func(d Day) int64 { return d.Archives }, false},
		{"memory", "k3", func(d Day) int64 { return d.Memory }, false},
	}
	moved := []layer{
		{"put into archives", "k2", func(d Day) int64 { return d.PutAway }, true},
		{"taken out of logs", "k1", func(d Day) int64 { return d.Freed }, true},
	}
	v := reportView{
		Document: d, Problems: len(d.Alerts), Size: drawDays(d.Growth.Days, sizes), PutAway: drawDays(d.Growth.Days, moved),
		Layers: legendOf(sizes), Moved: legendOf(moved), DiskParts: segmentsOf(d.Disk), Agents: fold(d.Context.Projects(), firstRows), Sessions: fold(d.Context.List, firstRows),
		FoldedAlerts: fold(d.Alerts[:min(len(d.Alerts), mostAlerts)], firstAlerts), FoldedPurges: fold(d.Purges[:min(len(d.Purges), mostPurges)], firstRows), FoldedRuns: fold(d.Runs.List, firstRows), AlertKinds: kindsOf(d.Alerts),
	}
	v.MoreAlerts, v.MorePurges = max(len(d.Alerts)-mostAlerts, 0), max(len(d.Purges)-mostPurges, 0)
	v.Size.Title, v.PutAway.Title = "Bytes of logs, archives and memory by day", "Bytes put into archives and taken out of logs by day"
	for _, day := range d.Growth.Days {
		if day.Known {
			v.KnownDays++
		}
		v.AnyPutAway = v.AnyPutAway || day.PutAway+day.Freed > 0
	}
	for outcome, runs := range d.Runs.Outcomes {
		v.Outcomes = append(v.Outcomes, outcomeCount{outcome, runs})
	}
	slices.SortFunc(v.Outcomes, func(x, y outcomeCount) int { return strings.Compare(x.Outcome, y.Outcome) })
	v.MostTokens = mostOf(d.Context.Runtimes, func(s Share) int64 { return s.Tokens })
	v.MostAgent = mostOf(d.Context.Projects(), func(s Share) int64 { return s.Tokens })
	v.MostSession = mostOf(d.Context.List, func(s Session) int64 { return s.Tokens })
	v.MostDisk = mostOf(d.Disk.Runtimes, RuntimeDisk.Sum)
	v.MostType = mostOf(d.Records.Types, func(s TypeShare) int64 { return s.Bytes })
	v.MostRecord = mostOf(d.Records.Largest, func(r Record) int64 { return r.Bytes })
	return v
}

// alertKind counts the alerts of a kind.
type alertKind struct {
	Kind   string
	Alerts int
}

// kindsOf counts alerts by kind, in their order.
func kindsOf(alerts []Alert) (kinds []alertKind) {
	for _, a := range alerts {
		i := slices.IndexFunc(kinds, func(k alertKind) bool { return k.Kind == a.Kind })
		if i < 0 {
			i = len(kinds)
			kinds = append(kinds, alertKind{Kind: a.Kind})
		}
		kinds[i].Alerts++
	}
	return kinds
}

// Sum is all that a runtime has on the disk.
func (r RuntimeDisk) Sum() int64 { return r.Live + r.Closed + r.Archives }

func mostOf[T any](all []T, of func(T) int64) (most int64) {
	for _, x := range all {
		most = max(most, of(x))
	}
	return most
}

func legendOf(layers []layer) (names []layerName) {
	for _, l := range layers {
		names = append(names, layerName{l.name, l.class})
	}
	return names
}

// segmentsOf lays the parts of the disk beside each other. Each has a pattern of
// its own, so that they can be told apart without colour.
func segmentsOf(d Disk) (segments []diskSegment) {
	classes := []string{"k0", "k1", "k2", "k3", "k4", "kx", "ku"}
	x := 0.0
	for i, p := range d.Parts {
		s := diskSegment{DiskPart: p, Class: classes[i%len(classes)], X: tenth(x), Width: tenth(portion(p.Bytes, d.Bytes))}
		segments = append(segments, s)
		x += s.Width
	}
	return segments
}

// portion is a part of the whole, of 100.
func portion(part, whole int64) float64 {
	if whole <= 0 || part <= 0 {
		return 0
	}
	return tenth(min(float64(part)/float64(whole)*100, 100))
}

func bytesText(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// madeAt is when a report was made, the beginning of time if it does not say.
func madeAt(d Document) time.Time {
	at, _ := time.Parse(time.RFC3339, d.MadeAt)
	return at
}

// reportFuncs are what the page is written with. made is when: what a runtime deletes when
// it starts and is due by then goes at its next start.
func reportFuncs(location *time.Location, made time.Time) template.FuncMap {
	shown := func(layout string) func(string) string {
		return func(text string) string {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return text
			}
			return at.In(location).Format(layout)
		}
	}
	return template.FuncMap{
		"bytes": bytesText, "count": countText, "part": portion,
		"when": shown("2006-01-02 15:04"), "day": shown("2006-01-02"), "goes": func(at string) string {
			if t, err := time.Parse(time.RFC3339, at); err == nil && !t.After(made) {
				return "at its next start"
			}
			return shown("2006-01-02")(at)
		}, "zone": shown("MST"),
		"took": func(seconds float64) string {
			return time.Duration(seconds * float64(time.Second)).Round(time.Second / 10).String()
		},
		"bar":      func(part, whole int64, class string) bar { return bar{portion(part, whole), class} },
		"symbol":   symbolOf,
		"plural":   pluralText,
		"clip":     clip,
		"words":    wordsOf,
		"outcome":  outcomeClass,
		"rows":     func(rows []Share, most int64) shareRows { return shareRows{rows, most} },
		"sessions": func(rows []Session, most int64) sessionRows { return sessionRows{rows, most} },
	}
}

// shareRows are rows whose bars have a common scale.
type shareRows struct {
	Rows []Share
	Most int64
}

type sessionRows struct {
	Rows []Session
	Most int64
}

type bar struct {
	Width float64
	Class string
}

func countText(n any) string {
	switch n := n.(type) {
	case int:
		return humanize.Comma(int64(n))
	case int64:
		return humanize.Comma(n)
	}
	return ""
}

func pluralText(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Comma(int64(n)) + " " + one + "s"
}

// symbolOf and outcomeClass show how a run ended, to who sees colours and to who
// does not.
func symbolOf(outcome string) string {
	switch outcome {
	case "ok":
		return "✓"
	case "failed", "damaged":
		return "✗"
	case "running":
		return "…"
	}
	return "◐"
}

func outcomeClass(outcome string) string {
	switch outcome {
	case "ok":
		return "good"
	case "failed", "damaged":
		return "bad"
	}
	return "soft"
}
