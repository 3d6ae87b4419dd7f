package main

import (
	"bytes"
	"encoding/json"
)

// indexFile writes sessions.json as the gateway does.
func indexFile(entries ...member) ([]byte, error) {
	raw, err := encode(object(entries))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Indent(&out, raw, "", "  ")
	return out.Bytes(), err
}

// entry is a row of the index without anything a person has set.
func (s *session) entry(agent string, tokens int) object {
	at := s.log.now.UnixMilli()
	return newObject(
		"sessionId", s.id,
		"updatedAt", at+41,
		"sessionStartedAt", at-86_400_000,
		"lastInteractionAt", at,
		"sessionFile", home+"/agents/"+agent+"/sessions/"+s.id+".jsonl",
		"model", s.log.dialect.model,
		"modelProvider", s.log.dialect.provider,
		"contextTokens", window,
		"systemSent", true,
		"abortedLastRun", false,
		"inputTokens", 11*tokens,
		"outputTokens", tokens/9,
		"totalTokens", tokens,
		"totalTokensFresh", true,
		"cacheRead", tokens-1_204,
		"cacheWrite", 1_180,
		"status", "done",
	)
}

// coordinatorIndex has everything in the main session's row that must
// survive a rotation, and things that nobody knows.
func coordinatorIndex(main, cron *session) ([]byte, error) {
	entry := main.entry("coordinator", atTheEnd-212)
	entry = append(entry, newObject(
		"label", "Werkzeugbibliothek – Koordination",
		"displayName", "Ostkreuz tools 🛠️",
		"chatType", "direct",
		"thinkingLevel", "low",
		"verboseLevel", "on",
		"reasoningLevel", "off",
		"responseUsage", "tokens",
		"sendPolicy", "allow",
		"modelOverride", "claude-sonnet-4-5",
		"providerOverride", "anthropic",
		"queueMode", "collect",
		"origin", newObject("label", "Maren", "provider", "webchat", "surface", "webchat", "chatType", "direct", "from", "maren", "to", "coordinator"),
		"deliveryContext", newObject("channel", "telegram", "to", "880041177", "accountId", "default"),
		"lastChannel", "telegram",
		"lastTo", "880041177",
		"lastAccountId", "default",
		"compactionCount", 1,
		"memoryFlushAt", 1774948601000,
		"memoryFlushCompactionCount", 1,
		"estimatedCostUsd", 41.283519000000005,
		"skillsSnapshot", skills(),
		"dashboard", newObject("pinned", true, "colour", "#2f6f4f", "note", "opening on 18 April: “don't reset during the trial”"),
		"compactionCheckpoints", []object{checkpoint(main)},
	)...)
	row := cron.entry("coordinator", 11_870)
	return indexFile(
		member{main.key, entry},
		member{cron.key, append(row, member{"label", "Cron: weekly-report"})},
		member{cron.key + ":run:5b1d0c2e-8f0a-4a55-9d0e-6f6d0f4b2a11", row},
	)
}

// checkpoint is what the index keeps of the session's own compaction.
func checkpoint(s *session) object {
	var before, compaction object
	for _, l := range s.log.lines {
		if l.record == nil {
			continue
		}
		if l.record.get("type") == "compaction" {
			compaction = l.record
			break
		}
		before = l.record
	}
	return newObject(
		"checkpointId", "0f2d7a3c-5d0e-4b9d-8a51-90b7e4c2d6f8",
		"sessionKey", s.key,
		"sessionId", s.id,
		"createdAt", 1774948601000,
		"reason", "threshold",
		"tokensBefore", beforeCompact,
		"firstKeptEntryId", compaction.get("firstKeptEntryId"),
		"preCompaction", newObject("sessionId", s.id, "leafId", before.get("id"), "entryId", before.get("id")),
		"postCompaction", newObject("sessionId", s.id, "leafId", compaction.get("id"), "entryId", compaction.get("id")),
	)
}

// skills is the list of skills that the gateway put into the prompt: large,
// and to be left alone.
func skills() object {
	names := []string{"calendar", "inventory", "label-printer", "mqtt", "restic", "sqlite", "translations", "typst"}
	var listed []object
	prompt := "\n\nThe following skills provide specialised instructions.\n<available_skills>\n"
	for _, name := range names {
		prompt += "  <skill>\n    <name>" + name + "</name>\n    <location>~/.openclaw/skills/" + name + "/SKILL.md</location>\n  </skill>\n"
		listed = append(listed, newObject("name", name, "primaryEnv", nil))
	}
	return newObject("prompt", prompt+"</available_skills>", "skills", listed, "resolvedSkills", []object{}, "version", 3)
}
