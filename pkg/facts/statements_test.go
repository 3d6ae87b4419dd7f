package facts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/facts"
)

// The form of what a person says in few words tells what lasts, whatever the
// words are; what is to be done once, reports and talk do not last.
func TestStatements(t *testing.T) {
	for name, tt := range map[string]struct {
		before, said string
		kind         facts.Kind
		has          string
	}{
		"what is forbidden":     {"Done.", "don't vacuum the table on weekdays", facts.Preference, "vacuum"},
		"never, with no verb":   {"Done.", "measurements are made on the bench, never on a laptop", facts.Preference, "laptop"},
		"what is declined":      {"Docker or a unit?", "no docker, nobody here knows it", facts.Decision, "docker"},
		"a condition":           {"Done.", "nothing goes live without my sign-off", facts.Preference, "sign-off"},
		"a bound":               {"Done.", "max 3 retries for the importer", facts.Preference, "max 3"},
		"the other of two":      {"Use pandas, or replace it by polars?", "polars. pandas has to go anyway", facts.Decision, "polars"},
		"another value":         {"The job runs at 03:15.", "make it 4:30", facts.Decision, "03:15"},
		"a value alone":         {"What limit would you like?", "300 per minute", facts.Decision, "300"},
		"one and not the other": {"I'd take large.", "xlarge not large", facts.Decision, "xlarge"},
		"what stays":            {"Shall I rename both?", "the column kwh_in stays, billing reads it", facts.Decision, "kwh_in"},
		"a place":               {"Where is it?", "the samples are under /mnt/metering/samples", facts.Environment, "/mnt/metering"},
		"an address":            {"ok", "wiki is wiki.acme.example/templates", facts.Environment, "wiki.acme.example"},
		"who does it":           {"Who deploys?", "Ingrid has the login for that", facts.Contact, "Ingrid"},
		"a day":                 {"ok", "old machine is cancelled for the end of October", facts.Deadline, "October"},
		"not without asking":    {"ok", "don't reboot the router ever without asking", facts.Preference, "reboot"},

		"a value of a thing":     {"Done.", "retention: 5 years", facts.Decision, "5 years"},
		"what is taken up":       {"GEV fits better. Or Gumbel, which others publish.", "comparability matters. Gumbel", facts.Decision, "Gumbel"},
		"who somebody is":        {"Done.", "our treasurer Olumide should be able to follow", facts.Contact, "Olumide"},
		"who it is, in brackets": {"Done.", "the illustrator (Nekane) has it as svg", facts.Contact, "Nekane"},
		"a name for it":          {"Done.", "call it \"urenafronding per dag\"", facts.Decision, "urenafronding"},
		"the reason comes after": {"Done.", "please never switch the relay without telling me first, there is no drain yet", facts.Preference, "relay"},

		"a value that was measured": {"Done.", "2h screen off, no loss", "", ""},
		"values of others":          {"Done.", "1,150 Transportes Silva, 980 the other", "", ""},
		"a step":                    {"Ok", "Step 2", "", ""},
		"a task with a number":      {"It is 19 degrees.", "Summarise ticket 7209", "", ""},
		"what there is":             {"Do you have a spare?", "no spare", "", ""},
		"what somebody is":          {"Done.", "I'm a retired baker, not an accountant", "", ""},
		"a day that is free":        {"Done.", "7 nov doesn't work, the studio is booked", "", ""},
		"every week":                {"Done.", "the market is there on saturdays from nine", "", ""},
		"once a week":               {"Done.", "compare these ids once per week on Sunday, we know anyway", "", ""},
		"a reason, no day":          {"Done.", "they live within 10 miles because of the Saturday", "", ""},
		"up to now":                 {"Done.", "now backfill 8 sep till today", "", ""},
		"what happened, in Spanish": {"Listo.", "Se murió nuestra tía Pilar el 14 de enero en Zaragoza", "", ""},
		"since when, and how many":  {"Since when does yours exist, and how many people work there?", "since 2016, 9 people", "", ""},
		"an end to it":              {"On main it has failed in 5 of the last 20 runs, since the runners went to Windows Server 2025.", "known then", "", ""},
		"once a month, by a day":    {"Done.", "every month the report is due by the 5th", facts.Deadline, "5th"},
		"rows of data":              {"Done.", "everything before 12 January is pretest", "", ""},
		"a doubt about one":         {"Take docker, or a unit.", "docker hmm", "", ""},

		"what it is after all":    {"Postgres or SQLite?", "I thought of files, so sqlite it is, for now and later", facts.Decision, "sqlite"},
		"kept for others":         {"Done.", "leave the old names, the dashboards hang on them", facts.Preference, "dashboards"},
		"a wished version":        {"Done.", "I want it on Rails 7.2 this year", facts.Decision, "7.2"},
		"a mailbox of a machine":  {"Done.", "they land in the mailbox buoys@marin.example", facts.Environment, "buoys"},
		"it must not":             {"Done.", "but it must not send anything to the pagers", facts.Preference, "pagers"},
		"what there is, asked":    {"What's its address?", "port 502", facts.Environment, "502"},
		"a person's whereabouts":  {"Done.", "She is available only in the forenoon", "", ""},
		"told to somebody":        {"Done.", "make it so and I'll tell Tore", "", ""},
		"an opinion of others":    {"Done.", "my cousin says the pipes should be plastic, not copper", "", ""},
		"a flow":                  {"Done.", "fb, google -> snowflake", "", ""},
		"trouble":                 {"Done.", "queue orders.in is at 300k and growing", "", ""},
		"a rest that is kept":     {"Done.", "cut two of those, keep the one from the kid", "", ""},
		"taken back at once":      {"Required or preferred?", "well. preferred... no. I ask again", "", ""},
		"days of a rule":          {"Done.", "nobody works there, monday to wednesday", "", ""},
		"an invitation to go on":  {"Next?", "the weekly plot is made by an old script", "", ""},
		"numbers that were named": {"22 are open.", "put the 22 in my list too", "", ""},

		"of a topic":            {"Done.", "binaries: static for linux, both machines", facts.Decision, "static"},
		"what follows":          {"A coach, or two vans?", "So the coach with the trailer", facts.Decision, "trailer"},
		"what nobody does":      {"Done.", "Nobody copies anything, it belongs to the choir", facts.Preference, "copies"},
		"nobody but":            {"Done.", "Nobody outside may see the sources", facts.Preference, "outside"},
		"hours of a rule":       {"Done.", "changes on edge only 22-05 UTC", facts.Preference, "22-05"},
		"from now on":           {"Done.", "restore test from now on every quarter", facts.Preference, "quarter"},
		"a machine":             {"Where is it?", "it runs on the pi4 in the cupboard", facts.Environment, "pi4"},
		"a number of a policy":  {"Done.", "our cover is with Allegro, number ALG-5512-20", facts.Environment, "ALG-5512-20"},
		"people, by their work": {"Done.", "Our person over there is Maëlle Le Goff, she does everything", facts.Contact, "Maëlle"},

		"you do not":                 {"Done.", "look around but you don't restart the router in the evening", facts.Preference, "router"},
		"only when":                  {"Done.", "Keys only after the deposit is there, one never knows", facts.Preference, "deposit"},
		"nothing about":              {"Done.", "And nothing about money or health goes into the minutes", facts.Preference, "minutes"},
		"a limit":                    {"Done.", "3 % is the limit for the whole suite", facts.Preference, "3 %"},
		"a file of data":             {"Where is it?", "the readings are in raw/ and the list is wells.csv", facts.Environment, "wells.csv"},
		"a mail address, not from a": {"Done.", "payroll is Osborne & Teal, help@teal.example, ticket from me today", facts.Contact, "teal.example"},
		"a document":                 {"Done.", "quotes are quote_a.pdf and quote_b.pdf", "", ""},
		"what happens only when":     {"Done.", "Some ferries sail only when somebody calls before", "", ""},
		"what somebody never does":   {"Done.", "You never shy away from a challenge", "", ""},
		"what somebody knows":        {"Done.", "He knows the house and was decent about it", "", ""},

		"a report of a topic":   {"Done.", "title screen: I drew it yesterday", "", ""},
		"a question of a topic": {"Done.", "hole in the data: what do we do with it", "", ""},
		"two of something":      {"Done.", "caterer: two offers", "", ""},
		"what nobody did":       {"Done.", "nobody writes 20,000 brackets", "", ""},
		"what fell on a day":    {"Done.", "my father fell in the kitchen on the 12th, hip", "", ""},
		"what others have":      {"Done.", "they have evenings only", "", ""},
		"a thing that does not": {"Done.", "Fahrenheit does not occur there", "", ""},
		"what is missing":       {"Done.", "it's Friday and no certificate", "", ""},
		"said by others":        {"Done.", `a neighbour mailed: "your map must not show single houses"`, "", ""},
		"part of a remark":      {"RPL-gm61c-3", "vendor text removed: 3046 chars]", "", ""},
		"in another language":   {"Done.", "In Dutch it is diseases", "", ""},

		"a task":           {"Done.", "rename the class in 3 files", "", ""},
		"a go-ahead":       {"Shall I?", "yes do that", "", ""},
		"a report":         {"Done.", "I restarted it and it failed again", "", ""},
		"a day that was":   {"ok", "it broke last Friday after the update", "", ""},
		"a question":       {"ok", "can you keep the old one", "", ""},
		"talk":             {"ok", "keep up the good work", "", ""},
		"for now":          {"ok", "don't change anything yet", "", ""},
		"without a pause":  {"ok", "don't hesitate to wipe the disks without asking", "", ""},
		"a pasted path":    {"ok", "'/tmp/Screenshot 2026-11-21 at 01.27.21.png'", "", ""},
		"what nobody asks": {"I looked at `a.go`, or rather at its tests.", "so it crashes there when I press return", "", ""},
	} {
		found, _ := facts.Offline(conversation(t, "let us begin", tt.before, tt.said), facts.DefaultConfidence)
		if tt.kind != "" { // what no rule takes is tested in likely_test.go
			found = slices.DeleteFunc(found, func(f facts.Fact) bool { return f.Rule == facts.RuleLikely })
		}
		switch {
		case tt.kind == "" && len(found) > 0:
			t.Errorf("%s: %s %q", name, found[0].Kind, found[0].Text)
		case tt.kind != "" && (len(found) != 1 || found[0].Kind != tt.kind || !strings.Contains(found[0].Text, tt.has) || found[0].Line != 3):
			t.Errorf("%s: %+v", name, found)
		}
	}
}
