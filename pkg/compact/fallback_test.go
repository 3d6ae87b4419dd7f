package compact_test

import (
	"os"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// systems are what there is on Linux, on macOS, and on a network file system.
var systems = map[string]durable.System{
	"everything": {}, "no leases": {NoLeases: true}, "nothing": {NoLeases: true, NoExchange: true, NoReplace: true},
}

// eachSystem tries something with every runtime on every system.
func eachSystem(t *testing.T, try func(t *testing.T, runtime string, system durable.System)) {
	for _, runtime := range bothRuntimes {
		for name, system := range systems {
			t.Run(runtime+", "+name, func(t *testing.T) { try(t, runtime, system) })
		}
	}
}

// With less of the system a session is rotated all the same, and the old log's
// inode is looked after for longer.
func TestOldLogIsKeptForAsLongAsSomebodyMayWriteIt(t *testing.T) {
	eachSystem(t, func(t *testing.T, runtime string, system durable.System) {
		g := newGround(t, runtime, system)
		if result := g.compact(g.live); result.Outcome != compact.Compacted {
			t.Fatalf("result %+v", result)
		}
		kept := g.kept()
		if g.read(g.live) != g.freshLog() || g.read(kept) != g.log || !g.archived(g.log) {
			t.Fatal("the log was not moved aside as it was")
		}
		g.settle(23 * time.Hour)
		if watched := len(g.unsettled()) == 1; watched != system.NoLeases {
			t.Fatalf("after 23 hours it is watched: %v", watched)
		}
		if system.NoLeases && g.read(kept) != g.log {
			t.Fatal("the old log is gone within the grace period")
		}
		g.settle(2 * time.Hour)
		if len(g.unsettled()) > 0 {
			t.Fatal("it is watched after the grace period")
		}
		if gone := g.read(kept) == "nothing"; gone != (runtime == session.RuntimePi) {
			t.Fatalf("the old log is gone: %v", gone)
		}
	})
}

// A program that has had the log open all the time: with leases it is noticed
// and the session is busy, without them what it writes later is archived and
// remembered as long as the grace period goes.
func TestHeldLog(t *testing.T) {
	eachSystem(t, func(t *testing.T, runtime string, system durable.System) {
		g := newGround(t, runtime, system)
		held, err := os.OpenFile(g.live, os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		defer held.Close()
		result := g.compact(g.live)
		if !system.NoLeases {
			if result.Outcome != compact.Busy || g.read(g.live) != g.log || len(g.unsettled()) > 0 {
				t.Fatalf("result %+v", result)
			}
			return
		}
		if result.Outcome != compact.Compacted {
			t.Fatalf("result %+v", result)
		}
		for n := range 3 {
			_, err := held.WriteString(said(n))
			must(t, err)
			g.log += said(n)
			g.settle(7 * time.Hour)
			if !g.archived(g.log) || !g.remembered("one more thing "+string(rune('0'+n))) || g.read(g.kept()) != g.log {
				t.Fatalf("late line %d is not in archive, memory and old log", n)
			}
		}
		// After the grace period, too, the last look comes before the old log goes.
		_, err = held.WriteString(said(9))
		must(t, err)
		g.log += said(9)
		g.settle(7 * time.Hour)
		if !g.archived(g.log) || !g.remembered("one more thing 9") {
			t.Fatal("the last late line is lost")
		}
	})
}

// Growth and rewriting are noticed without a lease as well: right before the
// change the log is compared with what was archived.
func TestChangedLogIsNoticedWithoutLeases(t *testing.T) {
	eachSystem(t, func(t *testing.T, runtime string, system durable.System) {
		g := newGround(t, runtime, system)
		g.mind.during = func() {
			g.mind.during = nil
			g.write(g.live, g.log[:len(g.log)-2]+"X\n", time.Hour)
			g.log = g.read(g.live)
		}
		if result := g.compact(g.live); result.Outcome != compact.Busy || g.read(g.live) != g.log || g.kept() != "" {
			t.Fatalf("result %+v", result)
		}
		g = newGround(t, runtime, system)
		g.mind.during = func() {
			g.mind.during = nil
			g.log += said(1)
			f, err := os.OpenFile(g.live, os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteString(said(1))
			must(t, err)
			must(t, f.Close())
			g.age(g.live, time.Hour)
		}
		if result := g.compact(g.live); result.Outcome != compact.Compacted || g.read(g.kept()) != g.log || result.Bytes != int64(len(g.log)) {
			t.Fatalf("result %+v", result)
		}
	})
}
