// Command gen makes the table of the shapes of tokens that Gitleaks publishes (MIT):
//
//	go run ./pkg/secrets/gen VERSION > pkg/secrets/published.txt
//
// It fetches that version of the module, reads its configuration and writes the
// table; the version in published.go is changed by hand. Rules of shapes that the
// package reads itself, and those that only a path tells, are left out.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

const module = "github.com/zricethezav/gitleaks/v8"

// published is a rule as the configuration has it.
type published struct {
	ID       string   `toml:"id"`
	Regex    string   `toml:"regex"`
	Keywords []string `toml:"keywords"`
	Entropy  float64  `toml:"entropy"`
	Group    int      `toml:"secretGroup"`
	Path     string   `toml:"path"` // only in files of this name
}

// leftOut are rules whose shapes package secrets reads by itself, or that take
// ordinary text for secrets where it is no program's source.
func leftOut() []string {
	return []string{
		"generic-api-key", "private-key", "jwt", "curl-auth-header", "curl-auth-user", "kubernetes-secret-yaml", "pkcs12-file",
		"lob-api-key", "lob-pub-api-key",
		"twilio-api-key", "sourcegraph-access-token", "facebook-access-token", "freemius-secret-key", "sidekiq-sensitive-url",
	}
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 1 {
		return fmt.Errorf("go run ./pkg/secrets/gen VERSION")
	}
	rules, err := fetch(arguments[0])
	if err != nil {
		return err
	}
	fmt.Printf("# The rules of Gitleaks %s (MIT License, Copyright (c) 2019 Zachary Rice), without those that\n"+
		"# package secrets reads by itself. Made by go run ./pkg/secrets/gen; do not edit.\n"+
		"# name, keywords, where the expression is tried, entropy, group, expression\n", arguments[0])
	for _, r := range rules {
		line, err := r.shape()
		if err != nil {
			return fmt.Errorf("rule %s: %w", r.ID, err)
		}
		fmt.Println(line)
	}
	return nil
}

func fetch(version string) ([]published, error) {
	out, err := exec.Command("go", "mod", "download", "-json", module+"@"+version).Output()
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", module, err)
	}
	var fetched struct{ Dir string }
	if err := json.Unmarshal(out, &fetched); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(fetched.Dir, "config", "gitleaks.toml"))
	if err != nil {
		return nil, err
	}
	var config struct {
		Rules []published `toml:"rules"`
	}
	if err := toml.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(config.Rules, func(r published) bool {
		return r.Regex == "" || r.Path != "" || slices.Contains(leftOut(), r.ID)
	}), nil
}

var (
	// named begins the rules for a value that is assigned to a name of a service.
	named = regexp.MustCompile(`^(\(\?i\))?\[\\w\.-\]\{0,50\}\?(\(\?i:)?(\[\\w\.-\]\{0,50\}\?)?(.*?)(\(\?:\[ \\t\\w\.-\]\{0,20\}\).*)$`)
	// ended ends them: what may stand behind a token in a program. In prose it is
	// anything that cannot be a part of the token.
	ended = "(?:[\\x60'\"\\s;]|\\\\[nr]|$)"
	// digits are what a keyword of two letters is looked for behind.
	digits = "0123456789"
)

// shape writes a rule as a line of the table: the expression is tried where a keyword
// stands, or around it.
func (r published) shape() (string, error) {
	expression, at := r.Regex, true
	if m := named.FindStringSubmatch(expression); m != nil {
		expression = m[1] + m[2] + m[4] + m[5]
		names, err := regexp.Compile("^" + m[1] + "(?i:" + m[4] + ")")
		if err != nil {
			return "", err
		}
		for _, k := range r.Keywords {
			at = at && names.MatchString(k)
		}
	} else {
		at = r.startsWithKeyword()
	}
	expression = strings.ReplaceAll(expression, ended, `(?:[^A-Za-z0-9_]|$)`)
	if _, err := regexp.Compile(expression); err != nil {
		return "", err
	}
	var keywords []string
	for _, k := range r.Keywords {
		switch {
		case len(r.Keywords) > 1 && (k == "live_" || k == "intra"): // in every other line of a program
		case len(k) >= 3:
			keywords = append(keywords, k)
		case k == "q~":
			for _, d := range digits {
				keywords = append(keywords, string(d)+k)
			}
		case len(r.Keywords) == 1:
			return "", fmt.Errorf("the keyword %q is too short", k)
		}
	}
	where := "around"
	if at {
		where = "at"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%g\t%d\t%s", r.ID, strings.Join(keywords, " "), where, r.Entropy, r.Group, expression), nil
}

// startsWithKeyword reports whether whatever the expression finds begins with one of
// the keywords.
func (r published) startsWithKeyword() bool {
	bare := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(r.Regex, "(?i)"), `\b`), "(")
	bare = strings.ToLower(strings.ReplaceAll(bare, `\.`, "."))
	return slices.ContainsFunc(r.Keywords, func(k string) bool { return strings.HasPrefix(bare, k) }) || alternatives(bare, r.Keywords)
}

// alternatives reports whether an expression begins with a choice of the keywords.
func alternatives(bare string, keywords []string) bool {
	rest, ok := strings.CutPrefix(bare, "(?:")
	if !ok {
		return false
	}
	choice, _, ok := strings.Cut(rest, ")")
	if !ok {
		return false
	}
	return !slices.ContainsFunc(strings.Split(choice, "|"), func(c string) bool {
		return !slices.ContainsFunc(keywords, func(k string) bool { return strings.HasPrefix(k, c) })
	})
}
