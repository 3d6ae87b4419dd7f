package memory

// schemaVersion is the user_version of the database; a newer one is refused.
// Whoever changes the schema of a released version raises it and writes the
// way from the old one to the new.
const schemaVersion = 1

// applicationID marks the file as ours ("sess").
const applicationID = 0x73657373

// pageSize in bytes holds two chunks of 3,500 characters; indexing words is a
// sixth faster than with SQLite's 4,096.
const pageSize = 8192

// Texts are kept apart from what is filtered by, so that a filter does not
// have to step over them. Terms are the words of the text as the built-in
// embedder sees them: stemmed, identifiers whole and in parts, pairs of CJK
// characters; they are split at spaces only. The index has no copy of them, or
// of the text. It gathers 8 MB of terms before it writes: a third faster than
// its own 1 MB.
const schema = `
CREATE TABLE records (
  rowid        INTEGER PRIMARY KEY,
  id           TEXT    NOT NULL UNIQUE,
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
CREATE INDEX records_by_session ON records (agent, runtime, session);
CREATE INDEX records_by_time ON records (agent, created_at);
CREATE TABLE texts (
  record INTEGER PRIMARY KEY REFERENCES records (rowid) ON DELETE CASCADE,
  text   TEXT    NOT NULL
) STRICT;
CREATE VIRTUAL TABLE words USING fts5 (terms, content='', contentless_delete=1, tokenize="ascii tokenchars '_-./\:@'");
INSERT INTO words (words, rank) VALUES ('hashsize', 8388608);
CREATE TABLE models (
  fingerprint TEXT    PRIMARY KEY,
  name        TEXT    NOT NULL, -- embed.Model.String
  dim         INTEGER NOT NULL
) STRICT;
-- files: one of vectors an agent and model
CREATE TABLE files (
  model   TEXT    NOT NULL REFERENCES models (fingerprint),
  agent   TEXT    NOT NULL,
  name    TEXT    NOT NULL, -- of the file, in the agent's directory
  slots   INTEGER NOT NULL, -- rows of the file that may have a name
  stamp   TEXT    NOT NULL, -- of the file when it was last written or checked
  checked INTEGER NOT NULL, -- epoch milliseconds of the last check of every row
  PRIMARY KEY (model, agent)
) STRICT, WITHOUT ROWID;
CREATE TABLE vectors (
  model  TEXT    NOT NULL REFERENCES models (fingerprint),
  agent  TEXT    NOT NULL,
  slot   INTEGER NOT NULL, -- row of the file
  record INTEGER NOT NULL REFERENCES records (rowid) ON DELETE CASCADE,
  crc    INTEGER NOT NULL, -- CRC-32C of the row's bytes
  PRIMARY KEY (model, agent, slot)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX vectors_by_record ON vectors (record, model);
-- pending: every record has a vector of each model, or a row here
CREATE TABLE pending (
  model  TEXT    NOT NULL REFERENCES models (fingerprint),
  agent  TEXT    NOT NULL,
  record INTEGER NOT NULL REFERENCES records (rowid) ON DELETE CASCADE,
  tries  INTEGER NOT NULL,
  reason TEXT    NOT NULL, -- why the last try failed
  PRIMARY KEY (model, agent, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_by_record ON pending (record);
-- tombstones: what was forgotten; where it stood finds it again however the
-- source is cut then
CREATE TABLE tombstones (
  id         TEXT    PRIMARY KEY,
  at         INTEGER NOT NULL, -- epoch milliseconds
  archive    TEXT    NOT NULL,
  first_byte INTEGER NOT NULL, -- both 0 if it was no piece of the log
  end_byte   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_by_archive ON tombstones (archive);
-- rebuilt: sessions that a rebuild which has not ended yet is done with
CREATE TABLE rebuilt (
  runtime TEXT NOT NULL,
  agent   TEXT NOT NULL,
  session TEXT NOT NULL,
  mark    TEXT NOT NULL, -- what it was made of
  PRIMARY KEY (runtime, agent, session)
) STRICT, WITHOUT ROWID;
`
