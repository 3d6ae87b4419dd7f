-- The tables of a shared memory, version 1: what they keep, what the server does
-- for a host, and who may do what. They are in the schema sessctl.

-- Records of all hosts. They are kept by the quarter in which they were said, so
-- that a question about a time reads no other quarters.
CREATE TABLE state (
  name  text PRIMARY KEY,
  value text NOT NULL
);
INSERT INTO state VALUES ('server', gen_random_uuid()::text);

-- A host belongs to the role that registered it.
CREATE TABLE hosts (
  host      integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name      text   NOT NULL UNIQUE CHECK (name !~ '^-|[[:space:][:cntrl:]]' AND length(name) BETWEEN 1 AND 255), -- it becomes an argument of ssh
  role      name   NOT NULL DEFAULT current_user,
  records   bigint NOT NULL DEFAULT 0,
  tokens    bigint NOT NULL DEFAULT 0, -- terms of all its records
  last_push bigint NOT NULL DEFAULT 0, -- epoch milliseconds
  memory    text   NOT NULL DEFAULT '', -- identity of the memory whose records it has: two machines may carry one name
  heard     bigint NOT NULL DEFAULT 0,  -- epoch milliseconds: when a push of the host last came to its end
  uploaded  bigint NOT NULL DEFAULT 0,  -- when a run of the host last had all its archives off-site
  verified  bigint NOT NULL DEFAULT 0,  -- and when it last read its archives
  archives  text   NOT NULL DEFAULT '' CHECK (length(archives) <= 1000) -- where its archives are off-site: s3://bucket/prefix
);

