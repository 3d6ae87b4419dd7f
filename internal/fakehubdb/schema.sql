CREATE TABLE hub_events (
	sequence INTEGER PRIMARY KEY AUTOINCREMENT,
	event TEXT NOT NULL,
	session_id TEXT,
	envelope_json TEXT NOT NULL,
	created_at INTEGER NOT NULL
);
CREATE INDEX idx_hub_events_session ON hub_events(session_id, sequence);
CREATE INDEX idx_hub_events_created ON hub_events(created_at);
-- search
CREATE TABLE indexed_sessions (
	session_id TEXT PRIMARY KEY,
	source_revision TEXT NOT NULL,
	indexed_at TEXT NOT NULL,
	document_count INTEGER NOT NULL,
	index_version INTEGER NOT NULL,
	title TEXT NOT NULL DEFAULT ''
);
CREATE VIRTUAL TABLE session_search USING fts5(
	session_id UNINDEXED,
	document_id UNINDEXED,
	ordinal UNINDEXED,
	role UNINDEXED,
	started_at UNINDEXED,
	workspace_root,
	title,
	content,
	tokenize='unicode61 remove_diacritics 2 tokenchars ''_-@'''
);
-- sessions
CREATE TABLE sessions (
	session_id TEXT PRIMARY KEY,
	source TEXT NOT NULL,
	started_at TEXT NOT NULL,
	status TEXT NOT NULL,
	cwd TEXT NOT NULL,
	parent_session_id TEXT,
	is_subagent INTEGER NOT NULL DEFAULT 0,
	updated_at TEXT NOT NULL
);
