-- Records of all hosts. They are kept by the month in which they were said, so
-- that a question about a time reads no other months.
CREATE TABLE state (
  name  text PRIMARY KEY,
  value text NOT NULL
);
INSERT INTO state VALUES ('server', gen_random_uuid()::text);

-- A host belongs to the role that registered it.
CREATE TABLE hosts (
  host      integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name      text   NOT NULL UNIQUE,
  role      name   NOT NULL DEFAULT current_user,
  records   bigint NOT NULL DEFAULT 0,
  tokens    bigint NOT NULL DEFAULT 0, -- terms of all its records
  last_push bigint NOT NULL DEFAULT 0  -- epoch milliseconds
);

-- The identity of what made vectors: those of different models are never
-- compared.
CREATE TABLE models (
  model       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fingerprint text    NOT NULL UNIQUE,
  name        text    NOT NULL,
  dim         integer NOT NULL CHECK (dim > 0)
);

CREATE SEQUENCE record_keys;
CREATE TABLE records (
  key          bigint  NOT NULL DEFAULT nextval('record_keys'),
  host         integer NOT NULL REFERENCES hosts,
  id           text    NOT NULL,
  digest       bigint  NOT NULL, -- of what was sent
  category     text    NOT NULL,
  importance   double precision NOT NULL,
  created_at   bigint  NOT NULL, -- epoch milliseconds
  runtime      text    NOT NULL,
  agent        text    NOT NULL,
  session      text    NOT NULL,
  routing_key  text    NOT NULL,
  archive      text    NOT NULL,
  archive_path text    NOT NULL,
  first_line   bigint  NOT NULL,
  last_line    bigint  NOT NULL,
  first_byte   bigint  NOT NULL,
  end_byte     bigint  NOT NULL,
  branch       text    NOT NULL,
  position     bigint  NOT NULL,
  text         text    NOT NULL,
  terms        tsvector NOT NULL, -- as the built-in embedder sees the text; a position an occurrence
  length       integer NOT NULL,  -- terms, repeated ones counted
  kind         text    NOT NULL,  -- of a fact
  successor    text    NOT NULL,  -- id of the fact that supersedes it, or ''
  fact         json,
  model        integer REFERENCES models,
  vector       halfvec,           -- of unit length
  PRIMARY KEY (host, id, created_at)
) PARTITION BY RANGE (created_at);
CREATE INDEX records_by_key ON records (key);
CREATE INDEX records_by_time ON records (created_at, key);
CREATE INDEX records_by_agent ON records (agent, session, position);
CREATE INDEX records_by_term ON records USING gin (terms);
-- Whatever has no sensible time.
CREATE TABLE records_undated PARTITION OF records DEFAULT;

-- How many records of a host have a term: what BM25 is computed from.
CREATE TABLE term_counts (
  term    text    NOT NULL,
  host    integer NOT NULL,
  records bigint  NOT NULL,
  PRIMARY KEY (term, host)
) WITH (fillfactor = 70);

-- What was forgotten, by whichever host. A mark is a transaction: what others
-- commit later is not missed.
CREATE TABLE tombstones (
  id         text   PRIMARY KEY,
  host       integer NOT NULL REFERENCES hosts,
  at         bigint NOT NULL, -- epoch milliseconds
  archive    text   NOT NULL,
  first_byte bigint NOT NULL,
  end_byte   bigint NOT NULL,
  role       name   NOT NULL DEFAULT session_user,
  xact       xid8   NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX tombstones_by_xact ON tombstones (xact);