-- The identity of what made vectors: those of different models are never
-- compared. The fingerprint is that of the name, which says the dimension, so
-- nobody registers something else for others (embed.Model).
CREATE TABLE models (
  model       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fingerprint text    NOT NULL UNIQUE,
  name        text    NOT NULL,
  dim         integer NOT NULL CHECK (dim > 0),
  CHECK (fingerprint = left(encode(sha256(convert_to(name, 'UTF8')), 'hex'), 16) AND strpos(name, ';dim=' || dim || ';') > 0)
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
-- Vectors stand in the row, two rows on a page (set_storage): to compare one that
-- lies elsewhere takes five times as long. What was said is not sampled into the
-- statistics of the planner: it would stay there when it is forgotten, and
-- pg_dump writes them.
ALTER TABLE records ALTER COLUMN vector SET STORAGE MAIN, ALTER COLUMN text SET STATISTICS 0, ALTER COLUMN terms SET STATISTICS 0,
  ALTER COLUMN fact SET STATISTICS 0, ALTER COLUMN vector SET STATISTICS 0;
CREATE INDEX records_by_key ON records (key);
CREATE INDEX records_by_time ON records (created_at, key);
CREATE INDEX records_by_agent ON records (agent, session, position);
CREATE INDEX records_by_term ON records USING gin (terms);
CREATE INDEX records_by_model ON records (model, agent);
CREATE INDEX records_by_category ON records (category);
CREATE INDEX records_by_kind ON records (kind) WHERE kind <> '';
-- Whatever has no sensible time.
CREATE TABLE records_undated PARTITION OF records DEFAULT;

-- How many records have a term: what BM25 is computed from. A host counts into one
-- of 64 parts, so that hosts that push at once hardly wait for each other, and a
-- word takes no more room however many hosts there are. A term that no record of a
-- part has any more is not kept: it may be what was to be forgotten.
CREATE TABLE term_counts (
  term    text     NOT NULL,
  part    smallint NOT NULL,
  records bigint   NOT NULL,
  PRIMARY KEY (term, part)
) WITH (fillfactor = 70);
ALTER TABLE term_counts ALTER COLUMN term SET STATISTICS 0;

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

-- What a host may not do by itself the server does for it, and no more than
-- that: make a quarter, count terms, forget, index vectors. These functions find
-- nothing but their own tables and what is PostgreSQL's: whoever may create
-- something in a schema of a search path could otherwise have it carried out by
-- the owner.

-- quarter_of is the first millisecond of the quarter of a time, NULL of times before
-- 2023, which only wrong clocks and old imports have: a question locks every quarter.
CREATE FUNCTION quarter_of(at bigint) RETURNS timestamp LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN at >= 1672531200000 AND at < 4102444800000
    THEN date_trunc('quarter', to_timestamp(at / 1000.0) AT TIME ZONE 'UTC') END
$$;

-- part_of is where a host counts its terms.
CREATE FUNCTION part_of(host integer) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$ SELECT (host % 64)::smallint $$;

-- take_turn waits for a turn to ask. A question locks the tables of all quarters and
-- their indexes: of those that are under way at one time half of the server's locks
-- are enough.
CREATE FUNCTION take_turn() RETURNS void LANGUAGE plpgsql SET search_path = sessctl, pg_temp AS $$
DECLARE
  turns integer;
BEGIN
  SELECT greatest(1, current_setting('max_locks_per_transaction')::bigint * current_setting('max_connections')::bigint / (2 * (1 + count(DISTINCT i.inhrelid) + count(x.indexrelid)))) INTO turns
    FROM pg_inherits i LEFT JOIN pg_index x ON x.indrelid = i.inhrelid WHERE i.inhparent = 'records'::regclass;
  FOR turn IN 1..turns LOOP
    IF pg_try_advisory_xact_lock(731057519, turn) THEN
      RETURN;
    END IF;
  END LOOP;
  PERFORM pg_advisory_xact_lock(731057519, 1 + floor(random() * turns)::integer);
END $$;

-- has_record says whether a host has a record. As a function it is planned only
-- if a fact has a successor.
CREATE FUNCTION has_record(of_host integer, of_id text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM records r WHERE r.host = of_host AND r.id = of_id);
END $$;

-- want_read_committed refuses to go on where it is not seen what others have
-- committed since this transaction began: after a lock that was waited for, say.
CREATE FUNCTION want_read_committed() RETURNS void LANGUAGE plpgsql SET search_path = sessctl, pg_temp AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE feature_not_supported USING MESSAGE = format('transactions are %s here and must be read committed: as the owner, ALTER DATABASE %I SET default_transaction_isolation = ''read committed''',
      current_setting('transaction_isolation'), current_database());
  END IF;
END $$;

-- set_storage gives the table of a quarter what it does not have from that of all.
-- What a question has to wait for in an index of terms is kept short.
CREATE FUNCTION set_storage(part regclass) RETURNS void LANGUAGE plpgsql SET search_path = sessctl, pg_temp AS $$
DECLARE
  name regclass;
BEGIN
  EXECUTE format('ALTER TABLE %s SET (toast_tuple_target = 4064), ALTER COLUMN vector SET STORAGE MAIN, ALTER COLUMN text SET STATISTICS 0, ALTER COLUMN terms SET STATISTICS 0,
    ALTER COLUMN fact SET STATISTICS 0, ALTER COLUMN vector SET STATISTICS 0', part);
  FOR name IN SELECT i.indexrelid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam WHERE i.indrelid = part AND a.amname = 'gin' LOOP
    EXECUTE format('ALTER INDEX %s SET (gin_pending_list_limit = 1024)', name);
  END LOOP;
END $$;
SELECT set_storage('records_undated');

-- add_quarters makes the tables of quarters. That keeps others from asking and
-- pushing, so everything that can be done before is done before, and a quarter may
-- have its table one quarter ahead: nobody waits then when it begins. Rows of a
-- quarter that had no table yet are moved into it.
CREATE FUNCTION add_quarters(times bigint[], wait integer DEFAULT 200) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = sessctl, pg_temp AS $$
DECLARE
  first timestamp;
  name text;
  low bigint;
  high bigint;
BEGIN
  PERFORM want_read_committed();
  PERFORM set_config('lock_timeout', wait::text, true);
  FOR first IN SELECT DISTINCT quarter_of(t) FROM unnest(times) t
    WHERE quarter_of(t) <= date_trunc('quarter', now() AT TIME ZONE 'UTC') + interval '3 months' ORDER BY 1 LOOP
    name := 'records_' || to_char(first, 'YYYY_"q"Q');
    CONTINUE WHEN EXISTS (SELECT 1 FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'records'::regclass AND c.relname = name);
    PERFORM pg_advisory_xact_lock(7310575183871968116);
    CONTINUE WHEN EXISTS (SELECT 1 FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'records'::regclass AND c.relname = name);
    low := (extract(epoch FROM first) * 1000)::bigint;
    high := (extract(epoch FROM first + interval '3 months') * 1000)::bigint;
    -- Attached, not made in place: that does not wait for questions about other
    -- quarters. Its indexes are taken as they are.
    EXECUTE format('CREATE TABLE %I (LIKE records INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)', name);
    PERFORM set_storage(name::regclass);
    LOCK TABLE records_undated IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('WITH moved AS (DELETE FROM records_undated WHERE created_at >= %s AND created_at < %s RETURNING *) INSERT INTO %I SELECT * FROM moved', low, high, name);
    EXECUTE format('ALTER TABLE records ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', name, low, high);
  END LOOP;
END $$;

-- Where the server has pg_textsearch, its index proposes records by their words.
-- It stands on a table of its own, sessctl.record_words: its statistics count
-- the words of all hosts, so only who may read all records may ask it; and a
-- table with such an index cannot be touched while the server has not loaded
-- pg_textsearch, which must keep nobody from pushing.

-- words_of are the terms of a record as pg_textsearch reads them, each as often
-- as it occurs. One that is not of plain letters and digits is written as a
-- number: it would be cut.
CREATE FUNCTION words_of(terms tsvector) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = sessctl, pg_temp AS $$
  SELECT coalesce(string_agg(repeat(CASE WHEN u.lexeme COLLATE "C" ~ '^[a-z0-9]+$' THEN u.lexeme ELSE 'q' || encode(convert_to(u.lexeme, 'UTF8'), 'hex') END || ' ',
    coalesce(array_length(u.positions, 1), 1)), ''), '') FROM unnest(terms) u
$$;

-- has_words says whether records are entered there; where they cannot be, what
-- is there is behind from then on and used no more.
CREATE FUNCTION has_words() RETURNS boolean LANGUAGE plpgsql SET search_path = sessctl, pg_temp AS $$
BEGIN
  IF to_regclass('sessctl.record_words') IS NULL THEN
    RETURN false;
  ELSIF coalesce(current_setting('pg_textsearch.library_version', true), '') <> '' THEN
    RETURN true;
  END IF;
  UPDATE state SET value = 'behind' WHERE name = 'words' AND value = 'whole';
  RETURN false;
END $$;

-- build_words makes that table and its index anew. Pushes wait meanwhile. Without
-- pg_textsearch it drops what there is.
CREATE FUNCTION build_words(wanted boolean) RETURNS void LANGUAGE plpgsql SET search_path = sessctl, pg_temp AS $$
DECLARE
  owner name;
BEGIN
  PERFORM want_read_committed();
  SELECT pg_get_userbyid(relowner) INTO owner FROM pg_class WHERE oid = 'records'::regclass;
  PERFORM set_config('lock_timeout', '10s', true);
  LOCK TABLE records IN SHARE ROW EXCLUSIVE MODE;
  DROP TABLE IF EXISTS sessctl.record_words;
  DELETE FROM state WHERE name = 'words';
  IF NOT wanted THEN
    RETURN;
  END IF;
  CREATE TABLE sessctl.record_words (key bigint NOT NULL, created_at bigint NOT NULL, words text NOT NULL);
  EXECUTE format('ALTER TABLE sessctl.record_words OWNER TO %I', owner);
  ALTER TABLE sessctl.record_words ALTER COLUMN words SET STATISTICS 0;
  INSERT INTO sessctl.record_words SELECT r.key, r.created_at, words_of(r.terms) FROM records r;
  ALTER TABLE sessctl.record_words ADD PRIMARY KEY (key);
  CREATE INDEX record_words_by_word ON sessctl.record_words USING bm25 (words) WITH (text_config = 'pg_catalog.simple');
  GRANT SELECT ON sessctl.record_words TO sessctl_reader;
  INSERT INTO state VALUES ('words', 'whole');
END $$;

CREATE FUNCTION count_added() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = sessctl, pg_temp AS $$
BEGIN
  INSERT INTO term_counts AS c (term, part, records)
    SELECT u.lexeme, part_of(a.host), count(*) FROM added a, unnest(a.terms) u GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (term, part) DO UPDATE SET records = c.records + excluded.records;
  UPDATE hosts h SET records = h.records + a.n, tokens = h.tokens + a.tokens
    FROM (SELECT host, count(*) AS n, sum(length) AS tokens FROM added GROUP BY 1) a WHERE h.host = a.host;
  IF has_words() THEN
    INSERT INTO sessctl.record_words SELECT a.key, a.created_at, words_of(a.terms) FROM added a;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION count_removed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = sessctl, pg_temp AS $$
BEGIN
  WITH gone AS (
    SELECT u.lexeme, part_of(x.host) AS part, count(*) AS n FROM removed x, unnest(x.terms) u GROUP BY 1, 2),
  counted AS (
    UPDATE term_counts c SET records = c.records - g.n FROM gone g
      WHERE c.term = g.lexeme AND c.part = g.part AND c.records > g.n RETURNING c.term, c.part)
  DELETE FROM term_counts c USING gone g
    WHERE c.term = g.lexeme AND c.part = g.part AND NOT EXISTS (SELECT 1 FROM counted k WHERE k.term = c.term AND k.part = c.part);
  UPDATE hosts h SET records = h.records - r.n, tokens = h.tokens - r.tokens
    FROM (SELECT host, count(*) AS n, sum(length) AS tokens FROM removed GROUP BY 1) r WHERE h.host = r.host;
  IF has_words() THEN
    DELETE FROM sessctl.record_words w USING removed x WHERE w.key = x.key;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER records_added AFTER INSERT ON records REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_added();
CREATE TRIGGER records_removed AFTER DELETE ON records REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_removed();

-- push stores a batch of a host as one statement: whatever becomes of who sent
-- it, no lock outlives that. What the batch was made from must still hold: the
-- last push is the one that was seen. Only while it ends nobody buries: see there.
-- A lock is waited for no longer than so many milliseconds. It returns when that
-- was, and how many records were stored and dropped.
CREATE FUNCTION push(of_host integer, of_memory text, take_over boolean, seen bigint, of_model integer, gone text[], changed text[], batch json, wait integer)
RETURNS bigint[] LANGUAGE plpgsql SET search_path = sessctl, pg_temp AS $$
DECLARE
  pushed bigint;
  dropped bigint := 0;
  added text[];
BEGIN
  PERFORM want_read_committed();
  PERFORM set_config('lock_timeout', wait::text, true);
  -- last_push is never the same twice: by this a host sees that the server was set back.
  UPDATE hosts SET memory = of_memory, last_push = greatest((extract(epoch FROM clock_timestamp()) * 1000)::bigint, last_push + 1)
    WHERE host = of_host AND last_push = seen AND (memory IN ('', of_memory) OR take_over) RETURNING last_push INTO pushed;
  IF pushed IS NULL THEN
    RAISE serialization_failure USING MESSAGE = 'this host was pushed meanwhile';
  END IF;
  PERFORM pg_advisory_xact_lock(731057518, part_of(of_host)); -- before it has done anything: counts of terms are not waited for
  IF cardinality(gone || changed) > 0 THEN -- it locks the tables of all quarters, and would wait for whichever is being indexed
    WITH x AS (DELETE FROM records WHERE host = of_host AND id = ANY (gone || changed) RETURNING id) SELECT count(*) INTO dropped FROM x WHERE id = ANY (gone);
  END IF;
  WITH stored AS (INSERT INTO records (host, model, id, digest, category, importance, created_at, runtime, agent, session, routing_key, archive, archive_path,
      first_line, last_line, first_byte, end_byte, branch, position, text, terms, length, kind, successor, fact, vector)
    SELECT of_host, CASE WHEN x.vector IS NOT NULL THEN of_model END, x.id, x.digest, x.category, x.importance, x.created_at, x.runtime, x.agent, x.session, x.routing_key, x.archive, x.archive_path,
      x.first_line, x.last_line, x.first_byte, x.end_byte, x.branch, x.position, x.text, x.terms, x.length, x.kind, x.successor, x.fact, x.vector
    FROM json_populate_recordset(NULL::records, batch) x
    WHERE NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.id = x.id) ORDER BY x.created_at, x.id RETURNING id)
    SELECT array_agg(id) INTO added FROM stored;
  PERFORM pg_advisory_xact_lock_shared(7310575183871968117);
  IF EXISTS (SELECT 1 FROM tombstones WHERE id = ANY (added)) THEN -- it was buried meanwhile
    DELETE FROM records WHERE host = of_host AND id IN (SELECT t.id FROM tombstones t WHERE t.id = ANY (added));
    added := ARRAY(SELECT id FROM records WHERE host = of_host AND id = ANY (added));
  END IF;
  RETURN ARRAY[pushed, coalesce(cardinality(added), 0), dropped];
END $$;

-- bury notes what is forgotten. It waits for the pushes that are just ending: one
-- of them may have stored it. Those that end later see the note. What is there
-- remove_buried then removes, and keeps nobody waiting but the hosts that have it.
CREATE FUNCTION bury(by_host text, ids text[], times bigint[], archives text[], first_bytes bigint[], end_bytes bigint[], wait integer DEFAULT 10000)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = sessctl, pg_temp AS $$
DECLARE
  of_host integer;
BEGIN
  PERFORM want_read_committed();
  PERFORM set_config('lock_timeout', wait::text, true);
  SELECT host INTO of_host FROM hosts WHERE name = by_host;
  IF of_host IS NULL OR NOT EXISTS (SELECT 1 FROM hosts WHERE host = of_host AND (role = session_user OR pg_has_role(session_user, role, 'MEMBER'))) THEN
    RAISE insufficient_privilege USING MESSAGE = format('host %L belongs to another role', by_host);
  END IF;
  PERFORM pg_advisory_xact_lock(7310575183871968117);
  INSERT INTO tombstones (id, host, at, archive, first_byte, end_byte)
    SELECT id, of_host, at, archive, first_byte, end_byte
    FROM unnest(ids, times, archives, first_bytes, end_bytes) AS x (id, at, archive, first_byte, end_byte) ORDER BY id
    ON CONFLICT (id) DO NOTHING;
END $$;

-- remove_buried removes what is buried, of all hosts.
CREATE FUNCTION remove_buried(ids text[], wait integer DEFAULT 10000) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = sessctl, pg_temp AS $$
DECLARE
  keys bigint[];
  of_hosts integer[];
  removed bigint;
BEGIN
  PERFORM want_read_committed();
  PERFORM set_config('lock_timeout', wait::text, true);
  SELECT array_agg(r.key), array_agg(DISTINCT r.host) INTO keys, of_hosts FROM records r WHERE r.id = ANY (ids) AND EXISTS (SELECT 1 FROM tombstones t WHERE t.id = r.id);
  IF keys IS NULL THEN
    RETURN 0;
  END IF;
  PERFORM 1 FROM hosts WHERE host = ANY (of_hosts) ORDER BY host FOR NO KEY UPDATE;
  PERFORM pg_advisory_xact_lock(731057518, p.part) FROM (SELECT DISTINCT part_of(h) AS part FROM unnest(of_hosts) h ORDER BY 1) p;
  DELETE FROM records WHERE key = ANY (keys);
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN removed;
END $$;

-- tend_indexes ends a push: what is new comes into the indexes of terms, and a
-- quarter that has become too large to be compared row by row gets an index of
-- vectors. Adding to that is slow, so while others push it is made only for a
-- quarter that is much too large. It makes the index of one quarter and returns 1, or
-- 0 if there is none to make, and is called until then: while an index is made
-- nobody pushes records of that quarter, and for all quarters in one transaction
-- pushes of each would have waited for all.
CREATE FUNCTION tend_indexes(of_model integer, many_from bigint, of_host text DEFAULT '') RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = sessctl, pg_temp AS $$
DECLARE
  place text;
  components integer;
  part record;
  name text;
  here bigint;
  most bigint;
BEGIN
  PERFORM gin_clean_pending_list(i.indexrelid) FROM pg_inherits p JOIN pg_index i ON i.indrelid = p.inhrelid JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
    WHERE p.inhparent = 'records'::regclass AND a.amname = 'gin';
  SELECT dim INTO components FROM models WHERE model = of_model;
  IF components IS NULL OR components > 4000 OR NOT pg_try_advisory_xact_lock(7310575183871968118) THEN
    RETURN 0;
  END IF;
  IF NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
    many_from := greatest(many_from, 10000);
  END IF;
  IF EXISTS (SELECT 1 FROM hosts h WHERE h.name <> of_host AND h.last_push > (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 3000) THEN
    many_from := 10 * many_from;
  END IF;
  -- An autovacuum that is in the way is ended by the server after deadlock_timeout.
  PERFORM set_config('lock_timeout', (1000 + extract(epoch FROM current_setting('deadlock_timeout')::interval) * 1000)::integer::text, true);
  SELECT quote_ident(n.nspname) INTO place FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector';
  FOR part IN SELECT c.oid::regclass AS id, c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'records'::regclass ORDER BY 2 LOOP
    name := part.relname || '_vectors_' || of_model;
    CONTINUE WHEN EXISTS (SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = part.id AND c.relname = name);
    EXECUTE format('SELECT count(*) FROM %s WHERE model = %s', part.id, of_model) INTO here;
    -- To a quarter that is over hardly anything is added.
    CONTINUE WHEN here < CASE WHEN part.relname < 'records_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_"q"Q') THEN many_from / 5 ELSE many_from END;
    -- The whole graph in memory is built several times as fast: as much as it
    -- needs, but no more than the server's own buffers, or 256 MB.
    SELECT greatest(262144, setting::bigint * 8) INTO most FROM pg_settings WHERE pg_settings.name = 'shared_buffers';
    PERFORM set_config('maintenance_work_mem', greatest(setting::bigint, least(most, here * (2 * components + 700) / 1024)) || 'kB', true)
      FROM pg_settings WHERE pg_settings.name = 'maintenance_work_mem';
    BEGIN
      EXECUTE format('CREATE INDEX %I ON %s USING hnsw ((vector::%s.halfvec(%s)) %s.halfvec_ip_ops) WHERE model = %s', name, part.id, place, components, place, of_model);
    EXCEPTION WHEN disk_full THEN -- containers have little shared memory: alone it needs none
      PERFORM set_config('max_parallel_maintenance_workers', '0', true);
      EXECUTE format('CREATE INDEX %I ON %s USING hnsw ((vector::%s.halfvec(%s)) %s.halfvec_ip_ops) WHERE model = %s', name, part.id, place, components, place, of_model);
    END;
    RETURN 1;
  END LOOP;
  RETURN 0;
END $$;

-- Who may do what. sessctl_host writes the records of the hosts that its role
-- registered, and sees no others; sessctl_reader reads all. A role that asks
-- for all hosts has both. The owner of the tables may do everything.
DO $$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['sessctl_host', 'sessctl_reader'] LOOP
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = wanted) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
    END IF;
  END LOOP;
