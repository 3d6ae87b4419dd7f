package schedule

import (
	"encoding/xml"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// labelPrefix begins the labels of the jobs of launchd.
const labelPrefix = "com.github.sessctl."

func (j Job) label() string { return labelPrefix + strings.TrimPrefix(j.Name(), namePrefix) }

// mostIntervals bounds how many times of the calendar a property list has.
const mostIntervals = 366

// PropertyList is the job as launchd has it, in a directory of property lists.
func (j Job) PropertyList(dir string) (File, error) {
	var b strings.Builder
	b.WriteString(xml.Header)
	b.WriteString("<!-- " + strings.ReplaceAll(j.marker(), "--", "- -") + " -->\n")
	b.WriteString(`<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n")
	b.WriteString("<plist version=\"1.0\">\n<dict>\n")
	p := plistWriter{&b}
	p.text("Label", j.label())
	p.list("ProgramArguments", append([]string{j.Program}, j.Arguments...))
	if variables := j.launchdVariables(); len(variables) > 0 {
		p.dictionary("EnvironmentVariables", variables)
	}
	if j.System {
		p.text("UserName", j.Account.Name)
	}
	if err := j.launchdTimes(p); err != nil {
		return File{}, err
	}
	p.text("ProcessType", "Background")
	p.flag("LowPriorityIO")
	p.number("Nice", niceness)
	p.number("Umask", 0o077)
	if j.Log != "" {
		p.text("StandardOutPath", j.Log)
		p.text("StandardErrorPath", j.Log)
	}
	b.WriteString("</dict>\n</plist>\n")
	return File{filepath.Join(dir, j.label()+".plist"), b.String()}, nil
}

// launchdVariables are the variables of the job; launchd gives a job of the system
// no home directory.
func (j Job) launchdVariables() []string {
	named := slices.ContainsFunc(j.Environment, func(v string) bool { return strings.HasPrefix(v, "HOME=") })
	if !j.System || j.Account.Home == "" || named {
		return j.Environment
	}
	return append([]string{"HOME=" + j.Account.Home}, j.Environment...)
}

func (j Job) launchdTimes(p plistWriter) error {
	if j.When.Every > 0 {
		p.number("StartInterval", int(j.When.Every/time.Second))
		return nil
	}
	c, err := parseCalendar(j.When.Calendar)
	if err != nil {
		return err
	}
	all := []string{""}
	for _, field := range []struct {
		name   string
		values []int
	}{{"Minute", c.minutes}, {"Hour", c.hours}, {"Day", c.days}, {"Month", c.months}, {"Weekday", c.weekdays}} {
		if len(field.values) == 0 {
			continue
		}
		var longer []string
		for _, entry := range all {
			for _, v := range field.values {
				longer = append(longer, entry+fmt.Sprintf("\t\t\t<key>%s</key>\n\t\t\t<integer>%d</integer>\n", field.name, v))
			}
		}
		if all = longer; len(all) > mostIntervals {
			return fmt.Errorf("%q means %d times, more than launchd is given: %w", j.When.Calendar, len(all), ErrCalendar)
		}
	}
	p.key("StartCalendarInterval")
	p.b.WriteString("\t<array>\n")
	for _, entry := range all {
		p.b.WriteString("\t\t<dict>\n" + entry + "\t\t</dict>\n")
	}
	p.b.WriteString("\t</array>\n")
	return nil
}

// plistWriter writes entries of the outer dictionary.
type plistWriter struct{ b *strings.Builder }

func (p plistWriter) key(name string) { fmt.Fprintf(p.b, "\t<key>%s</key>\n", xmlText(name)) }

func (p plistWriter) text(name, value string) {
	p.key(name)
	fmt.Fprintf(p.b, "\t<string>%s</string>\n", xmlText(value))
}

func (p plistWriter) number(name string, value int) {
	p.key(name)
	fmt.Fprintf(p.b, "\t<integer>%d</integer>\n", value)
}

func (p plistWriter) flag(name string) {
	p.key(name)
	p.b.WriteString("\t<true/>\n")
}

func (p plistWriter) list(name string, values []string) {
	p.key(name)
	p.b.WriteString("\t<array>\n")
	for _, v := range values {
		fmt.Fprintf(p.b, "\t\t<string>%s</string>\n", xmlText(v))
	}
	p.b.WriteString("\t</array>\n")
}

func (p plistWriter) dictionary(name string, variables []string) {
	p.key(name)
	p.b.WriteString("\t<dict>\n")
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		fmt.Fprintf(p.b, "\t\t<key>%s</key>\n\t\t<string>%s</string>\n", xmlText(name), xmlText(value))
	}
	p.b.WriteString("\t</dict>\n")
}

func xmlText(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder takes everything
	return b.String()
}
