package main

import (
	"fmt"
	"strings"
)

// goCode writes a Go file about one kind of thing: "Name field:type ...".
func goCode(args []string) string {
	name, fields := args[0], args[1:]
	var out strings.Builder
	receiver := strings.ToLower(name[:1])
	fmt.Fprintf(&out, "package %s\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n\t\"errors\"\n\t\"fmt\"\n\t\"time\"\n)\n\n", strings.ToLower(name))
	fmt.Fprintf(&out, "// ErrNo%[1]s is returned when there is no such %[2]s.\nvar ErrNo%[1]s = errors.New(\"no such %[2]s\")\n\n", name, strings.ToLower(name))
	fmt.Fprintf(&out, "// %s as it is stored.\ntype %s struct {\n", name, name)
	var columns, scans []string
	for _, f := range fields {
		column, kind, _ := strings.Cut(f, ":")
		columns = append(columns, column)
		scans = append(scans, "&"+receiver+"."+camel(column))
		fmt.Fprintf(&out, "\t%-12s %s\n", camel(column), kind)
	}
	out.WriteString("}\n\n")
	fmt.Fprintf(&out, "// Load reads one %s.\nfunc Load(ctx context.Context, db *sql.DB, key string) (%s, error) {\n\tvar %s %s\n", strings.ToLower(name), name, receiver, name)
	fmt.Fprintf(&out, "\trow := db.QueryRowContext(ctx, `SELECT %s FROM %ss WHERE %s = ?`, key)\n", strings.Join(columns, ", "), strings.ToLower(name), columns[0])
	fmt.Fprintf(&out, "\tswitch err := row.Scan(%s); {\n\tcase errors.Is(err, sql.ErrNoRows):\n\t\treturn %s{}, ErrNo%s\n\tcase err != nil:\n\t\treturn %s{}, fmt.Errorf(\"load %s: %%w\", err)\n\t}\n\treturn %s, nil\n}\n\n",
		strings.Join(scans, ", "), name, name, name, strings.ToLower(name), receiver)
	fmt.Fprintf(&out, "// Valid says why %s cannot be stored, or nil.\nfunc (%s %s) Valid(now time.Time) error {\n", strings.ToLower(name), receiver, name)
	for _, f := range fields {
		column, kind, _ := strings.Cut(f, ":")
		out.WriteString(check(receiver, column, kind))
	}
	out.WriteString("\treturn nil\n}\n")
	return out.String()
}

func check(receiver, column, kind string) string {
	field := receiver + "." + camel(column)
	switch kind {
	case "string":
		return fmt.Sprintf("\tif %s == \"\" {\n\t\treturn errors.New(\"%s is empty\")\n\t}\n", field, column)
	case "int":
		return fmt.Sprintf("\tif %s < 0 {\n\t\treturn fmt.Errorf(\"%s is %%d, below zero\", %s)\n\t}\n", field, column, field)
	}
	return fmt.Sprintf("\tif %s.After(now.AddDate(1, 0, 0)) {\n\t\treturn errors.New(\"%s is more than a year ahead\")\n\t}\n", field, column)
}

// camel turns a column into a field: quiet_from, QuietFrom.
func camel(column string) string {
	var out strings.Builder
	for _, word := range strings.Split(column, "_") {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}
