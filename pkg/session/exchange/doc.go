// Package exchange reads files in which conversations are handed on from one program to
// another, and changes none (docs/dev/formats.md, "exchange"):
//
//	ATIF              an agent trajectory of Harbor, versions 1.0 to 1.8: one JSON object
//	openai-chat       {"messages":[...]}, one conversation a line
//	openai-responses  {"input":[...],"output":[...]}, the same
//	sharegpt          {"conversations":[{"from","value"}]}, lines or one array
//	sts-trace         a session trace of Hugging Face, one message a line
//	generic-chat      {"role","content"}, one message a line
//
// They lie where a person has put them: such a directory is named with --store, and a
// file with --file. Of a file with several conversations the last one is the context;
// all of them are archived and remembered.
package exchange
