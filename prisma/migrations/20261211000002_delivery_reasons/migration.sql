-- Reasons of the ledger are codes (0381). Rows that are compared by them get theirs; what is decided keeps its sentence, which is
-- shown as it is.
UPDATE hot.delivery SET reason = CASE reason WHEN 'waits for its time' THEN 'own_time' ELSE 'worker_lost' END
 WHERE state = 'queued' AND reason IN ('waits for its time', 'worker lost');

-- They compare sentences, and nothing calls them any more.
DROP FUNCTION IF EXISTS hot.settle_deliveries;
DROP FUNCTION IF EXISTS hot.settle_and_mark(date, bigint, bigint, bigint, uuid, bigint, interval, bigint[], integer[], hot.delivery_state[],
  boolean[], text[], text[], text[], double precision[], bigint[], integer[]);
DROP FUNCTION IF EXISTS hot.settle_and_mark(date, bigint, bigint, bigint, uuid, bigint, interval, bigint[], integer[], hot.delivery_state[],
  boolean[], text[], text[], text[], double precision[], bigint[], integer[], timestamptz);
