package facts

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
)

func TestProbe(t *testing.T) {
	raw, err := os.ReadFile("/tmp/probe/in.txt")
	if err != nil {
		t.Skip()
	}
	for i, line := range strings.Split(string(raw), "\n") {
		if line == "" {
			continue
		}
		text := personal(line)
		all, _ := explicit([]Message{{Role: session.RoleUser, Text: text, Line: i + 1}})
		_, refused := explicit([]Message{{Role: session.RoleUser, Text: text, Line: i + 1}})
		fmt.Printf("%d %s\n", i+1, line)
		for _, f := range all {
			fmt.Printf("      => %-10s %.2f %s [%s]\n", f.Kind, f.Confidence, f.Text, f.Topic)
		}
		for _, r := range refused {
			fmt.Printf("      xx %s\n", r.Reason)
		}
	}
}
