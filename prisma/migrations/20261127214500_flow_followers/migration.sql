-- Up to where each flow has read what happened to the people of its list; it moves with what the events did.
CREATE TABLE hot.flow_follower (
  customer_id   bigint      NOT NULL,
  automation_id bigint      NOT NULL,
  -- Id of the last event (hot.person_event).
  position      bigint      NOT NULL,
  -- The next ones were recorded after this time: months before are not read.
  since         timestamptz NOT NULL DEFAULT clock_timestamp(),
  failures      smallint    NOT NULL DEFAULT 0,
  -- A batch that failed is tried again then.
  retry_at      timestamptz,
  PRIMARY KEY (customer_id, automation_id)
) WITH (fillfactor = 50);
