package secrets

import (
	_ "embed"
	"strconv"
	"strings"
)

// publishedVersion is the version of Gitleaks that the table is made of.
const publishedVersion = "v8.30.1"

// publishedTable has a line for each of the rules of Gitleaks, without those that this
// package reads by itself. Command gen writes it.
//
//go:embed published.txt
var publishedTable string

// publishedShapes are the shapes of the table.
func publishedShapes() (all []shape) {
	for line := range strings.Lines(publishedTable) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 6)
		entropy, _ := strconv.ParseFloat(f[3], 64) // gen has written a number, and a test looks
		group, _ := strconv.Atoi(f[4])
		all = append(all, shape{name: f[0], keywords: strings.Fields(f[1]), around: f[2] == "around", entropy: entropy, group: group, expression: f[5]})
	}
	return all
}
