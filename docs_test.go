package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
)

var (
	codeSpan   = regexp.MustCompile("`[^`\n]+`")
	namedTest  = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	namedIn    = regexp.MustCompile(`\b[a-z_]+\.txtar\b`)
	pageLink   = regexp.MustCompile(`\]\(([a-z0-9./-]+\.md)(?:#([^)]*))?\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInSlug  = regexp.MustCompile(`[^a-z0-9 _-]`)
	testHeader = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
)

// A page that names a test, a script or another page is true only while there
// is one.
func TestPagesNameWhatThereIs(t *testing.T) {
	tier.Rule(t)
	tests := testNames(t)
	for _, page := range slices.Concat(pagesIn(t, "docs"), pagesIn(t, "docs/dev"), []string{"README.md"}) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, span := range codeSpan.FindAllString(string(text), -1) {
			for _, name := range namedTest.FindAllString(span, -1) {
				if !tests[name] {
					t.Errorf("%s names %s, which is not there", page, name)
				}
			}
		}
		for _, name := range namedIn.FindAllString(string(text), -1) {
			wantFile(t, page, filepath.Join("testdata/script", name))
		}
		for _, m := range pageLink.FindAllStringSubmatch(string(text), -1) {
			target := filepath.Join(filepath.Dir(page), m[1])
			wantFile(t, page, target)
			if m[2] != "" && !hasHeading(t, target, m[2]) {
				t.Errorf("%s leads to #%s of %s, which has no such heading", page, m[2], target)
			}
		}
	}
}

// hasHeading says whether a page has the heading that an anchor means.
func hasHeading(t *testing.T, page, anchor string) bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		slug := strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		if slug == anchor {
			return true
		}
	}
	return false
}

// README lists every page for users, and docs/dev/README.md every page for builders.
func TestReadmeListsEveryPage(t *testing.T) {
	tier.Rule(t)
	for _, page := range missingFrom(t, "README.md", "## Documentation", append(pagesIn(t, "docs"), "docs/dev/README.md")) {
		t.Errorf("README.md does not list %s", page)
	}
	for _, page := range missingFrom(t, "docs/dev/README.md", "", pagesIn(t, "docs/dev")) {
		if page != "docs/dev/README.md" {
			t.Errorf("docs/dev/README.md does not list %s", page)
		}
	}
	if missing := missingFrom(t, "README.md", "## Documentation", []string{"docs/nothing.md"}); len(missing) == 0 {
		t.Error("a page that is not listed is not found")
	}
}

// missingFrom returns the pages that a list, below a heading, has no link to.
func missingFrom(t *testing.T, list, below string, pages []string) (missing []string) {
	t.Helper()
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	_, links, _ := strings.Cut(string(text), below)
	for _, page := range pages {
		link, err := filepath.Rel(filepath.Dir(list), page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(links, "("+filepath.ToSlash(link)+")") {
			missing = append(missing, page)
		}
	}
	return missing
}

// pagesIn are the pages of a directory, without those below it.
func pagesIn(t *testing.T, directory string) []string {
	t.Helper()
	pages, err := filepath.Glob(directory + "/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	return pages
}

// mostOfPages is how much the pages for users may have together, in bytes: who
// looks something up reads a page, and a page that nobody cuts only grows.
const mostOfPages = 350_000

func TestPagesForUsersAreShort(t *testing.T) {
	tier.Rule(t)
	pages := pagesIn(t, "docs")
	if problem := tooLong(t, pages, mostOfPages); problem != "" {
		t.Error(problem)
	}
	if tooLong(t, pages, 100_000) == "" {
		t.Error("a smaller limit holds as well")
	}
}

// tooLong says by how much files exceed a limit together, "" if they do not.
func tooLong(t *testing.T, files []string, most int) string {
	t.Helper()
	all := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all += len(text)
	}
	if all <= most {
		return ""
	}
	return fmt.Sprintf("%d pages have %d bytes, %d too many: shorten one, or move what is for builders to docs/dev", len(files), all, all-most)
}

// diary is what tells how the program came to be, where a page for users says
// what it does.
var diary = regexp.MustCompile(`(?i)nobody had (?:read|seen|looked)|held[ -]back (?:set|question|session|first|second|last)|\bthe goal was\b|\bsecond reader|\bwhen (?:this was )?measured\b|\b(?:before|after|of|for) commit [0-9a-f]{7,}|\btoday\b|\bthe (?:previous|later|earlier) (?:program|version) (?:took|takes|needed)`)

func TestPagesForUsersTellNoDiary(t *testing.T) {
	tier.Rule(t)
	for _, page := range append(pagesIn(t, "docs"), "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range diary.FindAllString(string(text), -1) {
			t.Errorf("%s has %q: say what holds, without how it was found", page, words)
		}
	}
	for _, sentence := range []string{"sessions that nobody had read", "Two sets were held back first.", "The goal was 10 s.", "the 20.0 s of commit e6a975b9", "As it is today,"} {
		if !diary.MatchString(sentence) {
			t.Errorf("%q passes", sentence)
		}
	}
}

func wantFile(t *testing.T, page, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("%s names %s: %v", page, path, err)
	}
}

func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testHeader.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
