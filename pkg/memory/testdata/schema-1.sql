user_version 1, application_id 1936028525, page_size 4096, journal_mode wal
CREATE TABLE models (
  fingerprint TEXT    PRIMARY KEY,
  name        TEXT    NOT NULL, -- embed.Model.String
  dim         INTEGER NOT NULL
) STRICT
CREATE TABLE pending (
  model  TEXT    NOT NULL REFERENCES models (fingerprint),
  agent  TEXT    NOT NULL,
  record INTEGER NOT NULL REFERENCES record_rows (record) ON DELETE CASCADE,
  tries  INTEGER NOT NULL,
  reason TEXT    NOT NULL, -- why the last try failed
  PRIMARY KEY (model, agent, record)
) STRICT, WITHOUT ROWID
CREATE INDEX pending_by_record ON pending (record)
CREATE TABLE rebuilt (
  runtime TEXT NOT NULL,
  agent   TEXT NOT NULL,
  session TEXT NOT NULL,
  mark    TEXT NOT NULL, -- what it was made of
  PRIMARY KEY (runtime, agent, session)
) STRICT, WITHOUT ROWID
CREATE TABLE record_rows (
  record       INTEGER PRIMARY KEY,
  id           TEXT    NOT NULL UNIQUE,
  source       INTEGER NOT NULL REFERENCES sources (source),
  importance   REAL    NOT NULL,
  created_at   INTEGER NOT NULL, -- epoch milliseconds of the message
  first_line   INTEGER NOT NULL,
  last_line    INTEGER NOT NULL,
  first_byte   INTEGER NOT NULL,
  end_byte     INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  sum          INTEGER NOT NULL -- checksum of the record and its text, see sumOf
) STRICT
CREATE INDEX record_rows_by_source ON record_rows (source)
CREATE INDEX record_rows_by_time ON record_rows (created_at)
CREATE VIEW records AS SELECT r.record AS rowid, r.id, s.category, r.importance, r.created_at, s.runtime, s.agent, s.session, s.key,
  s.archive, s.archive_path, r.first_line, r.last_line, r.first_byte, r.end_byte, s.branch, r.position, r.sum
  FROM record_rows r LEFT JOIN sources s ON s.source=r.source
CREATE TABLE sources (
  source       INTEGER PRIMARY KEY,
  category     TEXT NOT NULL,
  runtime      TEXT NOT NULL,
  agent        TEXT NOT NULL,
  session      TEXT NOT NULL,
  key          TEXT NOT NULL,
  archive      TEXT NOT NULL,
  archive_path TEXT NOT NULL,
  branch       TEXT NOT NULL
) STRICT
CREATE INDEX sources_by_session ON sources (agent, runtime, session)
CREATE TABLE state (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID
CREATE TABLE texts (
  record INTEGER PRIMARY KEY REFERENCES record_rows (record) ON DELETE CASCADE,
  text   ANY     NOT NULL -- compressed, see keptText
) STRICT
CREATE TABLE tombstones (
  id         TEXT    PRIMARY KEY,
  at         INTEGER NOT NULL, -- epoch milliseconds
  archive    TEXT    NOT NULL,
  first_byte INTEGER NOT NULL, -- both 0 if it was no piece of the log
  end_byte   INTEGER NOT NULL
) STRICT, WITHOUT ROWID
CREATE INDEX tombstones_by_archive ON tombstones (archive)
CREATE TABLE vector_blocks (
  block   INTEGER PRIMARY KEY, -- of a space: its number times 4294967296, and how many blocks came before
  sum     INTEGER NOT NULL, -- checksum of all else, see sumOfBlock
  records BLOB    NOT NULL, -- whose the rows are
  rows    BLOB    NOT NULL
) STRICT
CREATE TABLE vector_rows (
  record INTEGER NOT NULL REFERENCES record_rows (record),
  space  INTEGER NOT NULL REFERENCES vector_spaces (space),
  block  INTEGER NOT NULL, -- that has the row
  crc    INTEGER NOT NULL, -- CRC-32C of the row, as a number with a sign: it is shorter
  PRIMARY KEY (record, space)
) STRICT, WITHOUT ROWID
CREATE TABLE vector_spaces (
  space   INTEGER PRIMARY KEY,
  model   TEXT    NOT NULL REFERENCES models (fingerprint),
  agent   TEXT    NOT NULL,
  checked INTEGER NOT NULL, -- epoch milliseconds of the last check of every vector
  UNIQUE (model, agent)
) STRICT
CREATE VIEW vectors AS SELECT s.model, s.agent, v.record, v.block, v.crc & 4294967295 AS crc
  FROM vector_rows v LEFT JOIN vector_spaces s ON s.space=v.space
CREATE TABLE word_gone (
  record  INTEGER PRIMARY KEY,
  segment INTEGER NOT NULL, -- what it and older ones say of the record does not count
  sum     INTEGER NOT NULL -- of both, see sumOfGone
) STRICT
CREATE TABLE word_index (
  segment INTEGER NOT NULL,
  term    BLOB    NOT NULL, -- the first that begins in the page
  page    INTEGER NOT NULL, -- how many are before it
  PRIMARY KEY (segment, term)
) STRICT, WITHOUT ROWID
CREATE TABLE word_pages (
  page INTEGER PRIMARY KEY, -- of a segment: its number times 16777216, and how many pages are before it
  data BLOB    NOT NULL
) STRICT
CREATE TABLE word_segments (
  segment INTEGER PRIMARY KEY,
  pages   INTEGER NOT NULL,
  records INTEGER NOT NULL
) STRICT
