package session

import (
	"fmt"
	"strings"
)

// Reason is why a session is passed over: the word that names the test which
// decided. The words are stable; scripts and bug reports may rely on them.
type Reason string

// The reasons, in the order of the table.
const (

	// Somebody writes it, or has it open.
	ReasonOpenElsewhere      Reason = "open"
	ReasonHeldElsewhere      Reason = "held"
	ReasonOpenHere           Reason = "open-database"
	ReasonRecent             Reason = "recent"
	ReasonRecentFuture       Reason = "recent-future"
	ReasonJustSaid           Reason = "just-said"
	ReasonLastMinute         Reason = "last-minute"
	ReasonRecentlyIdle       Reason = "not-idle"
	ReasonTorn               Reason = "torn"
	ReasonUnanswered         Reason = "unanswered"
	ReasonEmpty              Reason = "empty-file"
	ReasonShrunk             Reason = "shrunk"
	ReasonLeasedTurn         Reason = "turn"
	ReasonPiElsewhere        Reason = "pi-hidden"
	ReasonPiHere             Reason = "pi-running"
	ReasonClaudeHere         Reason = "claude-running"
	ReasonCopilotHere        Reason = "copilot-running"
	ReasonCopilotPerhaps     Reason = "copilot-lock"
	ReasonCopilotUnknown     Reason = "copilot-unknown"
	ReasonCodexHere          Reason = "codex-lock"
	ReasonHubRuns            Reason = "hub-running"
	ReasonHubStarts          Reason = "hub-starting"
	ReasonHubLocked          Reason = "hub-locked"
	ReasonLockWritten        Reason = "lock-written"
	ReasonLockHeld           Reason = "lock-held"
	ReasonGatewayRuns        Reason = "gateway"
	ReasonGatewayUnaware     Reason = "gateway-unaware"
	ReasonGatewayShares      Reason = "gateway-shares"
	ReasonGatewayMute        Reason = "gateway-mute"
	ReasonGatewayStopped     Reason = "gateway-stopped"
	ReasonGatewayTurn        Reason = "gateway-turn"
	ReasonGatewayMoved       Reason = "gateway-moved"
	ReasonGatewayAsked       Reason = "gateway-asked"
	ReasonGatewayOnlyRotates Reason = "gateway-rotates"
	ReasonGatewayRequired    Reason = "gateway-required"

	// It changed between two looks at it.
	ReasonShorterRead        Reason = "shorter-read"
	ReasonShorterRewriting   Reason = "shorter-rewriting"
	ReasonShorter            Reason = "shorter"
	ReasonHasShortened       Reason = "shortened"
	ReasonShorterArchived    Reason = "shorter-archived"
	ReasonChangedRead        Reason = "changed-read"
	ReasonChangedArchived    Reason = "changed-archived"
	ReasonChangedSince       Reason = "changed-since"
	ReasonChangedTimes       Reason = "changed-again"
	ReasonRewrittenMeanwhile Reason = "rewritten"
	ReasonGrewBusy           Reason = "grew-busy"
	ReasonTouched            Reason = "touched"
	ReasonGrew               Reason = "grew"
	ReasonMovedRead          Reason = "moved-read"
	ReasonMovedSinceRead     Reason = "moved-since-read"
	ReasonMovedSinceListed   Reason = "moved-since-listed"
	ReasonGone               Reason = "gone"
	ReasonGonePlanned        Reason = "gone-planned"
	ReasonGoneDatabase       Reason = "gone-database"
	ReasonReplacedRead       Reason = "replaced-read"
	ReasonReplaced           Reason = "replaced"
	ReasonDirectoryPut       Reason = "directory-put"
	ReasonDirectoryReplaced  Reason = "directory-replaced"
	ReasonNotRegularNow      Reason = "irregular-now"
	ReasonFileAt             Reason = "file-at"
	ReasonOtherLog           Reason = "other-log"
	ReasonLogJustMade        Reason = "log-made"
	ReasonJustMade           Reason = "made"
	ReasonWrittenAgain       Reason = "written-again"
	ReasonBegunAside         Reason = "begun-aside"
	ReasonNeitherLog         Reason = "neither-log"
	ReasonFreshHasLog        Reason = "fresh-log"
	ReasonNoFresh            Reason = "no-fresh"
	ReasonNotFollowed        Reason = "not-followed"
	ReasonSaidSinceSummary   Reason = "said-since"
	ReasonDatabaseCopied     Reason = "database-copied"
	ReasonDatabaseRead       Reason = "database-read"
	ReasonRowsEnded          Reason = "rows-ended"
	ReasonRowsChanged        Reason = "rows-changed"
	ReasonHubRowsChanged     Reason = "hub-rows-changed"
	ReasonHubRowsOdd         Reason = "hub-rows-odd"
	ReasonBackAgain          Reason = "back-again"
	ReasonJournalGone        Reason = "journal-gone"
	ReasonIndexSince         Reason = "index-since"
	ReasonEntryRotation      Reason = "entry-rotation"
	ReasonEntryPlanned       Reason = "entry-planned"
	ReasonEntryGone          Reason = "entry-gone"
	ReasonIndexOverwritten   Reason = "index-overwritten"
	ReasonIndexUnreadNow     Reason = "index-unread-now"
	ReasonIndexRestless      Reason = "index-restless"
	ReasonIndexBroken        Reason = "index-broken"
	ReasonIndexLockTaken     Reason = "index-lock"
	ReasonIndexLockOdd       Reason = "index-lock-odd"

	// It is of a kind that is never changed.
	ReasonEarlier             Reason = "earlier"
	ReasonMovedAside          Reason = "moved-aside"
	ReasonRotated             Reason = "rotated"
	ReasonClearedSession      Reason = "cleared-session"
	ReasonClearedLog          Reason = "cleared-log"
	ReasonTrimmed             Reason = "trimmed"
	ReasonToolOutput          Reason = "output"
	ReasonOutputUnnamed       Reason = "output-unnamed"
	ReasonOutputShared        Reason = "output-shared"
	ReasonBelongsTo           Reason = "belongs"
	ReasonPartOfSession       Reason = "part-session"
	ReasonPartOfTask          Reason = "part-task"
	ReasonBegunByAgent        Reason = "sub-agent"
	ReasonOfSubAgent          Reason = "of-sub-agent"
	ReasonCompressed          Reason = "compressed"
	ReasonRowless             Reason = "row-damaged"
	ReasonBeside              Reason = "rows-damaged"
	ReasonOrphan              Reason = "row-gone"
	ReasonEarlierTranscript   Reason = "earlier-transcript"
	ReasonRequestDump         Reason = "request-dump"
	ReasonRepairCopy          Reason = "repair-copy"
	ReasonLogGone             Reason = "log-gone"
	ReasonLogGoneLacking      Reason = "log-gone-lacking"
	ReasonClosed              Reason = "closed"
	ReasonThread              Reason = "thread"
	ReasonOnlyCopy            Reason = "only-copy"
	ReasonDatabaseUnread      Reason = "database-unread"
	ReasonAgentDatabaseUnread Reason = "agent-database-unread"
	ReasonDatabaseDoubt       Reason = "database-doubt"
	ReasonLeftover            Reason = "leftover"
	ReasonNoIndex             Reason = "no-index"
	ReasonNewer               Reason = "newer"
	ReasonNoHeader            Reason = "no-header"
	ReasonForeign             Reason = "foreign"
	ReasonMostlyUnknown       Reason = "mostly-unknown"
	ReasonDoubt               Reason = "unknown-record"
	ReasonNoSessionHeader     Reason = "no-session-header"
	ReasonNotLive             Reason = "not-live"
	ReasonLinked              Reason = "linked"
	ReasonLinkedIndex         Reason = "linked-index"
	ReasonMarkedIndex         Reason = "marked-index"
	ReasonUnreadIndex         Reason = "unread-index"
	ReasonGatewayDatabase     Reason = "gateway-database"
	ReasonBesideDatabase      Reason = "beside-database"
	ReasonNoSeq               Reason = "no-seq"
	ReasonOtherCodex          Reason = "codex-twice"
	ReasonOlderCopilot        Reason = "copilot-older"
	ReasonEntriesDiffer       Reason = "entries-differ"
	ReasonNoEntry             Reason = "no-entry"
	ReasonNoEntryNamed        Reason = "no-entry-named"
	ReasonEntryAway           Reason = "entry-away"
	ReasonNoPlace             Reason = "no-place"
	ReasonNoPlaceRuntime      Reason = "no-place-runtime"
	ReasonNoName              Reason = "no-name"
	ReasonNotOpenLog          Reason = "not-open"
	ReasonNotOfPi             Reason = "not-pi"
	ReasonSymlink             Reason = "link"
	ReasonDirectory           Reason = "directory"
	ReasonPipe                Reason = "pipe"
	ReasonDevice              Reason = "device"
	ReasonOnlyPrompts         Reason = "prompts"
	ReasonStaysClosed         Reason = "stays-closed"
	ReasonRuntimeOnly         Reason = "runtime"
	ReasonRuntimeOnlyCommand  Reason = "runtime-command"
	ReasonNoSummaryNoStrategy Reason = "needs-summary"
	ReasonNoStrategy          Reason = "strategy"
	ReasonOnlyStrategies      Reason = "strategies"

	// There is nothing to do with it, or not yet.
	ReasonBelowThreshold Reason = "small"
	ReasonBelowTokens    Reason = "small-of-unknown"
	ReasonWindowUnknown  Reason = "window-unknown"
	ReasonLogSmall       Reason = "small-log"
	ReasonFewMessages    Reason = "few-messages"
	ReasonBelowWindow    Reason = "below-window"
	ReasonTurnedOff      Reason = "turned-off"
	ReasonFewTurns       Reason = "few-turns"
	ReasonFewCharacters  Reason = "few-characters"
	ReasonCooldown       Reason = "cooldown"
	ReasonOwnSummary     Reason = "own-summary"
	ReasonSummaryFresh   Reason = "summary-fresh"
	ReasonFewOfUser      Reason = "few-of-user"
	ReasonSaidRecently   Reason = "said-recently"
	ReasonTooShort       Reason = "short"
	ReasonNoBytes        Reason = "empty"
	ReasonNoMessages     Reason = "no-messages"
	ReasonUnchanged      Reason = "unchanged"
	ReasonNothingToCut   Reason = "nothing-to-cut"
	ReasonNothingToTrim  Reason = "nothing-to-trim"
	ReasonSummaryStays   Reason = "summary-stays"
	ReasonUndone         Reason = "undone"
	ReasonNotChanged     Reason = "not-changed"
	ReasonSameBytes      Reason = "same"
	ReasonSameRows       Reason = "same-rows"
	ReasonNoMain         Reason = "no-main"
	ReasonNoMainUnread   Reason = "no-main-unread"

	// A run over everything leaves it out; these are counted.
	ReasonCountPrompts     Reason = "count-prompts"
	ReasonCountClosed      Reason = "count-closed"
	ReasonCountOrphan      Reason = "count-orphan"
	ReasonCountNotMain     Reason = "count-not-main"
	ReasonCountUnchanged   Reason = "count-unchanged"
	ReasonCountBelow       Reason = "count-small"
	ReasonCountOff         Reason = "count-off"
	ReasonCountNotDue      Reason = "count-not-due"
	ReasonCountNoMain      Reason = "count-no-main"
	ReasonCountIrreducible Reason = "irreducible"
	ReasonCountEmpty       Reason = "count-empty"

	// It is compacted, and the outcome says this of it.
	ReasonBrokenOff Reason = "broken-off"

	// clean keeps it.
	ReasonKeepDatabase  Reason = "keep-database"
	ReasonKeepPrompts   Reason = "keep-prompts"
	ReasonKeepReadOnly  Reason = "keep-read-only"
	ReasonKeepRuntime   Reason = "keep-runtime"
	ReasonKeepIndexed   Reason = "keep-indexed"
	ReasonKeepNewest    Reason = "keep-newest"
	ReasonKeepFuture    Reason = "keep-future"
	ReasonKeepYoung     Reason = "keep-young"
	ReasonKeepHalf      Reason = "keep-half"
	ReasonKeepBusy      Reason = "keep-busy"
	ReasonKeepUnlooked  Reason = "keep-unlooked"
	ReasonKeepUntold    Reason = "keep-untold"
	ReasonPinned        Reason = "pinned"
	ReasonRunUnfinished Reason = "unfinished"
	ReasonJournalUnread Reason = "journal-unread"
	ReasonKeepUsed      Reason = "keep-used"
	ReasonKeepIrregular Reason = "keep-irregular"

	// An error of the store stands behind these words.
	ReasonCannotChange Reason = "unsupported"
)

