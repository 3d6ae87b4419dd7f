//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// pagings are pages of archives that are kept, and what removes them.
func pagings() []Command {
	return []Command{
		{
			Name: "archives show --html", Runtime: "openclaw", Args: []string{"archives", "show", "$ARCHIVE", "--html"}, Prepare: paged,
			Done: hasWholePage, Whole: pagesAreWhole, Settled: hasWholePage, Slow: true,
		},
		{
			Name: "memory forget, with a page", Runtime: "openclaw", Args: strings.Fields("memory forget --agent a --yes"), Prepare: paged,
			Done: hasNoPage, Whole: pagesAreWhole, Settled: func(h *Home) error { return errors.Join(forgot(h), hasNoPage(h)) },
			Refusals: []string{"no such record", "no memory yet"}, Slow: true,
		},
		{
			Name: "archives prune, with pages", Runtime: "openclaw", Args: strings.Fields("archives prune --max-age 90d --keep 1 --force --yes"),
			Prepare: func(h *Home) error { return errors.Join(oldArchives(h), everyArchivePaged(h)) },
			Done:    func(h *Home) error { return errors.Join(pruned(h), pagesHaveArchives(h)) }, Whole: pagesAreWhole, Settled: pagesHaveArchives, Slow: true,
		},
	}
}

// paged is a home with the page of an archive.
func paged(h *Home) error { return errors.Join(compacted(h), everyArchivePaged(h)) }

// everyArchivePaged makes a page of every archive.
func everyArchivePaged(h *Home) error {
	ids, err := archiveIDs(h)
	for _, id := range ids {
		err = errors.Join(err, h.must([]int{0}, "archives", "show", id, "--html"))
	}
	return err
}

// archiveIDs are the ids of the catalogue.
func archiveIDs(h *Home) (ids []string, err error) {
	entries, err := filepath.Glob(filepath.Join(h.Data(), "archives", "*.json"))
	for _, e := range entries {
		ids = append(ids, strings.TrimSuffix(filepath.Base(e), ".json"))
	}
	return ids, err
}

func keptPages(h *Home) ([]string, error) {
	return filepath.Glob(filepath.Join(h.Data(), "pages", "*.html"))
}

// pagesAreWhole checks that no page is half a one.
func pagesAreWhole(h *Home) error {
	pages, err := keptPages(h)
	for _, path := range pages {
		text, readErr := os.ReadFile(path)
		if err = errors.Join(err, readErr); readErr == nil && !strings.HasSuffix(string(text), "</html>\n") {
			err = errors.Join(err, fmt.Errorf("%s is half a page", path))
		}
	}
	return err
}

// hasWholePage checks that the archive of the command has its page.
func hasWholePage(h *Home) error {
	text, err := os.ReadFile(filepath.Join(h.Data(), "pages", h.archive+".html"))
	if err == nil && !strings.Contains(string(text), "nobody disputes") {
		err = errors.New("the page does not have what was said")
	}
	return errors.Join(err, pagesAreWhole(h))
}

func hasNoPage(h *Home) error {
	pages, err := keptPages(h)
	if len(pages) > 0 {
		return fmt.Errorf("what was forgotten is on %s", pages[0])
	}
	return err
}

// pagesHaveArchives checks that no page is left of an archive that is gone.
func pagesHaveArchives(h *Home) error {
	pages, err := keptPages(h)
	for _, path := range pages {
		entry := filepath.Join(h.Data(), "archives", strings.TrimSuffix(filepath.Base(path), ".html")+".json")
		if _, statErr := os.Stat(entry); statErr != nil {
			err = errors.Join(err, fmt.Errorf("%s is of an archive that is gone", path))
		}
	}
	return err
}
