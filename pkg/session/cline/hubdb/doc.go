// Package hubdb knows the databases that the hub of Cline keeps beside sessions:
// its events, which repeat all that was said (hub-events-*.db, table hub_events),
// and its index of what was said (session-search.db, tables indexed_sessions and
// session_search). `cline history delete` removes a session and leaves its rows in
// both. It also knows which sessions there are (sessions.db, table sessions).
//
// The rows of one session can be written out as a log, removed, and put back:
//
//	{"type":"cline.left","format":1,"session":"1772359200000_k3ln0","rows":2}
//	{"type":"row","table":"hub_events","row":{...}}   a row of any of the tables, all columns
//
// Only rows whose form is known are removed: an event must be an envelope of
// version 1 that names the session of its row and the kind of its row, and a text
// of the index must be one of its session. A session with any other row keeps all
// of its rows ([Rows].Odd).
package hubdb
