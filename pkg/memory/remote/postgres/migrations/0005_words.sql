-- Where the server has pg_textsearch, its index proposes records by their words.
-- It stands on a table of its own, sessctl.record_words: its statistics count
-- the words of all hosts, so only who may read all records may ask it; and a
-- table with such an index cannot be touched while the server has not loaded
-- pg_textsearch, which must keep nobody from pushing.

-- words_of are the terms of a record as pg_textsearch reads them, each as often
-- as it occurs. One that is not of plain letters and digits is written as a
-- number: it would be cut.
CREATE FUNCTION words_of(terms tsvector) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(string_agg(repeat(CASE WHEN u.lexeme COLLATE "C" ~ '^[a-z0-9]+$' THEN u.lexeme ELSE 'q' || encode(convert_to(u.lexeme, 'UTF8'), 'hex') END || ' ',
    coalesce(array_length(u.positions, 1), 1)), ''), '') FROM unnest(terms) u
$$;

-- has_words says whether records are entered there; where they cannot be, what
-- is there is behind from then on and used no more.
CREATE FUNCTION has_words() RETURNS boolean LANGUAGE plpgsql AS $$
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
CREATE FUNCTION build_words(wanted boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  owner name;
BEGIN
  SELECT pg_get_userbyid(relowner) INTO owner FROM pg_class WHERE oid = 'records'::regclass;
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

CREATE OR REPLACE FUNCTION count_added() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO term_counts AS c (term, host, records)
    SELECT u.lexeme, a.host, count(*) FROM added a, unnest(a.terms) u GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (term, host) DO UPDATE SET records = c.records + excluded.records;
  UPDATE hosts h SET records = h.records + a.n, tokens = h.tokens + a.tokens
    FROM (SELECT host, count(*) AS n, sum(length) AS tokens FROM added GROUP BY 1) a WHERE h.host = a.host;
  IF has_words() THEN
    INSERT INTO sessctl.record_words SELECT a.key, a.created_at, words_of(a.terms) FROM added a;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION count_removed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  WITH counted AS (
    UPDATE term_counts c SET records = c.records - r.n
      FROM (SELECT u.lexeme, x.host, count(*) AS n FROM removed x, unnest(x.terms) u GROUP BY 1, 2 ORDER BY 1, 2) r
      WHERE c.term = r.lexeme AND c.host = r.host AND c.records > r.n RETURNING c.term, c.host)
  DELETE FROM term_counts c USING (SELECT DISTINCT u.lexeme, x.host FROM removed x, unnest(x.terms) u) r
    WHERE c.term = r.lexeme AND c.host = r.host AND NOT EXISTS (SELECT 1 FROM counted k WHERE k.term = c.term AND k.host = c.host);
  UPDATE hosts h SET records = h.records - r.n, tokens = h.tokens - r.tokens
    FROM (SELECT host, count(*) AS n, sum(length) AS tokens FROM removed GROUP BY 1) r WHERE h.host = r.host;
  IF has_words() THEN
    DELETE FROM sessctl.record_words w USING removed x WHERE w.key = x.key;
  END IF;
  RETURN NULL;
END $$;

REVOKE EXECUTE ON FUNCTION words_of(tsvector), has_words(), build_words(boolean) FROM PUBLIC;
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOREACH f IN ARRAY ARRAY['words_of(tsvector)', 'has_words()', 'build_words(boolean)', 'count_added()', 'count_removed()']::regprocedure[] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', f, current_schema());
  END LOOP;
END $$;