// reasonRow is what a person is told.
type reasonRow struct {
	sentence string // with verbs of fmt where the values go
	hint     string // what to do about it, "" if the sentence says it or nothing helps
}

// reasons is the one table of why a session is passed over. Documents and receipts
// have the sentences, so a sentence that is in use stays as it is.
var reasons = map[Reason]reasonRow{

	// Somebody writes it, or has it open.
	ReasonOpenElsewhere:      {"another program has it open", "close that program; lsof names it"},
	ReasonHeldElsewhere:      {"another process has it open", "close that program; lsof names it"},
	ReasonOpenHere:           {"a program has it open; close it and try again", ""},
	ReasonRecent:             {"changed %s ago; it is skipped until it has been unchanged for %s", "wait, or lower --quiet-period"},
	ReasonRecentFuture:       {"changed %s in the future; it is skipped until it has been unchanged for %s", "set the clock"},
	ReasonJustSaid:           {"something was said a moment ago", "wait, or lower --quiet-period"},
	ReasonLastMinute:         {"changed within the last minute", "wait a minute"},
	ReasonRecentlyIdle:       {"it changed within %s", "wait, or lower --idle"},
	ReasonTorn:               {"its last line is not finished", "wait; after a day without a change (compaction.longest_turn) it is taken for broken off"},
	ReasonUnanswered:         {"its last turn is not answered yet (the last message is from the %s)", "let the agent answer; after a day without a change (compaction.longest_turn) the turn is taken for broken off"},
	ReasonEmpty:              {"it is empty: it may be being rewritten", "wait; the next run looks again"},
	ReasonShrunk:             {"it was %d bytes long and is %d now: it may be being rewritten", "wait; the next run looks again"},
	ReasonLeasedTurn:         {"a turn of it is going on, by the program's own lease", "wait until the agent has answered"},
	ReasonPiElsewhere:        {"pi is running (process %d), and the system does not say where: end that pi, or run sessctl outside of its sandbox", ""},
	ReasonPiHere:             {"pi is running in %s (process %d) and may have it in its memory: end that pi, or type /compact there", ""},
	ReasonClaudeHere:         {"a running Claude Code has it open (process %d)", "end that Claude Code, or type /compact there"},
	ReasonCopilotHere:        {"a running Copilot has it open (process %d)", "end that Copilot"},
	ReasonCopilotPerhaps:     {"Copilot may have it open: %s names process %d, which is not seen here; if no Copilot uses the session, on any machine, remove that file", ""},
	ReasonCopilotUnknown:     {"whether Copilot has it open is not known: %v", ""},
	ReasonCodexHere:          {"Codex has it open (%s is there)", "end that Codex"},
	ReasonHubRuns:            {"the hub runs as process %d; %s", ""},
	ReasonHubStarts:          {"process %d is starting a hub; %s", ""},
	ReasonHubLocked:          {"a hub has its lock: it runs, or is being started; %s", ""},
	ReasonLockWritten:        {"its lock %s is being written", "run the command again"},
	ReasonLockHeld:           {"process %d holds its lock %s", "wait until the agent has answered"},
	ReasonGatewayRuns:        {"its gateway is running (process %d), and the files are the gateway's", "use --gateway auto, or stop the gateway for this command"},
	ReasonGatewayUnaware:     {"its gateway is running and does not know this log: stop it to compact the log", ""},
	ReasonGatewayShares:      {"its gateway is running and would start only one of the %d entries fresh that share this log: stop it to compact the log", ""},
	ReasonGatewayMute:        {"its gateway is running and cannot be asked (%v): set openclaw.command to the runtime's program, or stop the gateway", ""},
	ReasonGatewayStopped:     {"its gateway has stopped just now", "run the command again"},
	ReasonGatewayTurn:        {"the gateway says that a turn is going on", "wait until the agent has answered"},
	ReasonGatewayMoved:       {"the gateway has moved on to another session", "run the command again"},
	ReasonGatewayAsked:       {"its gateway was asked to start it fresh a moment ago", "run the command again"},
	ReasonGatewayOnlyRotates: {"%s; it can be asked for a fresh session (--strategy rotate), not for this", ""},
	ReasonGatewayRequired:    {"no gateway is running for this store, and only one may change its sessions (--gateway require)", ""},

	// It changed between two looks at it.
	ReasonShorterRead:        {"it became shorter while it was read", "run the command again"},
	ReasonShorterRewriting:   {"it became shorter while it was read: it may be being rewritten", "run the command again"},
	ReasonShorter:            {"it became shorter: it may be being rewritten", "run the command again"},
	ReasonHasShortened:       {"it has become shorter: it may be being rewritten", "run the command again"},
	ReasonShorterArchived:    {"it became shorter while it was archived", "run the command again"},
	ReasonChangedRead:        {"it changed while it was read", "run the command again"},
	ReasonChangedArchived:    {"it changed while it was archived", "run the command again"},
	ReasonChangedSince:       {"it has changed since it was archived", "run the command again"},
	ReasonChangedTimes:       {"it changed again while it was worked on, for the %dth time (%s): it is skipped until the next run", ""},
	ReasonRewrittenMeanwhile: {"it was rewritten while it was worked on", "run the command again"},
	ReasonGrewBusy:           {"it grew while it was worked on, and %s", ""},
	ReasonTouched:            {"it was touched or rewritten", "run the command again"},
	ReasonGrew:               {"%d bytes were added to it", "run the command again"},
	ReasonMovedRead:          {"it was moved away while it was read", "run the command again"},
	ReasonMovedSinceRead:     {"it was moved away since it was read", "run the command again"},
	ReasonMovedSinceListed:   {"it was moved away since it was listed", "run the command again"},
	ReasonGone:               {"it has been moved or removed since it was found", "run the command again"},
	ReasonGonePlanned:        {"it has been moved or removed since this was planned", "run the command again"},
	ReasonGoneDatabase:       {"it is not in the database any more", ""},
	ReasonReplacedRead:       {"another file took its place while it was read", "run the command again"},
	ReasonReplaced:           {"another file has taken its place", "run the command again"},
	ReasonDirectoryPut:       {"another directory was put in its place", "run the command again"},
	ReasonDirectoryReplaced:  {"another directory has taken its place", "run the command again"},
	ReasonNotRegularNow:      {"it is not a regular file any more", ""},
	ReasonFileAt:             {"another file is at %s", "move that file away"},
	ReasonOtherLog:           {"somebody has made another log at its place", ""},
	ReasonLogJustMade:        {"somebody has made a log at its place just now", ""},
	ReasonJustMade:           {"somebody has made it just now", ""},
	ReasonWrittenAgain:       {"somebody is writing it again already", ""},
	ReasonBegunAside:         {"another log was begun while it was put aside", "run the command again"},
	ReasonNeitherLog:         {"a log that is neither the old one nor the new one is at %s", ""},
	ReasonFreshHasLog:        {"the fresh session has got a log meanwhile", ""},
	ReasonNoFresh:            {"no session has been begun here since it was rotated", ""},
	ReasonNotFollowed:        {"the session that followed has not begun yet", ""},
	ReasonSaidSinceSummary:   {"something was said since it was summarised", "run the command again"},
	ReasonDatabaseCopied:     {"the runtime changes it while it is copied", "run the command again"},
	ReasonDatabaseRead:       {"the runtime has changed it while it was read", "run the command again"},
	ReasonRowsEnded:          {"session %s has ended since the sessions were archived", "run the command again"},
	ReasonRowsChanged:        {"session %s has changed since it was archived", "run the command again"},
	ReasonHubRowsChanged:     {"the rows of session %s have changed since they were archived", "run the command again"},
	ReasonHubRowsOdd:         {"session %s: %s", ""},
	ReasonBackAgain:          {"the session %s is there again", ""},
	ReasonJournalGone:        {"the journal of session %s is gone", "run the command again"},
	ReasonIndexSince:         {"sessions.json has changed since the session was found", "run the command again"},
	ReasonEntryRotation:      {"its entry in sessions.json has changed since the rotation was planned", "run the command again"},
	ReasonEntryPlanned:       {"its entry in sessions.json has changed since this was planned", "run the command again"},
	ReasonEntryGone:          {"an entry of sessions.json is gone", "run the command again"},
	ReasonIndexOverwritten:   {"the runtime has written its own sessions.json over the change", "run the command again"},
	ReasonIndexUnreadNow:     {"sessions.json cannot be read just now", "run the command again"},
	ReasonIndexRestless:      {"the runtime changes sessions.json all the time", "run the command again"},
	ReasonIndexBroken:        {"the runtime has just put one there that cannot be read (%v)", "run the command again"},
	ReasonIndexLockTaken:     {"somebody else has just taken its lock %s", "run the command again"},
	ReasonIndexLockOdd:       {"its lock %s is no file", ""},

	// It is of a kind that is never changed.
	ReasonEarlier:             {"an earlier session of its key", ""},
	ReasonMovedAside:          {"a log that was moved aside: it is kept until nobody can write it any more", ""},
	ReasonRotated:             {"a rotated log: it is kept until nobody can write it any more", ""},
	ReasonClearedSession:      {"a session that was cleared: it is kept until nobody can write it any more", ""},
	ReasonClearedLog:          {"a log that was cleared: it is kept until nobody can write it any more", ""},
	ReasonTrimmed:             {"the log as it was before it was trimmed: it is kept until nobody can write it any more", ""},
	ReasonToolOutput:          {"the output of a tool: it is archived and remembered with its session", ""},
	ReasonOutputUnnamed:       {"the output of a tool that no session names", ""},
	ReasonOutputShared:        {"the output of a tool that several sessions name", ""},
	ReasonBelongsTo:           {"what belongs to a session: it is archived and remembered with it", ""},
	ReasonPartOfSession:       {"part of a session: it is archived with it", ""},
	ReasonPartOfTask:          {"part of a task: it is archived with it", ""},
	ReasonBegunByAgent:        {"begun by an agent of %s", ""},
	ReasonOfSubAgent:          {"of a sub-agent of %s", ""},
	ReasonRowless:             {"its own row lies on a damaged page of the database: title and directory are not known", "sessctl doctor says more"},
	ReasonBeside:              {"some of its rows may lie on a damaged page of the database: nobody can tell whose those are", "sessctl doctor says more"},
	ReasonOrphan:              {"its own row is gone from the database: title and directory are not known", ""},
	ReasonCompressed:          {"compressed; it goes on in another session", ""},
	ReasonEarlierTranscript:   {"a transcript of an earlier version: archived with its session, not remembered", ""},
	ReasonRequestDump:         {"a dump of a request that failed: archived with its session, not remembered", ""},
	ReasonRepairCopy:          {"a copy that Copilot made before it repaired the log", ""},
	ReasonLogGone:             {"the session's log is gone; what was typed in it is in %s", ""},
	ReasonLogGoneLacking:      {"the session's log is gone; what was typed in it is in %s, without %d of the texts that were pasted", ""},
	ReasonClosed:              {"a log that the runtime has closed: it is archived, never changed", ""},
	ReasonThread:              {"a thread of session %s, and which entry of sessions.json uses it is not known", ""},
	ReasonOnlyCopy:            {"a log of before the migration to the runtime's database, which the runtime keeps for a way back: it is archived, never changed", ""},
	ReasonDatabaseUnread:      {"its sessions cannot be read: %v", "sessctl doctor says more"},
	ReasonAgentDatabaseUnread: {"this agent's sessions are %s, and it cannot be read: %v; to start its main session fresh: %s", ""},
	ReasonDatabaseDoubt:       {"it cannot be told whether this agent's sessions are in the runtime's database", ""},
	ReasonLeftover:            {"a leftover of the migration to the runtime's database; the runtime's own doctor handles it (openclaw doctor)", ""},
	ReasonNoIndex:             {"there is no sessions.json", ""},
	ReasonNewer:               {"its format has version %d, this tool knows up to %d", "install a newer sessctl"},
	ReasonNoHeader:            {"it has no header", ""},
	ReasonForeign:             {"it is %s, and left alone in a place of %s", ""},
	ReasonMostlyUnknown:       {"%d of its first %d records are of types that %s does not have, so another program may have written it", ""},
	ReasonDoubt:               {"its context has a record of a type that this version does not know (%s, %s), which may change what of the others is sent", "archive --remember takes it as it is; a newer sessctl may know the record; --strategy rotate begins a fresh session, where the runtime allows it"},
	ReasonNoSessionHeader:     {"it has no session header, so another program may have written it", ""},
	ReasonNotLive:             {"not the live log of a session", ""},
	ReasonLinked:              {"a file with several names (hard links): changing it would change something else", ""},
	ReasonLinkedIndex:         {"sessions.json has several names (hard links)", ""},
	ReasonMarkedIndex:         {"sessions.json starts with a byte order mark, so the runtime cannot read it", ""},
	ReasonUnreadIndex:         {"sessions.json cannot be read", "sessctl doctor says more"},
	ReasonGatewayDatabase:     {"in the runtime's database, which only the runtime changes", ""},
	ReasonBesideDatabase:      {"this agent's sessions are %s, and a log beside it keeps the runtime's own doctor from finishing", ""},
	ReasonNoSeq:               {"the first message to keep has no seq", ""},
	ReasonOtherCodex:          {"Codex has this thread in %s", ""},
	ReasonOlderCopilot:        {"a session of an older version, in a file of its own: open it with Copilot once", ""},
	ReasonEntriesDiffer:       {"the entries of sessions.json that named it name different sessions by now", ""},
	ReasonNoEntry:             {"sessions.json has no entry for it any more", ""},
	ReasonNoEntryNamed:        {"no entry of sessions.json named it, so no session followed", ""},
	ReasonEntryAway:           {"its entry of sessions.json is gone, so no session followed", ""},
	ReasonNoPlace:             {"no place for a session of openclaw", ""},
	ReasonNoPlaceRuntime:      {"no place for a session of this runtime", ""},
	ReasonNoName:              {"not a name that the runtime gives a session", ""},
	ReasonNotOpenLog:          {"not an open log of the runtime", ""},
	ReasonNotOfPi:             {"not a log of pi", ""},
	ReasonSymlink:             {"a symbolic link: sessions are not read through links", ""},
	ReasonDirectory:           {"a directory with the name of a session", ""},
	ReasonPipe:                {"a pipe with the name of a session", ""},
	ReasonDevice:              {"a device or socket with the name of a session", ""},
	ReasonOnlyPrompts:         {"only the prompts are left of it, in a file that its runtime goes on with", ""},
	ReasonStaysClosed:         {"the log was closed: nobody continues it, and it stays as it is", ""},
	ReasonRuntimeOnly:         {"only %s itself changes its sessions", ""},
	ReasonRuntimeOnlyCommand:  {"only %s itself changes its sessions: %s", ""},
	ReasonNoSummaryNoStrategy: {"by %s a summary takes the place of what is cut away: it cannot be left out", ""},
	ReasonNoStrategy:          {"%s cannot be compacted by %s: %s", ""},
	ReasonOnlyStrategies:      {"%s cannot be compacted by %s, only by %s", ""},

	// There is nothing to do with it, or not yet.
	ReasonBelowThreshold: {"%d tokens, threshold %d", "--force compacts it anyway; --threshold sets another limit"},
	ReasonBelowTokens:    {"%d tokens, threshold %d (its window is not known, so %v of it does not count)", "compaction.windows names the window; --threshold sets another limit"},
	ReasonWindowUnknown:  {"%d tokens, and its window is not known, so %v of it cannot decide", "name the window in compaction.windows, or the tokens too: --threshold 150000,80%"},
	ReasonLogSmall:       {"its log has %d bytes, due from %d", "--session takes it anyway"},
	ReasonFewMessages:    {"%d messages, due from %d", "--force compacts it anyway"},
	ReasonBelowWindow:    {"%d tokens, due above %d (window %d less %d reserved)", "--force compacts it anyway"},
	ReasonTurnedOff:      {"compaction is turned off in %s", "--force compacts it anyway"},
	ReasonFewTurns:       {"%d turns, due from %d", "--force compacts it anyway"},
	ReasonFewCharacters:  {"%d characters, due above %d", "--force compacts it anyway"},
	ReasonCooldown:       {"compacted %s ago, due again after %s", "--force compacts it anyway"},
	ReasonOwnSummary:     {"it has a summary of the program's own", ""},
	ReasonSummaryFresh:   {"its summary is up to date", ""},
	ReasonFewOfUser:      {"%d messages of the user, due from %d", "--force compacts it anyway"},
	ReasonSaidRecently:   {"something was said %s ago, due after %s", "--force compacts it anyway"},
	ReasonTooShort:       {"%s, %d are needed", ""},
	ReasonNoBytes:        {"the session is empty", ""},
	ReasonNoMessages:     {"the session has no messages", ""},
	ReasonUnchanged:      {"unchanged since %s, when it was archived and remembered", ""},
	ReasonNothingToCut:   {"nothing to cut away", "sessctl archive --remember archives and remembers it as it is"},
	ReasonNothingToTrim:  {"nothing to trim", "sessctl archive --remember archives and remembers it as it is"},
	ReasonSummaryStays:   {"the summary stays as it is: %s", ""},
	ReasonUndone:         {"it was undone already, see receipt %s", ""},
	ReasonNotChanged:     {"that run has not changed the session", ""},
	ReasonSameBytes:      {"the same bytes are there already", ""},
	ReasonSameRows:       {"the database has all of its rows", ""},
	ReasonNoMain:         {"there is no main session; the next message starts one", ""},
	ReasonNoMainUnread:   {"no main session was found, and not all of them could be read", "sessctl doctor says more"},

	// A run over everything leaves it out; these are counted.
	ReasonCountPrompts:     {"of which only the prompts are left", "sessctl archive --all --remember takes them too"},
	ReasonCountClosed:      {"closed by the runtime", "sessctl archive --all --remember takes them too"},
	ReasonCountOrphan:      {"not in the runtime's index", "sessctl archive --all --remember takes them too"},
	ReasonCountNotMain:     {"not the main session of its agent", "sessctl archive --all --remember takes them too"},
	ReasonCountUnchanged:   {"unchanged", ""},
	ReasonCountBelow:       {"below the threshold", ""},
	ReasonCountOff:         {"with compaction turned off", "--agent NAME --force compacts it anyway"},
	ReasonCountNotDue:      {"not due by the rule of its runtime", ""},
	ReasonCountNoMain:      {"without a main session", ""},
	ReasonCountIrreducible: {"irreducible", "sessctl archive --all --remember archives and remembers them"},
	ReasonCountEmpty:       {"empty", ""},

	// It is compacted, and the outcome says this of it.
	ReasonBrokenOff: {"its last turn was broken off on %s", ""},

	// clean keeps it.
	ReasonKeepDatabase:  {"it is in its runtime's database", ""},
	ReasonKeepPrompts:   {"it is part of a file that its runtime goes on with", ""},
	ReasonKeepReadOnly:  {"nothing of its runtime is ever changed", ""},
	ReasonKeepRuntime:   {"only its runtime may change it: %s", ""},
	ReasonKeepIndexed:   {"the runtime's index names it", ""},
	ReasonKeepNewest:    {"among the newest of its agent", ""},
	ReasonKeepFuture:    {"its time is in the future", "set the clock"},
	ReasonKeepYoung:     {"not old enough", ""},
	ReasonKeepHalf:      {"waits for the next run, as one deletes at most half of what its agent has; --force deletes it now", ""},
	ReasonKeepBusy:      {"busy: %s", ""},
	ReasonKeepUnlooked:  {"it cannot be looked at: %v", ""},
	ReasonKeepUntold:    {"what belongs to it cannot be told: %v", ""},
	ReasonPinned:        {"pinned (sessctl pin --remove unpins it)", ""},
	ReasonRunUnfinished: {"an earlier run is not finished with it (%s, sessctl doctor says more)", ""},
	ReasonJournalUnread: {"a journal entry that cannot be read may need it (%s, sessctl doctor says more)", ""},
	ReasonKeepUsed:      {"%s was changed within a day", ""},
	ReasonKeepIrregular: {"%s is not a regular file", ""},

	// An error of the store stands behind these words.
	ReasonCannotChange: {"this session cannot be changed: %v", ""},
}

