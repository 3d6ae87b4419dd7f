package session

import "slices"

// Keeps reports whether a log of a format may be one of the runtime's: it is in a
// format of its own, or in that of a program whose logs it goes on with.
func (t Traits) Keeps(f Format) bool {
	return slices.Contains(t.Formats, f) || slices.Contains(t.Kin, f)
}

// unreadNames are what people call the programs whose logs are known and not read.
var unreadNames = map[Format]string{
	FormatContinue: "Continue",
}

// Unread is what people call the program whose logs these are, if it is known and
// not read, and "" otherwise.
func (f Format) Unread() string { return unreadNames[f] }

// weak are the formats that a file is taken for because of records that others may
// write too.
var weak = map[Format]bool{FormatUnknown: true, FormatEmpty: true, FormatUTF16: true, FormatFragment: true, FormatGenericChat: true, FormatClaude: true}

// Claims reports whether a file of this format is surely one of its program, so that
// no other runtime may take it for its own: its beginning says so.
func (f Format) Claims() bool { return !weak[f] }

// runtimeOf are the runtimes that write a format, as people call them.
var runtimeOf = map[Format]string{
	FormatPi: RuntimePi, FormatOpenClaw: RuntimeOpenClaw, FormatOMP: RuntimeOMP, FormatAnnabelle: RuntimeAnnabelle, FormatAgent: RuntimeAgent,
	FormatClaude: RuntimeClaude, FormatClaudeHistory: RuntimeClaude, FormatCodex: RuntimeCodex, FormatCodexBare: RuntimeCodex, FormatCodexJSON: RuntimeCodex,
	FormatGemini: RuntimeGemini, FormatGeminiJSON: RuntimeGemini, FormatMacStats: RuntimeMacStats, FormatYarnnn: RuntimeYarnnn, FormatOpenCode: RuntimeOpenCode,
	FormatCopilot: RuntimeCopilot, FormatHermes: RuntimeHermes, FormatQwen: RuntimeQwen, FormatCline: RuntimeCline, FormatClineTask: RuntimeClineTasks,
	FormatCursor: RuntimeCursor, FormatGoose: RuntimeGoose, FormatDroid: RuntimeDroid,
	FormatKimi: RuntimeKimi, FormatGrok: RuntimeGrok, FormatAntigravity: RuntimeAntigravity,
	FormatATIF: RuntimeExchange, FormatTrace: RuntimeExchange, FormatChat: RuntimeExchange, FormatResponses: RuntimeExchange, FormatShareGPT: RuntimeExchange,
}

// Named reports whether it is known which program writes sessions of this format.
func (f Format) Named() bool { return f.Unread() != "" || runtimeOf[f] != "" }

// Whose says of which program a file of this format is.
func (f Format) Whose() string {
	switch {
	case f.Unread() != "":
		return "a session of " + f.Unread() + ", which sessctl does not read"
	case runtimeOf[f] != "" && runtimeOf[f] != RuntimeExchange:
		return "a session of " + runtimeOf[f]
	}
	return "a file of the format " + string(f)
}
