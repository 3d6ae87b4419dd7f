-- tend_indexes makes the index of vectors of one month and returns 1, or 0 if
-- there is none to make. It is called until then: while an index is made nobody
-- pushes records of that month, and for all months in one transaction pushes of
-- each would have waited for all.
CREATE OR REPLACE FUNCTION tend_indexes(of_model integer, many_from bigint) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER AS $$
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
    RETURN 1;
  END LOOP;
  RETURN 0;
END $$;
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION tend_indexes(integer, bigint) SET search_path = %I, pg_temp', current_schema());
END $$;
