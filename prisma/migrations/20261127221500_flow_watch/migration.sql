-- When the workers last moved people through flows, by the database's clock: after an outage nothing late is sent without being asked (D85).
CREATE TABLE hot.flow_watch (
  one     boolean     PRIMARY KEY DEFAULT true CHECK (one),
  seen_at timestamptz NOT NULL
);
