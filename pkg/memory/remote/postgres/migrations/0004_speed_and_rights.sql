-- What was measured with many records, and what a role could do that it should
-- not.

-- A term that no record of a host has any more is not kept: it may be what was
-- to be forgotten.
CREATE OR REPLACE FUNCTION count_removed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  WITH counted AS (
    UPDATE term_counts c SET records = c.records - r.n
      FROM (SELECT u.lexeme, x.host, count(*) AS n FROM removed x, unnest(x.terms) u GROUP BY 1, 2 ORDER BY 1, 2) r
      WHERE c.term = r.lexeme AND c.host = r.host AND c.records > r.n RETURNING c.term, c.host)
  DELETE FROM term_counts c USING (SELECT DISTINCT u.lexeme, x.host FROM removed x, unnest(x.terms) u) r
    WHERE c.term = r.lexeme AND c.host = r.host AND NOT EXISTS (SELECT 1 FROM counted k WHERE k.term = c.term AND k.host = c.host);
  UPDATE hosts h SET records = h.records - r.n, tokens = h.tokens - r.tokens
    FROM (SELECT host, count(*) AS n, sum(length) AS tokens FROM removed GROUP BY 1) r WHERE h.host = r.host;
  RETURN NULL;
END $$;
DELETE FROM term_counts WHERE records <= 0;

-- The functions of the owner find nothing but their own tables and what is
-- PostgreSQL's: whoever may create something in a schema of a search path could
-- otherwise have it carried out by the owner.
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOREACH f IN ARRAY ARRAY['count_added()', 'count_removed()', 'bury(text, text[], bigint[], text[], bigint[], bigint[])']::regprocedure[] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', f, current_schema());
  END LOOP;
END $$;

