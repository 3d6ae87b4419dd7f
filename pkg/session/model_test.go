package session_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
	"pgregory.net/rapid"
)

func TestSafeID(t *testing.T) {
	pattern := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	check := func(t fataler, id string) {
		if got := session.SafeID(id); got != pattern.MatchString(id) {
			t.Fatal(id, got)
		}
		clean := session.CleanID(id)
		if !pattern.MatchString(clean) {
			t.Fatal(id, "became", clean)
		}
		if session.SafeID(id) != (clean == id) {
			t.Fatal(id, "became", clean)
		}
	}
	for _, id := range []string{"", "a", "-a", ".", "..", "a/b", `a\b`, "a b", "a\x00", "é", "aé", "a\xff", "[", "`", "{", "@", "/", ":",
		strings.Repeat("a", 128), strings.Repeat("a", 129), "../../etc/passwd", "\n", "a\n", "11111111-1111-4111-8111-111111110001"} {
		check(t, id)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.String().Draw(t, "id")) })
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.StringMatching(`[ -~]{0,200}`).Draw(t, "id")) })
}

// An agent's name may be in any script; it is one visible part of a path.
func TestSafeAgent(t *testing.T) {
	for _, name := range []string{"a", "Zoë-🦞-研究", "Zoe\u0308", "агент_2", "👩‍👩‍👧‍👦", "❤️", "المساعد", "हिन्दी"} {
		if !session.SafeAgent(name) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, name := range []string{"", ".", "..", "ë/b", `ë\b`, "-ë", ".ë", "_ë", "ë b", "ë\u00a0b", "ë\u3000b", "ë\u202eb", "ë\u200bb", "\u200dë", "ë\x00", "ë\n",
		"ë\u0085", "ë\xff", "\ufeffë", "ë:b", "ë*", strings.Repeat("ë", 65), "\ue000"} {
		if session.SafeAgent(name) {
			t.Errorf("%q is accepted", name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		if session.SafeID(name) && !session.SafeAgent(name) {
			t.Fatalf("%q is an id and no agent", name)
		}
		if session.SafeAgent(name) && (strings.ContainsAny(name, "/\\:*?\"<>|\x00") || name == ".." || !utf8.ValidString(name)) {
			t.Fatalf("%q is accepted", name)
		}
	})
}

// Different names keep different ids.
func TestCleanIDTellsNamesApart(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"", "a b", "a_b", "a/b", "-a", "a", "--a--", "é", "è", strings.Repeat("x", 200), strings.Repeat("x", 201)} {
		id := session.CleanID(name)
		if other, ok := seen[id]; ok {
			t.Errorf("%q and %q are both %q", name, other, id)
		}
		seen[id] = name
	}
}

func TestNewID(t *testing.T) {
	pattern := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for range 100 {
		id := session.NewID()
		if !pattern.MatchString(id) || seen[id] {
			t.Fatal(id)
		}
		seen[id] = true
	}
}
