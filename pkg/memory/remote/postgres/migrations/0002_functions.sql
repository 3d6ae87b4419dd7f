-- What a host may not do by itself the server does for it, and no more than
-- that: make a month, count terms, forget, index vectors.

-- month_of is the first millisecond of the month of a time, NULL of times that
-- no session has.
CREATE FUNCTION month_of(at bigint) RETURNS timestamp LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN at >= 946684800000 AND at < 4102444800000
    THEN date_trunc('month', to_timestamp(at / 1000.0) AT TIME ZONE 'UTC') END
$$;

CREATE FUNCTION add_months(times bigint[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  first timestamp;
  name text;
BEGIN
  FOR first IN SELECT DISTINCT month_of(t) FROM unnest(times) t WHERE month_of(t) IS NOT NULL ORDER BY 1 LOOP
    name := 'records_' || to_char(first, 'YYYY_MM');
    CONTINUE WHEN to_regclass(name) IS NOT NULL;
    PERFORM pg_advisory_xact_lock(7310575183871968116);
    CONTINUE WHEN to_regclass(name) IS NOT NULL;
    -- Attached, not made in place: that does not wait for questions.
    EXECUTE format('CREATE TABLE %I (LIKE records INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
    EXECUTE format('ALTER TABLE records ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', name,
      (extract(epoch FROM first) * 1000)::bigint, (extract(epoch FROM first + interval '1 month') * 1000)::bigint);
  END LOOP;
END $$;

CREATE FUNCTION count_added() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO term_counts AS c (term, host, records)
    SELECT u.lexeme, a.host, count(*) FROM added a, unnest(a.terms) u GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (term, host) DO UPDATE SET records = c.records + excluded.records;
  UPDATE hosts h SET records = h.records + a.n, tokens = h.tokens + a.tokens
    FROM (SELECT host, count(*) AS n, sum(length) AS tokens FROM added GROUP BY 1) a WHERE h.host = a.host;
  RETURN NULL;
END $$;

CREATE FUNCTION count_removed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE term_counts c SET records = c.records - r.n
    FROM (SELECT u.lexeme, x.host, count(*) AS n FROM removed x, unnest(x.terms) u GROUP BY 1, 2 ORDER BY 1, 2) r
    WHERE c.term = r.lexeme AND c.host = r.host;
  UPDATE hosts h SET records = h.records - r.n, tokens = h.tokens - r.tokens
    FROM (SELECT host, count(*) AS n, sum(length) AS tokens FROM removed GROUP BY 1) r WHERE h.host = r.host;
  RETURN NULL;
END $$;

CREATE TRIGGER records_added AFTER INSERT ON records REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_added();
CREATE TRIGGER records_removed AFTER DELETE ON records REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_removed();

-- bury forgets records of every host. It waits for pushes that are under way:
-- one of them may be storing what is to be forgotten.
CREATE FUNCTION bury(by_host text, ids text[], times bigint[], archives text[], first_bytes bigint[], end_bytes bigint[])
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  of_host integer;
  removed bigint;
BEGIN
  SELECT host INTO of_host FROM hosts WHERE name = by_host;
  IF of_host IS NULL OR NOT EXISTS (SELECT 1 FROM hosts WHERE host = of_host AND (role = session_user OR pg_has_role(session_user, role, 'MEMBER'))) THEN
    RAISE insufficient_privilege USING MESSAGE = format('host %L belongs to another role', by_host);
  END IF;
  PERFORM pg_advisory_xact_lock(7310575183871968117);
  INSERT INTO tombstones (id, host, at, archive, first_byte, end_byte)
    SELECT id, of_host, at, archive, first_byte, end_byte
    FROM unnest(ids, times, archives, first_bytes, end_bytes) AS x (id, at, archive, first_byte, end_byte) ORDER BY id
    ON CONFLICT (id) DO NOTHING;
  PERFORM 1 FROM hosts ORDER BY host FOR UPDATE;
  DELETE FROM records WHERE id = ANY (ids);
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN removed;
END $$;

-- index_vectors makes the index of vectors of a month that has become too large
-- to be compared row by row. It returns how many it made.
CREATE FUNCTION index_vectors(of_model integer, many_from bigint) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  components integer;
  part text;
  name text;
  many boolean;
  made integer := 0;
BEGIN
  SELECT dim INTO components FROM models WHERE model = of_model;
  IF components IS NULL OR components > 4000 OR NOT pg_try_advisory_xact_lock(7310575183871968118) THEN
    RETURN 0;
  END IF;
  FOR part IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'records'::regclass ORDER BY 1 LOOP
    name := part || '_vectors_' || of_model;
    CONTINUE WHEN to_regclass(name) IS NOT NULL;
    EXECUTE format('SELECT count(*) >= %s FROM (SELECT 1 FROM %I WHERE model = %s LIMIT %s) x', many_from, part, of_model, many_from) INTO many;
    CONTINUE WHEN NOT many;
    EXECUTE format('CREATE INDEX %I ON %I USING hnsw ((vector::halfvec(%s)) halfvec_ip_ops) WHERE model = %s', name, part, components, of_model);
    made := made + 1;
  END LOOP;
  RETURN made;
END $$;
