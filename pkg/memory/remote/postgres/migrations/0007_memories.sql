-- Whose records a host has is told by the identity of a memory, not only by a name
-- that two machines may carry: '' is not known, as of all hosts before this.
ALTER TABLE hosts ADD COLUMN memory text NOT NULL DEFAULT '';
GRANT UPDATE (memory) ON hosts TO sessctl_host;
