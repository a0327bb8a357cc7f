-- A flow of a list: what happens to a person after something has happened.
CREATE TABLE automation (
    "customer_id" BIGINT NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "uid" TEXT NOT NULL,
    "list_id" BIGINT NOT NULL,
    "name" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'inactive',
    "draft" JSONB NOT NULL,
    "draft_version" INTEGER NOT NULL DEFAULT 1,
    "live_version" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "automation_pkey" PRIMARY KEY ("customer_id","id")
);

-- A published flow. It never changes (D84).
CREATE TABLE automation_version (
    "customer_id" BIGINT NOT NULL,
    "automation_id" BIGINT NOT NULL,
    "number" INTEGER NOT NULL,
    "flow" JSONB NOT NULL,
    "published_by" TEXT,
    "published_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "automation_version_pkey" PRIMARY KEY ("customer_id","automation_id","number")
);

CREATE INDEX "automation_uid_idx" ON "automation"("uid");

CREATE INDEX "automation_customer_id_list_id_idx" ON "automation"("customer_id", "list_id");

CREATE UNIQUE INDEX "automation_customer_id_uid_key" ON "automation"("customer_id", "uid");

ALTER TABLE "automation" ADD CONSTRAINT "automation_customer_id_list_id_fkey" FOREIGN KEY ("customer_id", "list_id") REFERENCES "mail_list"("customer_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "automation_version" ADD CONSTRAINT "automation_version_customer_id_automation_id_fkey" FOREIGN KEY ("customer_id", "automation_id") REFERENCES "automation"("customer_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE SEQUENCE hot.flow_run_id_seq;

CREATE TYPE hot.flow_state AS ENUM ('due', 'waiting', 'parked');

-- A person in a flow: one narrow row, moved from node to node. Who has ended is not here (hot.flow_entry has them).
CREATE TABLE hot.flow_run (
  customer_id   bigint         NOT NULL,
  automation_id bigint         NOT NULL,
  id            bigint         NOT NULL DEFAULT nextval('hot.flow_run_id_seq'),
  person_id     bigint         NOT NULL,
  entered_at    timestamptz    NOT NULL,
  -- Arrival at the node.
  since         timestamptz    NOT NULL,
  -- When the node's work is due: at once, or at the end of the wait. Null: never by itself.
  wake_at       timestamptz,
  version       integer        NOT NULL,
  state         hot.flow_state NOT NULL DEFAULT 'due',
  -- Flows that started one another (D83).
  depth         smallint       NOT NULL DEFAULT 0,
  -- Tries at this node that failed.
  failures      smallint       NOT NULL DEFAULT 0,
  is_test       boolean        NOT NULL DEFAULT false,
  node          text           NOT NULL,
  -- Of entries by a key (D70); empty: none.
  entry_key     text           NOT NULL DEFAULT '',
  -- How often the person came to each node that is part of a way round; null: never.
  passes        jsonb,
  -- Why it is parked.
  reason        text,
  PRIMARY KEY (customer_id, automation_id, id)
) WITH (fillfactor = 70);
ALTER SEQUENCE hot.flow_run_id_seq OWNED BY hot.flow_run.id;
-- What is due at a node, in its order: the only index that knows times.
CREATE INDEX flow_run_due ON hot.flow_run (customer_id, automation_id, version, node, wake_at, id) WHERE wake_at IS NOT NULL;
-- Who is in a flow when something happens to a person.
CREATE INDEX flow_run_of_person ON hot.flow_run (customer_id, person_id);

-- Counts of a node of a version (D90), and a time at or before the first that is due there: the index of these few rows is all that is
-- read while nothing is due, however many people wait.
CREATE TABLE hot.flow_node (
  customer_id   bigint      NOT NULL,
  automation_id bigint      NOT NULL,
  version       integer     NOT NULL,
  node          text        NOT NULL,
  entered       bigint      NOT NULL DEFAULT 0,
  waiting       bigint      NOT NULL DEFAULT 0,
  passed        bigint      NOT NULL DEFAULT 0,
  "left"        bigint      NOT NULL DEFAULT 0,
  parked        bigint      NOT NULL DEFAULT 0,
  next_wake_at  timestamptz,
  PRIMARY KEY (customer_id, automation_id, version, node),
  CONSTRAINT flow_node_balances CHECK (entered = waiting + passed + "left" + parked)
) WITH (fillfactor = 50);
CREATE INDEX flow_node_due ON hot.flow_node (next_wake_at) WHERE next_wake_at IS NOT NULL;

-- Entries into flows: the key decides who may enter (D70), and stays when the run has ended.
CREATE TABLE hot.flow_entry (
  customer_id   bigint      NOT NULL,
  automation_id bigint      NOT NULL,
  person_id     bigint      NOT NULL,
  entry_key     text        NOT NULL DEFAULT '',
  -- The last entry's.
  run_id        bigint      NOT NULL,
  entered_at    timestamptz NOT NULL,
  ended_at      timestamptz,
  -- Why the last run ended.
  end_reason    text,
  entries       integer     NOT NULL DEFAULT 1,
  PRIMARY KEY (customer_id, automation_id, person_id, entry_key)
) WITH (fillfactor = 80);

-- What a run began with (`payload.*`), apart from the row that moves.
CREATE TABLE hot.flow_payload (
  customer_id   bigint NOT NULL,
  automation_id bigint NOT NULL,
  run_id        bigint NOT NULL,
  payload       jsonb  NOT NULL,
  PRIMARY KEY (customer_id, automation_id, run_id)
);

-- History: every step of every person, with its reason.
CREATE TABLE hot.flow_step (
  customer_id   bigint      NOT NULL,
  automation_id bigint      NOT NULL,
  run_id        bigint      NOT NULL,
  person_id     bigint      NOT NULL,
  at            timestamptz NOT NULL,
  version       integer     NOT NULL,
  happened_on   date        NOT NULL,
  node          text        NOT NULL,
  -- `entered`, `passed`, `left`, `parked`.
  what          text        NOT NULL,
  port          text,
  reason        text,
  -- The values that were read (D78).
  details       jsonb
) PARTITION BY RANGE (happened_on);
CREATE INDEX flow_step_of_run ON hot.flow_step (customer_id, automation_id, run_id, at);
CREATE INDEX flow_step_of_person ON hot.flow_step (customer_id, person_id, at);

-- Also of the history of flows.
-- Makes the partitions for these days. Pages of the ledger are filled to 36 %: at 45 % one of seven updates still went to
-- another page and into the index, at 36 % none does.
CREATE OR REPLACE FUNCTION hot.ensure_partitions(first_day date, last_day date) RETURNS integer LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
DECLARE
  parent text;
  month  date;
  made   integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('mailwright:partitions', 0));
  FOREACH parent IN ARRAY ARRAY['delivery', 'open_event', 'click_event', 'unsubscribe_event', 'bounce_event', 'feedback_event', 'flow_step'] LOOP
    month := date_trunc('month', first_day)::date;
    WHILE month <= last_day LOOP
      IF to_regclass(format('hot.%I', parent || '_' || to_char(month, 'YYYY_MM'))) IS NULL THEN
        EXECUTE format('CREATE TABLE hot.%I PARTITION OF hot.%I FOR VALUES FROM (%L) TO (%L)%s',
          parent || '_' || to_char(month, 'YYYY_MM'), parent, month, (month + interval '1 month')::date,
          CASE WHEN parent = 'delivery' THEN ' WITH (fillfactor = 36)' ELSE '' END);
        made := made + 1;
      END IF;
      month := (month + interval '1 month')::date;
    END LOOP;
  END LOOP;
  RETURN made;
END $$;

SELECT hot.ensure_partitions((now() - interval '1 month')::date, (now() + interval '2 months')::date);
