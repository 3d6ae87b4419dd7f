package main

import (
	"fmt"
	"strings"
	"time"
)

// morning is the round before the day's work: questions from members, and the
// state of the machine. asked counts the questions that were used up.
func (l *log) morning(day time.Time, asked *int) {
	l.moveTo(time.Date(day.Year(), day.Month(), day.Day(), 7, 5+l.random.IntN(20), l.random.IntN(60), 0, time.UTC))
	greetings := []string{"Good morning. Anything in the mail?", "Morning round please: mail and machine.", "Morning! What came in over night?", "What is new since yesterday?"}
	l.user(greetings[l.random.IntN(len(greetings))])
	q := questions[*asked%len(questions)]
	*asked++
	who := firstNames[l.random.IntN(len(firstNames))] + " " + lastNames[l.random.IntN(len(lastNames))]
	ticket := 300 + *asked*7 + l.random.IntN(5)
	snapshot := fmt.Sprintf("%08x", l.random.Uint32())
	minutes, seconds, changed := 1+l.random.IntN(3), l.random.IntN(60), 12+l.random.IntN(300)
	output := fmt.Sprintf("#%d from %s, %s\n  %s\n", ticket, who, l.now.Add(-9*time.Hour).Format("Jan 02 15:04"), q.asked)
	backup := fmt.Sprintf("snapshot %s saved, %d files changed, %d:%02d minutes\n{{journal backup 3}}\n%s", snapshot, changed, minutes, seconds, l.sensors())
	l.tell([]item{
		{kind: "agent", body: "One moment."},
		{kind: "exec", arg: "go run ./cmd/inbox list --since yesterday --with-log", body: output + "{{log app 14}}"},
		{kind: "exec", arg: "journalctl -u backup -n 4 --no-pager; vcgencmd measure_temp; df -h /srv | tail -n 1", body: backup},
		{kind: "agent", body: fmt.Sprintf("One question, #%d from %s: \"%s\" My draft: \"%s\" Backup %s took %d:%02d, %d files changed.", ticket, who, q.asked, q.answer, snapshot, minutes, seconds, changed)},
	})
	replies := []string{"Send it like that.", "Good answer, send.", "Yes, send. Shorter next time.", "OK.", "Send, with greetings from me."}
	l.user(replies[l.random.IntN(len(replies))])
	l.assistant([]object{block(fmt.Sprintf("Sent to %s (#%d closed).", strings.Fields(who)[0], ticket))}, false)
}

func (l *log) sensors() string {
	return fmt.Sprintf("temp=%d.%d'C\n/dev/nvme0n1p3  204G   %dG  %dG   %d%% /srv", 44+l.random.IntN(17), l.random.IntN(10), 9+l.random.IntN(4), 180+l.random.IntN(5), 5+l.random.IntN(2))
}
