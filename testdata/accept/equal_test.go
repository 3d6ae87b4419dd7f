package main

import "testing"

func TestUnequal(t *testing.T) {
	said := func(kind, text string) piece { return piece{kind, "", "", text, 0} }
	a, b, result := said("user", "a"), said("assistant", "b"), piece{"result", "1", "", "r", 2}
	for _, test := range []struct {
		name, runtime  string
		replayed, sent []piece
		equal          bool
		excused        int
	}{
		{"the same", "pi", []piece{a, b}, []piece{said("system", "s"), a, said("assistant", "b\n")}, true, 1},
		{"order", "pi", []piece{a, b}, []piece{b, a}, false, 0},
		{"role", "pi", []piece{a, b}, []piece{a, said("user", "b")}, false, 0},
		{"count, more is sent", "pi", []piece{a}, []piece{a, a}, false, 0},
		{"count, less is sent", "pi", []piece{a, b}, []piece{a}, false, 0},
		{"text", "pi", []piece{a}, []piece{said("user", "ab")}, false, 0},
		{"a call", "pi", []piece{{"call", "1", "n", `{"a":1}`, 0}}, []piece{{"call", "2", "n", `{ "a": 1 }`, 0}}, true, 0},
		{"another call", "pi", []piece{{"call", "1", "n", `{"a":1}`, 0}}, []piece{{"call", "1", "n", `{"a":2}`, 0}}, false, 0},
		{"a reminder", "claude", []piece{a}, []piece{said("user", "<system-reminder>x</system-reminder>"), a}, true, 1},
		{"a reminder of nobody", "pi", []piece{a}, []piece{said("user", "<system-reminder>x</system-reminder>"), a}, false, 0},
		{"the time", "openclaw", []piece{a}, []piece{said("user", "[Mon 2026-11-30 18:23 UTC] a")}, true, 1},
		{"the time of nobody", "pi", []piece{a}, []piece{said("user", "[Mon 2026-11-30 18:23 UTC] a")}, false, 0},
		{"a result twice", "gemini", []piece{result}, []piece{result, result}, true, 1},
		{"a result twice", "codex", []piece{result}, []piece{result, {"result", "1", "", "r", 3}}, false, 0},
		{"two texts of one message", "codex", []piece{said("user", "a\nb")}, []piece{a, said("user", "b")}, true, 0},
	} {
		why, excused := unequal(test.runtime, test.replayed, test.sent)
		if (why == "") != test.equal || test.equal && len(excused) != test.excused {
			t.Errorf("%s: %q, %d excused", test.name, why, len(excused))
		}
	}
}

func TestTriedTable(t *testing.T) {
	got := triedTable("claude 2.1.330, pi 1.5.0 (not equal)\n", []tried{{"pi", "1.6.0", 0}, {"codex", "0.171.0", 2}})
	if want := "claude 2.1.330, codex 0.171.0 (not equal), pi 1.6.0\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
