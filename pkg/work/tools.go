package work

import "strings"

// verb is what a tool does, as finely as its arguments need it.
type verb uint8

const (
	other   verb = iota
	runs         // a command line
	reads        // files
	writes       // a whole file
	edits        // a part of a file
	editor       // an editor of many verbs, which its argument "command" names
	patches      // an envelope of file operations
	deletes      // a file
	moves        // a file
	lists        // a directory
	finds        // text in files, files by their names, pages of the web
	fetches      // an address
	browses      // a browser, which sometimes goes to an address
	follows      // what came of a command in the background
	byHand       // a command that a person ran
)

// Does returns what the tool of a name does as far as its name tells: an editor
// of many verbs edits, a patch too. It is empty for a tool that is of no kind.
func Does(tool string) Kind {
	switch v, _ := verbOf(tool); v {
	case runs:
		return KindCommand
	case reads:
		return KindRead
	case writes:
		return KindWrite
	case edits, editor, patches:
		return KindEdit
	case deletes, moves:
		return KindDelete
	case finds, lists:
		return KindSearch
	case fetches:
		return KindFetch
	}
	return ""
}

// verbOf maps the names that runtimes and MCP servers give to their tools
// (docs/dev/formats.md, "Tool calls"). foreign is true for the tool of an MCP
// server, whose arguments nobody has promised.
func verbOf(tool string) (v verb, foreign bool) {
	name := strings.ToLower(tool)
	if i := strings.LastIndex(name, "__"); i >= 0 { // mcp__server__tool, server__tool
		return named(name[i+2:]), true
	}
	if rest, ok := strings.CutPrefix(name, "mcp_"); ok { // mcp_server_tool: either may have underscores
		for ok && v == other {
			_, rest, ok = strings.Cut(rest, "_")
			v = named(rest)
		}
		return v, true
	}
	return named(name), false
}

func named(name string) verb {
	switch name {
	case "bash", "exec", "shell", "run", "terminal", "execute", "powershell", "run_command", "run_commands", "run_shell_command",
		"run_terminal", "run_terminal_cmd", "run_terminal_command", "run_in_terminal", "shell_command", "shell_exec", "exec_command", "execute_command",
		"local_shell", "container.exec":
		return runs
	case "read", "read_file", "readfile", "read_text_file", "read_media_file", "read_many_files", "read_multiple_files",
		"view", "view_file", "view_image", "open_file", "notebookread":
		return reads
	case "write", "write_file", "writefile", "create", "create_file", "write_to_file":
		return writes
	case "edit", "edit_file", "multiedit", "multi_edit", "notebookedit", "replace", "replace_in_file", "str_replace", "search_replace", "replace_file_content", "multi_replace_file_content":
		return edits
	case "str_replace_editor", "str_replace_based_edit_tool":
		return editor
	case "apply_patch", "applypatch", "patch":
		return patches
	case "delete_file":
		return deletes
	case "move_file":
		return moves
	case "ls", "list_directory", "list_dir", "list_files", "directory_tree":
		return lists
	case "grep", "glob", "find", "grep_search", "grep_files", "search_file_content", "search_files", "codebase_search", "file_search",
		"web_search", "websearch", "search_web", "google_web_search":
		return finds
	case "webfetch", "web_fetch", "fetch", "fetch_url", "fetchurl", "read_url_content":
		return fetches
	case "browser":
		return browses
	case "bashoutput", "taskoutput", "process", "write_stdin":
		return follows
	}
	return other
}