END $$;

GRANT USAGE ON SCHEMA sessctl TO sessctl_host, sessctl_reader;
GRANT SELECT ON state, migrations, hosts, models, records, tombstones TO sessctl_host, sessctl_reader;
GRANT SELECT ON term_counts TO sessctl_reader; -- it says which words others use
GRANT INSERT (name), UPDATE (last_push, memory, heard, uploaded, verified, archives) ON hosts TO sessctl_host;
GRANT INSERT (fingerprint, name, dim) ON models TO sessctl_host;
-- A host names no keys: one that another record has would hide that.
GRANT DELETE, INSERT (host, model, id, digest, category, importance, created_at, runtime, agent, session, routing_key, archive, archive_path,
  first_line, last_line, first_byte, end_byte, branch, position, text, terms, length, kind, successor, fact, vector) ON records TO sessctl_host;
GRANT USAGE ON SEQUENCE record_keys TO sessctl_host;

REVOKE EXECUTE ON FUNCTION set_storage(regclass), add_quarters(bigint[], integer), words_of(tsvector), has_words(), build_words(boolean), count_added(), count_removed(),
  bury(text, text[], bigint[], text[], bigint[], bigint[], integer), remove_buried(text[], integer), tend_indexes(integer, bigint, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION add_quarters(bigint[], integer), tend_indexes(integer, bigint, text), bury(text, text[], bigint[], text[], bigint[], bigint[], integer),
  remove_buried(text[], integer) TO sessctl_host;

ALTER TABLE hosts ENABLE ROW LEVEL SECURITY;
CREATE POLICY hosts_read ON hosts FOR SELECT USING (true);
CREATE POLICY hosts_register ON hosts FOR INSERT TO sessctl_host WITH CHECK (role = current_user AND role <> 'sessctl_host'); -- all hosts are that
CREATE POLICY hosts_touch ON hosts FOR UPDATE TO sessctl_host USING (role = current_user) WITH CHECK (role = current_user);

ALTER TABLE records ENABLE ROW LEVEL SECURITY;
-- The vectors of a host are what their model says they are: one of another length
-- would fail every question of all hosts, and a long one would be the answer to
-- each.
CREATE POLICY records_own ON records FOR SELECT TO sessctl_host USING (host IN (SELECT h.host FROM hosts h WHERE h.role = current_user));
CREATE POLICY records_drop ON records FOR DELETE TO sessctl_host USING (host IN (SELECT h.host FROM hosts h WHERE h.role = current_user));
CREATE POLICY records_add ON records FOR INSERT TO sessctl_host WITH CHECK (
  host IN (SELECT h.host FROM hosts h WHERE h.role = current_user)
  AND importance BETWEEN 0 AND 1 AND length BETWEEN 0 AND 20 + 4 * octet_length(text)
  AND (model IS NULL) = (vector IS NULL)
  AND (vector IS NULL OR vector_dims(vector) = (SELECT m.dim FROM models m WHERE m.model = records.model) AND l2_norm(vector) BETWEEN 0.9 AND 1.1));
CREATE POLICY records_read ON records FOR SELECT TO sessctl_reader USING (true);
