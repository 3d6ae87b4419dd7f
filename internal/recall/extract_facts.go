package recall

import (
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/pkg/facts"
)

// KindNames are the kinds of facts.
func KindNames() string {
	var names []string
	for _, k := range facts.Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// CheckKind refuses a kind of facts that there is none of.
func CheckKind(kind string) error {
	if kind != "" && !slices.Contains(facts.Kinds(), facts.Kind(kind)) {
		return failure.Usage("kinds: "+KindNames(), "unknown kind of facts %q", kind)
	}
	return nil
}

func timeOf(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
