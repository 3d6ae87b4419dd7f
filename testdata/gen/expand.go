package main

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// expander replaces {{name arguments}} in what a command printed by output of
// that kind. Names that it does not know stay as they are.
type expander struct {
	random *rand.Rand
	now    *time.Time
}

var placeholder = regexp.MustCompile(`\{\{([a-z0-9]+)((?: [^{}]*)?)\}\}`)

func (e *expander) text(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(found string) string {
		m := placeholder.FindStringSubmatch(found)
		make := e.kinds()[m[1]]
		if make == nil {
			return found
		}
		return strings.TrimRight(make(strings.Fields(m[2])), "\n")
	})
}

func (e *expander) kinds() map[string]func([]string) string {
	return map[string]func([]string) string{
		"gotest":  e.goTest,
		"git":     e.gitLog,
		"log":     e.appLog,
		"journal": e.journal,
		"ls":      e.list,
		"csv":     e.inventory,
		"items":   e.items,
		"members": e.members,
		"rota":    e.rota,
		"plan":    e.plan,
		"code":    goCode,
		"base64":  e.base64,
	}
}

// number reads the argument i, 5 if there is none.
func number(args []string, i int) int {
	if i < len(args) {
		if n, err := strconv.Atoi(args[i]); err == nil {
			return n
		}
	}
	return 5
}

func (e *expander) pick(pool []string) string { return pool[e.random.IntN(len(pool))] }

// rows joins n lines.
func rows(n int, line func(i int) string) string {
	var out strings.Builder
	for i := range n {
		out.WriteString(line(i))
		out.WriteByte('\n')
	}
	return out.String()
}

func (e *expander) goTest(args []string) string {
	var out strings.Builder
	for _, arg := range args {
		name, tests, _ := strings.Cut(arg, ":")
		n, _ := strconv.Atoi(tests)
		for range min(n, 12) {
			fmt.Fprintf(&out, "--- PASS: Test%s%s (%.2fs)\n", e.pick(testSubjects), e.pick(testVerbs), e.random.Float64()/3)
		}
		fmt.Fprintf(&out, "PASS (%d tests)\nok  \ttoolshed/internal/%s\t%.3fs\n", n, name, 0.05+e.random.Float64()*3)
	}
	return out.String()
}

func (e *expander) gitLog(args []string) string {
	return rows(number(args, 0), func(int) string {
		return fmt.Sprintf("%07x %s %s", e.random.Uint32()>>4, e.pick(commitVerbs), e.pick(commitSubjects))
	})
}

// appLog is the log of a service in the minutes before now.
func (e *expander) appLog(args []string) string {
	service, n := "app", number(args, 1)
	if len(args) > 0 {
		service = args[0]
	}
	at := e.now.Add(-time.Duration(n*40) * time.Second)
	return rows(n, func(int) string {
		at = at.Add(time.Duration(5+e.random.IntN(60)) * time.Second)
		return fmt.Sprintf("%s %s[%d] %s", at.UTC().Format("2006-01-02T15:04:05"), service, 800+e.random.IntN(3000), e.event(service))
	})
}

// event is what a service logs.
func (e *expander) event(service string) string {
	n, ms := 1+e.random.IntN(411), 3+e.random.IntN(280)
	switch service {
	case "photo":
		return fmt.Sprintf("IMG_%04d.heic 8064x6048 -> 1600x1200 in %d ms", 4400+n, 1000+5*ms)
	case "deploy":
		return fmt.Sprintf("step %d: %s (%d ms)", 1+e.random.IntN(9), e.pick(deploySteps), 10*ms)
	case "pgloader":
		return fmt.Sprintf("table %s: %d rows read, 0 errors, %d ms", e.pick(shopTables), n, ms)
	case "orders", "stock":
		return fmt.Sprintf("%s /v1/orders/%d %d %dms ua=%s", e.pick(requestMethods), 881000+n, []int{200, 201, 409}[e.random.IntN(3)], ms, e.pick(userAgents))
	}
	return fmt.Sprintf("%s %s %d %dms %s", e.pick(requestMethods), fmt.Sprintf(e.pick(requestPaths), n), 200+e.random.IntN(2)*4, ms, e.member())
}

