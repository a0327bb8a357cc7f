-- What the last run was still to pass over when it ended (hot.flow_run.done): who is sent in again passes over it.
ALTER TABLE hot.flow_entry ADD COLUMN done jsonb;
-- Nothing has ever read it: a live test has no run.
ALTER TABLE hot.flow_run DROP COLUMN is_test;
