-- Making the table of a month keeps others from asking and pushing. So everything
-- that can be done before is done before, and a month may have its table one month
-- ahead: nobody waits then when it begins.
CREATE OR REPLACE FUNCTION add_months(times bigint[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  first timestamp;
  name text;
  low bigint;
  high bigint;
BEGIN
  FOR first IN SELECT DISTINCT month_of(t) FROM unnest(times) t
    WHERE month_of(t) <= date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month' ORDER BY 1 LOOP
    name := 'records_' || to_char(first, 'YYYY_MM');
    CONTINUE WHEN EXISTS (SELECT 1 FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'records'::regclass AND c.relname = name);
    PERFORM pg_advisory_xact_lock(7310575183871968116);
    CONTINUE WHEN EXISTS (SELECT 1 FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'records'::regclass AND c.relname = name);
    low := (extract(epoch FROM first) * 1000)::bigint;
    high := (extract(epoch FROM first + interval '1 month') * 1000)::bigint;
    -- Attached, not made in place: that does not wait for questions about other
    -- months. Its indexes are taken as they are.
    EXECUTE format('CREATE TABLE %I (LIKE records INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)', name);
    PERFORM set_storage(name::regclass);
    LOCK TABLE records_undated IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('WITH moved AS (DELETE FROM records_undated WHERE created_at >= %s AND created_at < %s RETURNING *) INSERT INTO %I SELECT * FROM moved', low, high, name);
    EXECUTE format('ALTER TABLE records ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', name, low, high);
  END LOOP;
END $$;
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION add_months(bigint[]) SET search_path = %I, pg_temp', current_schema());
END $$;
