-- Where events are told by HTTP requests.
CREATE TABLE webhook (
    "customer_id" BIGINT NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "uid" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL DEFAULT 'lifecycle',
    "event" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "receiver" TEXT NOT NULL,
    "method" TEXT NOT NULL DEFAULT 'POST',
    "headers" JSONB NOT NULL DEFAULT '{}',
    "body_template" TEXT,
    "sealed_secret" BYTEA NOT NULL,
    "sealed_previous_secret" BYTEA,
    "previous_secret_ends_at" TIMESTAMPTZ(3),
    "retry_times" INTEGER NOT NULL DEFAULT 2,
    "retry_after_seconds" INTEGER NOT NULL DEFAULT 900,
    "retry_seconds_max" INTEGER NOT NULL DEFAULT 172800,
    "status" TEXT NOT NULL DEFAULT 'active',
    "pause_reason" TEXT,
    "paused_at" TIMESTAMPTZ(3),
    "failing_since" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_pkey" PRIMARY KEY ("customer_id","id")
);

-- CreateIndex
CREATE INDEX "webhook_uid_idx" ON "webhook"("uid");

-- CreateIndex
CREATE INDEX "webhook_event_idx" ON "webhook"("event");

-- CreateIndex
CREATE UNIQUE INDEX "webhook_customer_id_uid_key" ON "webhook"("customer_id", "uid");

-- AddForeignKey
ALTER TABLE "webhook" ADD CONSTRAINT "webhook_customer_id_fkey" FOREIGN KEY ("customer_id") REFERENCES "customer"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Writes deliveries of webhooks, and that they wait to be sent; of a paused webhook they are kept for a replay. One that the webhook has
-- already (`source_key`) is left out, so that whoever was interrupted may repeat the call. Returns how many are new.
CREATE OR REPLACE FUNCTION hot.add_webhook_deliveries(
  customers bigint[], webhooks bigint[], events text[], source_keys text[], persons bigint[], times timestamptz[], payloads text[])
RETURNS integer LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
DECLARE
  added integer;
BEGIN
  -- Partitions are made months ahead; no event is lost because that was not done.
  IF EXISTS (SELECT FROM unnest(times) t WHERE to_regclass('hot.webhook_delivery_' || to_char(t, 'YYYY_MM')) IS NULL) THEN
    PERFORM hot.ensure_partitions((SELECT min(t)::date FROM unnest(times) t), (SELECT max(t)::date FROM unnest(times) t));
  END IF;
  WITH made AS (
    INSERT INTO hot.webhook_delivery AS d (made_on, customer_id, webhook_id, event, source_key, person_id, payload, state, next_attempt_at, created_at)
    SELECT n.at::date, n.customer_id, n.webhook_id, n.event, n.source_key, n.person_id, convert_to(n.payload, 'UTF8'),
           CASE w.status WHEN 'active' THEN 'waiting' ELSE 'parked' END, CASE w.status WHEN 'active' THEN now() END, n.at
      FROM unnest(customers, webhooks, events, source_keys, persons, times, payloads) WITH ORDINALITY
           AS n(customer_id, webhook_id, event, source_key, person_id, at, payload, place)
      JOIN public.webhook w ON w.customer_id = n.customer_id AND w.id = n.webhook_id AND w.status <> 'inactive'
     ORDER BY n.place
    ON CONFLICT DO NOTHING
    RETURNING d.made_on, d.customer_id, d.webhook_id, d.id, d.state
  ), queued AS (
    INSERT INTO hot.webhook_queue (delivery_id, made_on, customer_id, webhook_id, receiver, due_at)
    SELECT m.id, m.made_on, m.customer_id, m.webhook_id, w.receiver, now()
      FROM made m JOIN public.webhook w ON w.customer_id = m.customer_id AND w.id = m.webhook_id WHERE m.state = 'waiting'
  )
  SELECT count(*) INTO added FROM made;
  IF added > 0 THEN PERFORM pg_notify('webhooks', ''); END IF;
  RETURN added;
