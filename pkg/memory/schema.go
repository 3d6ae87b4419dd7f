package memory

// schemaVersion is the user_version of the database; a newer one is refused.
const schemaVersion = 1

// applicationID marks the file as ours ("sess").
const applicationID = 0x73657373

const schema = `
CREATE TABLE records (
  rowid        INTEGER PRIMARY KEY,
  id           TEXT    NOT NULL UNIQUE,
  text         TEXT    NOT NULL,
  category     TEXT    NOT NULL,
  importance   REAL    NOT NULL,
  created_at   INTEGER NOT NULL, -- epoch milliseconds of the message
  runtime      TEXT    NOT NULL,
  agent        TEXT    NOT NULL,
  session      TEXT    NOT NULL,
  key          TEXT    NOT NULL,
  archive      TEXT    NOT NULL,
  archive_path TEXT    NOT NULL,
  first_line   INTEGER NOT NULL,
  last_line    INTEGER NOT NULL,
  first_byte   INTEGER NOT NULL,
  end_byte     INTEGER NOT NULL,
  branch       TEXT    NOT NULL,
  position     INTEGER NOT NULL
) STRICT;
CREATE INDEX records_by_session ON records (runtime, agent, session);
CREATE INDEX records_by_agent ON records (agent, created_at);
-- terms: the words of the text as the built-in embedder sees them: stemmed,
-- identifiers whole and in parts, pairs of CJK characters
CREATE VIRTUAL TABLE words USING fts5 (terms, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 0 tokenchars '_-./\:@'");
CREATE TABLE models (
  fingerprint TEXT PRIMARY KEY,
  name        TEXT NOT NULL -- embed.Model.String
) STRICT;
CREATE TABLE vectors (
  record INTEGER NOT NULL REFERENCES records (rowid) ON DELETE CASCADE,
  model  TEXT    NOT NULL REFERENCES models (fingerprint),
  agent  TEXT    NOT NULL,
  slot   INTEGER NOT NULL, -- row of the agent's vector file
  crc    INTEGER NOT NULL, -- CRC-32C of the row's bytes
  PRIMARY KEY (record, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX vectors_by_file ON vectors (model, agent, slot);
CREATE TABLE failures (
  record INTEGER NOT NULL REFERENCES records (rowid) ON DELETE CASCADE,
  model  TEXT    NOT NULL,
  reason TEXT    NOT NULL,
  tries  INTEGER NOT NULL,
  PRIMARY KEY (record, model)
) STRICT, WITHOUT ROWID;
CREATE TABLE tombstones (
  id TEXT PRIMARY KEY,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`