func (e *expander) member() string { return fmt.Sprintf("M-%d", 1001+e.random.IntN(186)) }

func (e *expander) journal(args []string) string {
	unit := args[0]
	at := e.now.Add(-10 * time.Minute)
	return rows(number(args, 1), func(int) string {
		at = at.Add(time.Duration(1+e.random.IntN(90)) * time.Second)
		return fmt.Sprintf("%s shed %s[%d]: %s", at.Format("Jan 02 15:04:05"), unit, 600+e.random.IntN(900), e.pick(journalLines))
	})
}

func (e *expander) list(args []string) string {
	return fmt.Sprintf("total %d\n", len(args)*4) + rows(len(args), func(i int) string {
		return fmt.Sprintf("drwxr-x--- %2d shed shed 4096 Mar  1 %02d:%02d %s", 2+e.random.IntN(7), 9+e.random.IntN(9), e.random.IntN(60), args[i])
	})
}

func (e *expander) inventory(args []string) string {
	return "Nr;Bezeichnung;Gruppe;Preis;gekauft;Regal\r\n" + rows(number(args, 0), func(i int) string {
		return fmt.Sprintf("%d;%s;%s;%d,-;%02d.%02d.%d;%c%d\r", i+1, e.pick(tools), e.pick(toolGroups), 9+e.random.IntN(500),
			1+e.random.IntN(28), 1+e.random.IntN(12), 2009+e.random.IntN(10), 'A'+rune(e.random.IntN(6)), 1+e.random.IntN(9))
	})
}

func (e *expander) items(args []string) string {
	return rows(number(args, 0), func(int) string {
		return fmt.Sprintf("TL-%04d  %-28s %-12s %6.2f EUR  shelf %c%d", 1+e.random.IntN(411), e.pick(tools), e.pick(toolGroups),
			9+e.random.Float64()*480, 'A'+rune(e.random.IntN(6)), 1+e.random.IntN(9))
	})
}

func (e *expander) members(args []string) string {
	return rows(number(args, 0), func(i int) string {
		first, last := e.pick(firstNames), e.pick(lastNames)
		return fmt.Sprintf("row %3d  %-24s %s.%s@post.example  %s", 3+i*17+e.random.IntN(15), first+" "+last, strings.ToLower(first), strings.ToLower(last), e.pick([]string{"de", "de", "de", "en", "pl", "ja"}))
	})
}

func (e *expander) rota(args []string) string {
	day := time.Date(2026, 4, 2, 0, 0, 0, 0, time.UTC)
	return rows(13, func(int) string {
		for day.Weekday() != time.Tuesday && day.Weekday() != time.Thursday && day.Weekday() != time.Saturday {
			day = day.AddDate(0, 0, 1)
		}
		line := fmt.Sprintf("%s  %-8s %s", day.Format("Mon 2 Jan"), e.pick(volunteers), e.pick(volunteers))
		day = day.AddDate(0, 0, 1)
		return line
	})
}

func (e *expander) plan(args []string) string {
	return rows(number(args, 0), func(i int) string {
		return fmt.Sprintf("%s->  %s on %s  (cost=%.2f..%.2f rows=%d width=%d) (actual time=%.1f..%.1f rows=%d loops=%d)", strings.Repeat(" ", i*2),
			e.pick(planNodes), e.pick(planTables), e.random.Float64()*9, 100+e.random.Float64()*90000, 1+e.random.IntN(40), 24+e.random.IntN(96),
			e.random.Float64()*3, e.random.Float64()*90000, e.random.IntN(50000), 1+e.random.IntN(41000))
	})
}

func (e *expander) base64(args []string) string {
	data := make([]byte, number(args, 0)*3/4)
	for i := range data {
		data[i] = byte(e.random.Uint32())
	}
	return base64.StdEncoding.EncodeToString(data)
}
