// Package annabelle reads and changes the sessions of Annabelle, which was
// renamed Hexa Puffs (docs/dev/formats.md, "annabelle"):
//
//	~/.annabelle/sessions/<agent>/<chat>.jsonl
//	~/.annabelle/sessions/<agent>-sub-<milliseconds>/<chat>.jsonl   of a sub-agent
//
// A log is a header, perhaps a compaction with a summary of what was before,
// and turns: what the person said and what the agent answered, and where tools
// ran the whole chain of messages. The runtime itself compacts by writing the
// file again, and loses the tool chains, times and tokens of the turns that it
// keeps, and the previous summary. This package does the same change without
// losing anything: the header and the turns that stay are copied byte for byte.
//
// A running Thinker holds the conversation in memory and goes on with it until
// it is restarted or the chat is idle for half an hour; what it appends then
// goes to the shortened file.
package annabelle