-- Vectors stand in the row, two rows on a page: to compare one that lies
-- elsewhere takes five times as long. What a question has to wait for in an index of terms is kept short.
-- What was said is not sampled into the statistics of the planner: it would stay
-- there when it is forgotten, and pg_dump writes them.
CREATE FUNCTION set_storage(part regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  name regclass;
BEGIN
  EXECUTE format('ALTER TABLE %s SET (toast_tuple_target = 4064), ALTER COLUMN vector SET STORAGE MAIN, ALTER COLUMN text SET STATISTICS 0, ALTER COLUMN terms SET STATISTICS 0,
    ALTER COLUMN fact SET STATISTICS 0, ALTER COLUMN vector SET STATISTICS 0', part);
  FOR name IN SELECT i.indexrelid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam WHERE i.indrelid = part AND a.amname = 'gin' LOOP
    EXECUTE format('ALTER INDEX %s SET (gin_pending_list_limit = 1024)', name);
  END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION set_storage(regclass) FROM PUBLIC;
ALTER TABLE records ALTER COLUMN vector SET STORAGE MAIN, ALTER COLUMN text SET STATISTICS 0, ALTER COLUMN terms SET STATISTICS 0, ALTER COLUMN fact SET STATISTICS 0, ALTER COLUMN vector SET STATISTICS 0;
ALTER TABLE term_counts ALTER COLUMN term SET STATISTICS 0;
SELECT set_storage(inhrelid) FROM pg_inherits WHERE inhparent = 'records'::regclass;

CREATE INDEX records_by_model ON records (model, agent);
CREATE INDEX records_by_category ON records (category);
CREATE INDEX records_by_kind ON records (kind) WHERE kind <> '';

-- has_record says whether a host has a record. As a function it is planned only
-- if a fact has a successor.
CREATE FUNCTION has_record(of_host integer, of_id text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM records r WHERE r.host = of_host AND r.id = of_id);
END $$;

-- Rows of a month that had no table yet are moved into it; a month that is to
-- come gets none.
CREATE OR REPLACE FUNCTION add_months(times bigint[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  first timestamp;
  name text;
  low bigint;
  high bigint;
BEGIN
  FOR first IN SELECT DISTINCT month_of(t) FROM unnest(times) t WHERE month_of(t) < now() AT TIME ZONE 'UTC' + interval '2 days' ORDER BY 1 LOOP
    name := 'records_' || to_char(first, 'YYYY_MM');
    CONTINUE WHEN EXISTS (SELECT 1 FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'records'::regclass AND c.relname = name);
    PERFORM pg_advisory_xact_lock(7310575183871968116);
    CONTINUE WHEN EXISTS (SELECT 1 FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'records'::regclass AND c.relname = name);
    low := (extract(epoch FROM first) * 1000)::bigint;
    high := (extract(epoch FROM first + interval '1 month') * 1000)::bigint;
    -- Attached, not made in place: that does not wait for questions about other
    -- months.
    EXECUTE format('CREATE TABLE %I (LIKE records INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
    LOCK TABLE records_undated IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('WITH moved AS (DELETE FROM records_undated WHERE created_at >= %s AND created_at < %s RETURNING *) INSERT INTO %I SELECT * FROM moved', low, high, name);
    EXECUTE format('ALTER TABLE records ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', name, low, high);
    PERFORM set_storage(name::regclass);
  END LOOP;
END $$;

-- tend_indexes ends a push: what is new comes into the indexes of terms, and a
-- month that has become too large to be compared row by row gets an index of
-- vectors. Adding to that is slow, so while others push it is made only for a
-- month that is much too large. It returns how many it made.
CREATE FUNCTION tend_indexes(of_model integer, many_from bigint) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  place text;
  components integer;
  part record;
  name text;
  here bigint;
  most bigint;
  made integer := 0;
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
  IF pg_try_advisory_lock(7310575183871968119) THEN -- nobody pushes
    PERFORM pg_advisory_unlock(7310575183871968119);
  ELSE
    many_from := 10 * many_from;
  END IF;
  SELECT quote_ident(n.nspname) INTO place FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector';
  FOR part IN SELECT c.oid::regclass AS id, c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'records'::regclass ORDER BY 2 LOOP
    name := part.relname || '_vectors_' || of_model;
    CONTINUE WHEN EXISTS (SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = part.id AND c.relname = name);
    EXECUTE format('SELECT count(*) FROM %s WHERE model = %s', part.id, of_model) INTO here;
    -- To a month that is over hardly anything is added.
    CONTINUE WHEN here < CASE WHEN part.relname < 'records_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM') THEN many_from / 5 ELSE many_from END;
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
    made := made + 1;
  END LOOP;
  RETURN made;
END $$;
DROP FUNCTION index_vectors(integer, bigint);
REVOKE EXECUTE ON FUNCTION tend_indexes(integer, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tend_indexes(integer, bigint) TO sessctl_host;
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOREACH f IN ARRAY ARRAY['add_months(bigint[])', 'set_storage(regclass)', 'tend_indexes(integer, bigint)']::regprocedure[] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', f, current_schema());
  END LOOP;
END $$;

-- A host names no keys: one that another record has would hide that. Its vectors
-- are what their model says they are: one of another length would fail every
-- question of all hosts, and a long one would be the answer to each.
REVOKE INSERT ON records FROM sessctl_host;
GRANT INSERT (host, model, id, digest, category, importance, created_at, runtime, agent, session, routing_key, archive, archive_path,
  first_line, last_line, first_byte, end_byte, branch, position, text, terms, length, kind, successor, fact, vector) ON records TO sessctl_host;
DROP POLICY records_own ON records;
CREATE POLICY records_own ON records FOR SELECT TO sessctl_host USING (host IN (SELECT h.host FROM hosts h WHERE h.role = current_user));
CREATE POLICY records_drop ON records FOR DELETE TO sessctl_host USING (host IN (SELECT h.host FROM hosts h WHERE h.role = current_user));
CREATE POLICY records_add ON records FOR INSERT TO sessctl_host WITH CHECK (
  host IN (SELECT h.host FROM hosts h WHERE h.role = current_user)
  AND importance BETWEEN 0 AND 1 AND length BETWEEN 0 AND 20 + 4 * octet_length(text)
  AND (model IS NULL) = (vector IS NULL)
  AND (vector IS NULL OR vector_dims(vector) = (SELECT m.dim FROM models m WHERE m.model = records.model) AND l2_norm(vector) BETWEEN 0.9 AND 1.1));