END $$;

-- Makes the partitions for these days. Pages of the ledger are filled to 36 %: at 45 % one of seven updates still went to
-- another page and into the index, at 36 % none does.
CREATE OR REPLACE FUNCTION hot.ensure_partitions(first_day date, last_day date) RETURNS integer LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
DECLARE
  parent text;
  month  date;
  made   integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('mailwright:partitions', 0));
  FOREACH parent IN ARRAY ARRAY['delivery', 'open_event', 'click_event', 'unsubscribe_event', 'bounce_event', 'feedback_event', 'flow_step', 'person_event', 'webhook_delivery',
                                'webhook_attempt'] LOOP
    month := date_trunc('month', first_day)::date;
    WHILE month <= last_day LOOP
      IF to_regclass(format('hot.%I', parent || '_' || to_char(month, 'YYYY_MM'))) IS NULL THEN
        EXECUTE format('CREATE TABLE hot.%I PARTITION OF hot.%I FOR VALUES FROM (%L) TO (%L)%s',
          parent || '_' || to_char(month, 'YYYY_MM'), parent, month, (month + interval '1 month')::date,
          CASE parent WHEN 'delivery' THEN ' WITH (fillfactor = 36)'
                      -- Payloads of events lie apart from the rows.
                      WHEN 'person_event' THEN ' WITH (toast_tuple_target = 256)' ELSE '' END);
        made := made + 1;
      END IF;
      month := (month + interval '1 month')::date;
    END LOOP;
  END LOOP;
  RETURN made;
END $$;

-- Takes deliveries of webhooks that are due for a worker: of each receiver at most so many that all workers together have no more than its
-- limit under way, and of each receiver the same number before of anyone the next ones. A row that is taken is due again when its lease
-- ends. Workers take one after the other, so that two of them do not fill the same places.
CREATE OR REPLACE FUNCTION hot.take_webhooks(worker uuid, lease interval, known text[], limits integer[], limit_of_others integer, wanted integer)
RETURNS SETOF bigint LANGUAGE plpgsql
-- The table is small or read by key: no other plan is better, whatever the statistics say.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM hot.webhook_queue q WHERE q.due_at <= now()) THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('mailwright:take-webhooks', 0));
  RETURN QUERY
  WITH RECURSIVE waiting(receiver) AS (
    (SELECT q.receiver FROM hot.webhook_queue q ORDER BY q.receiver LIMIT 1)
    UNION ALL
    SELECT n.receiver FROM waiting w
     CROSS JOIN LATERAL (SELECT q.receiver FROM hot.webhook_queue q WHERE q.receiver > w.receiver ORDER BY q.receiver LIMIT 1) n
  ), room AS (
    SELECT w.receiver, coalesce(k.places, limit_of_others)
           - (SELECT count(*) FROM hot.webhook_queue q WHERE q.receiver = w.receiver AND q.owner IS NOT NULL AND q.due_at > now()) AS places
      FROM waiting w LEFT JOIN unnest(known, limits) AS k(receiver, places) ON k.receiver = w.receiver
  ), due AS (
    SELECT d.delivery_id, row_number() OVER (PARTITION BY r.receiver ORDER BY d.due_at, d.delivery_id) AS place
      FROM room r
     CROSS JOIN LATERAL (
       SELECT q.delivery_id, q.due_at FROM hot.webhook_queue q
        WHERE q.receiver = r.receiver AND q.due_at <= now()
        ORDER BY q.due_at, q.delivery_id LIMIT greatest(r.places, 0) FOR UPDATE SKIP LOCKED) d
  ), chosen AS (
    SELECT due.delivery_id FROM due ORDER BY due.place, random() LIMIT wanted
  )
  UPDATE hot.webhook_queue q SET owner = worker, due_at = now() + lease
   WHERE q.delivery_id = ANY (ARRAY(SELECT c.delivery_id FROM chosen c))
  RETURNING q.delivery_id;
