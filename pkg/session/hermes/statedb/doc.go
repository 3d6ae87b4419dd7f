// Package statedb knows the tables in which Hermes keeps sessions (state.db).
//
//	sessions        one row a session; parent_session_id names the one that it came from
//	messages        what was said; active is 0 for what was taken back, compacted is 1 for what a compaction has replaced
//	system_prompts  prompts by their hash, from schema 25 on
//	schema_version  one number; 16 to 30 are known
//	state_meta      settings of the program itself, when it has pruned last among them
//	messages_fts*   full-text indexes, by words and by trigrams
//
// Columns are read by their names. Times are seconds since 1970, as reals; one
// that is none of these years counts as none, as the program itself has it.
//
// A session's log is put together from its rows, always the same bytes for the
// same rows (package rowlog):
//
//	{"type":"hermes.session","format":1,"row":{...}}           the row of the session, all columns
//	{"type":"row","table":"system_prompts","row":{...}}        the prompt that it names
//	{"type":"message","row":{...}}                             its messages, by id, with what was taken back
//	{"type":"row","table":"session_model_usage","row":{...}}   rows of other tables that belong to the session
//	{"type":"children","sessions":["..."]}                     the sessions that its agents have begun
//	{"type":"linked","sessions":["..."]}                       the sessions that go on from it, or branch off
//
// What is derived is not in it: the full-text indexes are filled by the database's
// own triggers when rows go back.
package statedb
