package pages

import (
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/report"
	"github.com/sessctl/sessctl/pkg/session"
)

// PageDocument is `archives show --html --json`.
type PageDocument struct {
	Schema   int                  `json:"schema"`
	Archive  selection.ArchiveRow `json:"archive"`
	Path     string               `json:"path"`     // of the first page
	URL      string               `json:"url"`      // the same, for a browser
	Messages int                  `json:"messages"` // on all pages
	Masked   int                  `json:"masked"`   // what looked like a secret, with --redact
	Pages    []PageRow            `json:"pages"`
}

// PageRow is one page.
type PageRow struct {
	Path      string `json:"path"`
	FirstLine int    `json:"first_line"`
	LastLine  int    `json:"last_line"`
}

// PagePart is a part of a message on a page.
func PagePart(kind session.PartKind) report.PartKind {
	switch kind {
	case session.PartThinking:
		return report.PartThinking
	case session.PartToolCall:
		return report.PartCall
	case session.PartImage:
		return report.PartImage
	case session.PartCommand:
		return report.PartCommand
	case session.PartUnsent:
		return report.PartUnsent
	}
	return report.PartText
}

// RemovePages removes the kept pages of archives. The first page goes first: what
// is left of a removal that was cut off is never led to.
func RemovePages(a *workspace.Run, ids ...string) error {
	for _, id := range ids {
		if err := removal.RemovePagesOf(a, func(owner string) bool { return owner == id }); err != nil {
			return err
		}
	}
	return nil
}