END $$;

CREATE SEQUENCE hot.webhook_delivery_id_seq;

-- Orders events of webhooks that are in no other record.
CREATE SEQUENCE hot.webhook_sequence;

-- An event that a webhook tells, and what became of it.
CREATE TABLE hot.webhook_delivery (
  made_on         date        NOT NULL,
  customer_id     bigint      NOT NULL,
  webhook_id      bigint      NOT NULL,
  id              bigint      NOT NULL DEFAULT nextval('hot.webhook_delivery_id_seq'),
  -- Random: a number that comes again after a restored backup would look to receivers like one that they have.
  uid             text        NOT NULL DEFAULT right(replace(gen_random_uuid()::text, '-', ''), 13),
  event           text        NOT NULL,
  -- What it tells, once for each webhook.
  source_key      text        NOT NULL,
  -- The subscriber that it is about.
  person_id       bigint,
  payload         bytea       NOT NULL,
  -- What is sent, if the webhook has a template: made before the first attempt.
  body            bytea,
  -- `waiting`, `delivered`, `failed`, `parked`.
  state           text        NOT NULL DEFAULT 'waiting',
  attempts        smallint    NOT NULL DEFAULT 0,
  -- Attempts before it was sent again by hand: the schedule begins anew.
  attempts_before smallint    NOT NULL DEFAULT 0,
  is_test         boolean     NOT NULL DEFAULT false,
  next_attempt_at timestamptz,
  finished_at     timestamptz,
  created_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, webhook_id, id, made_on)
) PARTITION BY RANGE (made_on);
ALTER SEQUENCE hot.webhook_delivery_id_seq OWNED BY hot.webhook_delivery.id;
CREATE UNIQUE INDEX webhook_delivery_once ON hot.webhook_delivery (webhook_id, source_key, made_on);
CREATE INDEX webhook_delivery_by_uid ON hot.webhook_delivery (uid);
CREATE INDEX webhook_delivery_of_person ON hot.webhook_delivery (customer_id, person_id) WHERE person_id IS NOT NULL;

-- The attempts of a delivery, with request and answer.
CREATE TABLE hot.webhook_attempt (
  made_on         date        NOT NULL,
  customer_id     bigint      NOT NULL,
  webhook_id      bigint      NOT NULL,
  delivery_id     bigint      NOT NULL,
  -- As of the delivery.
  person_id       bigint,
  attempt         smallint    NOT NULL,
  at              timestamptz NOT NULL,
  request         json        NOT NULL,
  -- Null: there was no answer.
  status          integer,
  duration_ms     integer     NOT NULL,
  answer          text,
  error           text,
  next_attempt_at timestamptz,
  PRIMARY KEY (customer_id, webhook_id, delivery_id, attempt, made_on)
) PARTITION BY RANGE (made_on);
CREATE INDEX webhook_attempt_of_person ON hot.webhook_attempt (customer_id, person_id) WHERE person_id IS NOT NULL;

-- What waits to be sent. A row is deleted when its delivery needs no further attempt.
CREATE TABLE hot.webhook_queue (
  delivery_id bigint      NOT NULL PRIMARY KEY,
  made_on     date        NOT NULL,
  customer_id bigint      NOT NULL,
  webhook_id  bigint      NOT NULL,
  receiver    text        NOT NULL,
  -- When it is due; of a taken row, when its lease ends.
  due_at      timestamptz NOT NULL,
  owner       uuid
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX webhook_queue_by_receiver ON hot.webhook_queue (receiver, due_at, delivery_id);
CREATE INDEX webhook_queue_due ON hot.webhook_queue (due_at);
CREATE INDEX webhook_queue_taken ON hot.webhook_queue (receiver, due_at) WHERE owner IS NOT NULL;
CREATE INDEX webhook_queue_by_owner ON hot.webhook_queue (owner) WHERE owner IS NOT NULL;
CREATE INDEX webhook_queue_of_webhook ON hot.webhook_queue (webhook_id);
