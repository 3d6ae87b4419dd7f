package schedule

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrInterval is wrapped by the error about an interval that cron cannot do.
var ErrInterval = errors.New("cron cannot do that")

// CronIntervals says which intervals cron can do, for hints.
const CronIntervals = "cron can do 1, 2, 3, 4, 5, 6, 10, 12, 15, 20 and 30 minutes, 1, 2, 3, 4, 6, 8 and 12 hours, and 1 day"

// cronFields are the five fields of a line.
func (j Job) cronFields() (string, error) {
	if j.When.Every > 0 {
		return cronInterval(j.When.Every, j.spread())
	}
	c, err := parseCalendar(j.When.Calendar)
	if err != nil {
		return "", err
	}
	fields := [][]int{c.minutes, c.hours, c.days, c.months, c.weekdays}
	texts := make([]string, len(fields))
	for i, values := range fields {
		texts[i] = cronField(values)
	}
	return strings.Join(texts, " "), nil
}

func cronField(values []int) string {
	if len(values) == 0 {
		return "*"
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = strconv.Itoa(v)
	}
	return strings.Join(texts, ",")
}

// cronInterval writes an interval. What runs less often than every hour does so
// at minute and hour of the spread, so that not all machines do at once.
func cronInterval(every time.Duration, spread int) (string, error) {
	minutes := int(every / time.Minute)
	switch {
	case every%time.Minute != 0 || minutes == 0:
	case minutes == 1:
		return "* * * * *", nil
	case minutes < 60 && 60%minutes == 0:
		return fmt.Sprintf("*/%d * * * *", minutes), nil
	case minutes == 60:
		return fmt.Sprintf("%d * * * *", spread%60), nil
	case minutes%60 == 0 && minutes < 24*60 && 24%(minutes/60) == 0:
		return fmt.Sprintf("%d */%d * * *", spread%60, minutes/60), nil
	case minutes == 24*60:
		return fmt.Sprintf("%d %d * * *", spread%60, spread/60%24), nil
	}
	return "", fmt.Errorf("every %s: %w", span(every), ErrInterval)
}

// spread is a number that is the same for a job of an account and its program,
// and most likely another for others.
func (j Job) spread() (n int) {
	for _, b := range []byte(j.Name() + j.Account.Name + strings.Join(j.Arguments, " ")) {
		n = (n*31 + int(b)) % 1440
	}
	return n
}

// cronCommand is the command as a crontab has it: for the shell, with the
// percent signs that cron would take for the ends of lines.
func (j Job) cronCommand() string {
	quoted := make([]string, 0, len(j.Arguments)+1)
	for _, text := range append([]string{j.Program}, j.Arguments...) {
		quoted = append(quoted, ShellWord(text))
	}
	command := strings.Join(quoted, " ")
	if len(j.Environment) > 0 {
		var set []string
		for _, v := range j.Environment {
			name, value, _ := strings.Cut(v, "=")
			set = append(set, name+"="+ShellWord(value))
		}
		command = strings.Join(set, " ") + " " + command
	}
	return strings.ReplaceAll(command, "%", `\%`)
}

// ShellWord quotes a text for sh where it needs that.
func ShellWord(text string) string {
	plain := text != "" && strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/._-+:,@", r)
	}) < 0
	if plain {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ends of the part of a crontab that is ours.
const (
	cronBegin = "# BEGIN "
	cronEnd   = "# END "
)

// CronLines are the lines for the crontab of the account.
func (j Job) CronLines() (string, error) {
	fields, err := j.cronFields()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s%s\n%s %s\n%s%s\n", cronBegin, j.marker(), fields, j.cronCommand(), cronEnd, j.marker()), nil
}

// cronFile is the job of the system as a file of /etc/cron.d.
func (j Job) cronFile(dir string) (File, error) {
	fields, err := j.cronFields()
	if err != nil {
		return File{}, err
	}
	text := fmt.Sprintf("# %s\nSHELL=/bin/sh\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n%s %s %s\n", j.marker(), fields, j.Account.Name, j.cronCommand())
	return File{filepath.Join(dir, strings.ReplaceAll(j.Name(), ".", "_")), text}, nil
}

// withLines returns a crontab with the lines of a job in the place of those that
// it has for it, or at its end.
func withLines(crontab, mark, lines string) (string, error) {
	before, _, after, found, err := cutLines(crontab, mark)
	switch {
	case err != nil:
		return "", err
	case found:
		return before + lines + after, nil
	case crontab != "" && !strings.HasSuffix(crontab, "\n"):
		return crontab + "\n" + lines, nil
	}
	return crontab + lines, nil
}

// cutLines finds the lines of a job in a crontab.
func cutLines(crontab, mark string) (before, own, after string, found bool, err error) {
	lines := strings.SplitAfter(crontab, "\n")
	is := func(kind string) func(string) bool {
		return func(line string) bool { return strings.TrimRight(line, "\r\n") == kind+mark }
	}
	first := slices.IndexFunc(lines, is(cronBegin))
	if first < 0 {
		return crontab, "", "", false, nil
	}
	length := slices.IndexFunc(lines[first:], is(cronEnd))
	if length < 0 {
		return "", "", "", false, fmt.Errorf("the crontab has %q and no line %q behind it: put that in, or take the lines out by hand (crontab -e)", cronBegin+mark, cronEnd+mark)
	}
	last := first + length + 1
	join := func(part []string) string { return strings.Join(part, "") }
	return join(lines[:first]), join(lines[first:last]), join(lines[last:]), true, nil
}
