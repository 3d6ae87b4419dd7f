package session

// Format is what a file's content shows it to be.
type Format string

// The formats that [Detect] tells apart (research/formats.md section 1).
const (
	FormatPi            Format = "pi"             // a pi session, versions 1 to 3
	FormatOpenClaw      Format = "openclaw"       // an OpenClaw transcript, the same records as pi
	FormatFragment      Format = "pi-fragment"    // pi or OpenClaw records without a header
	FormatAnnabelle     Format = "annabelle"      // Annabelle / Hexa Puffs
	FormatAgent         Format = "agent"          // agent-ulid
	FormatClaude        Format = "claude"         // Claude Code
	FormatCodex         Format = "codex"          // Codex rollouts, since September 2025
	FormatCodexBare     Format = "codex-bare"     // Codex rollouts without envelopes, before that
	FormatCodexJSON     Format = "codex-json"     // Codex sessions as one JSON object
	FormatGemini        Format = "gemini"         // Gemini CLI, JSON Lines
	FormatGeminiJSON    Format = "gemini-json"    // Gemini CLI sessions as one JSON object
	FormatMacStats      Format = "macstats"       // mac-stats Markdown
	FormatMacStatsReset Format = "macstats-reset" // what mac-stats saves before a reset
	FormatYarnnn        Format = "yarnnn"         // an export of YARNNN messages
	FormatOpenClawIndex Format = "openclaw-index" // sessions.json
	FormatOpenClawLock  Format = "openclaw-lock"  // a write lock
	FormatTrajectory    Format = "trajectory"     // OpenClaw's run trace beside a session: not a session
	FormatGenericChat   Format = "generic-chat"   // objects with role and content
	FormatSQLite        Format = "sqlite"         // a SQLite database: whose, its tables say
	FormatUTF16         Format = "utf-16"         // text that cannot be read as it is
	FormatEmpty         Format = "empty"          // nothing but white space and NULs
	FormatUnknown       Format = "unknown"
)

// HeadSize is how many bytes of a file [Detect] looks at.
const HeadSize = 256 << 10
