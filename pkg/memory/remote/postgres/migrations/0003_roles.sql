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

DO $$
BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA %I TO sessctl_host, sessctl_reader', current_schema());
END $$;
GRANT SELECT ON state, migrations, hosts, models, records, term_counts, tombstones TO sessctl_host, sessctl_reader;
GRANT INSERT (name), UPDATE (last_push) ON hosts TO sessctl_host;
GRANT INSERT (fingerprint, name, dim) ON models TO sessctl_host;
GRANT INSERT, DELETE ON records TO sessctl_host;
GRANT USAGE ON SEQUENCE record_keys TO sessctl_host;

REVOKE EXECUTE ON FUNCTION add_months(bigint[]), count_added(), count_removed(), index_vectors(integer, bigint),
  bury(text, text[], bigint[], text[], bigint[], bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION add_months(bigint[]), index_vectors(integer, bigint),
  bury(text, text[], bigint[], text[], bigint[], bigint[]) TO sessctl_host;

ALTER TABLE hosts ENABLE ROW LEVEL SECURITY;
CREATE POLICY hosts_read ON hosts FOR SELECT USING (true);
CREATE POLICY hosts_register ON hosts FOR INSERT TO sessctl_host WITH CHECK (role = current_user);
CREATE POLICY hosts_touch ON hosts FOR UPDATE TO sessctl_host USING (role = current_user) WITH CHECK (role = current_user);

ALTER TABLE records ENABLE ROW LEVEL SECURITY;
CREATE POLICY records_own ON records TO sessctl_host
  USING (host IN (SELECT h.host FROM hosts h WHERE h.role = current_user))
  WITH CHECK (host IN (SELECT h.host FROM hosts h WHERE h.role = current_user));
CREATE POLICY records_read ON records FOR SELECT TO sessctl_reader USING (true);

ALTER TABLE term_counts ENABLE ROW LEVEL SECURITY;
CREATE POLICY term_counts_own ON term_counts FOR SELECT TO sessctl_host
  USING (host IN (SELECT h.host FROM hosts h WHERE h.role = current_user));
CREATE POLICY term_counts_read ON term_counts FOR SELECT TO sessctl_reader USING (true);
