package cmd

import "github.com/sessctl/sessctl/internal/recall"

func newPassagePrinter(a *app, query string, full bool) *recall.PassagePrinter {
	p := &recall.PassagePrinter{Terms: recall.QueryTerms(query), Full: full, Mark: func(word string) string { return word }}
	switch bold := a.renderer().NewStyle().Bold(true); {
	case a.Color:
		p.Mark = func(word string) string { return bold.Render(word) }
	case a.OutTTY && !full:
		p.Mark = func(word string) string { return "**" + word + "**" }
	}
	return p
}
