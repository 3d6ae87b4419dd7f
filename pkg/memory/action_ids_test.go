package memory_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

// The same actions get the ids that memories have of them: a log that is
// remembered again must find its own.
func TestActionIDsStay(t *testing.T) {
	ids := memory.NewActionIDs("a", "s1")
	var got []string
	for range 3 {
		got = append(got, ids.Next(command("make test"), 7))
	}
	got = append(got, ids.Next(command("make test"), 8), ids.Next(file("edit", "/w/all.go"), 0))
	want := []string{
		"43907cfc55e3fb4ac82b0d5b017c0c4e",
		"df180509b54d33991c01a2aa8d621ab6",
		"8a5c7c73d364a5118de865c31cc72c5e",
		"aeb0848f25fd1ec75590774d79c01421",
		"dc2e10f46f652956b70e4b003e5bdccb",
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%q", got)
	}
}

// What is held of an action does not depend on how long its texts are.
func TestActionIDsHoldNoTexts(t *testing.T) {
	const actions, most = 20_000, 120 // bytes each
	ids := memory.NewActionIDs("a", "s1")
	before := heap()
	for i := range actions {
		ids.Next(command(fmt.Sprintf("%d %s", i, strings.Repeat("x", 500))), int64(i))
	}
	if held := (heap() - before) / actions; held > most {
		t.Errorf("%d bytes an action, at most %d", held, most)
	}
	runtime.KeepAlive(ids)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