// Text is the sentence that a person reads, with its values.
func (r Reason) Text(values ...any) string { return fmt.Sprintf(reasons[r].sentence, values...) }

// Hint is what to do about it, "" if the sentence says so or nothing can be done.
func (r Reason) Hint() string { return reasons[r].hint }

// ReasonOf reads the reason from a sentence, which may stand behind what was being
// done ("starts fresh: ...") or before what else there is to say. It is "" for an error that the table does not have.
func ReasonOf(text string) (best Reason) {
	most := 0
	for rest := text; rest != ""; {
		if r, n := closest(rest); n > most {
			best, most = r, n
		}
		i := strings.IndexAny(rest, ":;")
		if i < 0 {
			break
		}
		if r, n := closest(rest[:i]); n > most {
			best, most = r, n
		}
		rest = strings.TrimLeft(rest[i+1:], " ")
	}
	return best
}

// closest is the reason whose sentence a text is, and how many bytes of the text are
// the sentence's own: of several reasons it is the one with most.
func closest(text string) (best Reason, most int) {
	for r, row := range reasons {
		words, fits := ownWords(row.sentence, text)
		if n := len(strings.Join(words, "")); fits && n > most {
			best, most = r, n
		}
	}
	return best, most
}

// ownWords are the parts of a sentence around its values. It reports whether a text
// has them all, in their order.
func ownWords(sentence, text string) (words []string, fits bool) {
	words = strings.Split(strings.NewReplacer("%s", "\x00", "%d", "\x00", "%v", "\x00").Replace(sentence), "\x00")
	if len(words) == 1 {
		return words, sentence == text
	}
	first, last := words[0], words[len(words)-1]
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return words, false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, w := range words[1 : len(words)-1] {
		_, after, found := strings.Cut(text, w)
		if !found {
			return words, false
		}
		text = after
	}
	return words, true
}
