-- Webhooks of customers: on opens, clicks and unsubscribes, on what happens to people, on campaigns.
ALTER TABLE webhook ADD COLUMN "list_id" BIGINT, ADD COLUMN "campaign_id" BIGINT, ADD COLUMN "template_id" BIGINT,
  ADD COLUMN "with_machines" BOOLEAN NOT NULL DEFAULT false;

-- CreateIndex
CREATE INDEX "webhook_kind_idx" ON "webhook"("kind");

-- AddForeignKey
ALTER TABLE "webhook" ADD CONSTRAINT "webhook_customer_id_list_id_fkey" FOREIGN KEY ("customer_id", "list_id") REFERENCES "mail_list"("customer_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook" ADD CONSTRAINT "webhook_customer_id_campaign_id_fkey" FOREIGN KEY ("customer_id", "campaign_id") REFERENCES "campaign"("customer_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook" ADD CONSTRAINT "webhook_customer_id_template_id_fkey" FOREIGN KEY ("customer_id", "template_id") REFERENCES "template"("customer_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What happened that webhooks of customers ask for, written with it, until a follower has made deliveries of it: for moments.
CREATE TABLE hot.webhook_activity (
  customer_id bigint      NOT NULL,
  -- Orders what happened to one person.
  id          bigint      NOT NULL DEFAULT nextval('hot.webhook_sequence'),
  event       text        NOT NULL,
  -- Of an open, a click, an unsubscribe: the message, and the row of the event.
  source_kind smallint,
  source_id   bigint,
  occurrence  bigint,
  event_id    bigint,
  -- Of what happened to a person on a list.
  list_id     bigint,
  data        jsonb,
  person_id   bigint      NOT NULL,
  at          timestamptz NOT NULL,
  due_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX webhook_activity_due ON hot.webhook_activity (due_at, id);

-- Opens, clicks and unsubscribes that a webhook of their customer asks for: taken up by a follower, which makes deliveries. The arguments are
-- the event, and how long it waits: until then clicks that follow each other may turn out to be a machine's. Where no webhook asks for
-- the event, one look-up of an index is all that it costs.
CREATE OR REPLACE FUNCTION hot.note_tracking_for_webhooks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  noted integer;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM public.webhook w
                  WHERE w.event = TG_ARGV[0] AND w.status <> 'inactive' AND w.customer_id IN (SELECT n.customer_id FROM new_rows n)) THEN
    RETURN NULL;
  END IF;
  INSERT INTO hot.webhook_activity (customer_id, event, source_kind, source_id, person_id, occurrence, event_id, at, due_at)
  SELECT n.customer_id, TG_ARGV[0], n.source_kind, n.source_id, n.recipient_id, n.occurrence, n.id, n.at, now() + TG_ARGV[1]::interval
    FROM new_rows n
   -- OFFSET 0 keeps it a look-up for each row, whatever the plan was made for.
   WHERE EXISTS (SELECT 1 FROM public.webhook w
                  WHERE w.customer_id = n.customer_id AND w.event = TG_ARGV[0] AND w.status <> 'inactive'
                    AND (w.campaign_id IS NULL OR n.source_kind = 1 AND w.campaign_id = n.source_id)
                    AND (w.template_id IS NULL OR n.source_kind IN (2, 3)) OFFSET 0)
   ORDER BY n.id;
  GET DIAGNOSTICS noted = ROW_COUNT;
  IF noted > 0 THEN
    PERFORM pg_notify('webhook_activity', '');
  END IF;
  RETURN NULL;
END $$;

-- What happened to people that a webhook of their customer asks for: taken up by a follower, which makes deliveries. Names and kinds:
-- src/domain/webhooks/customer-webhook-events.ts, src/events/person-event.ts. Where no webhook asks for people, one look-up of an index is all
-- that it costs.
CREATE OR REPLACE FUNCTION hot.note_people_for_webhooks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  noted integer;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM public.webhook w
                  WHERE w.kind = 'subscriber' AND w.status <> 'inactive' AND w.customer_id IN (SELECT n.customer_id FROM new_rows n)) THEN
    RETURN NULL;
  END IF;
  INSERT INTO hot.webhook_activity (customer_id, event, list_id, person_id, at, data)
  SELECT n.customer_id, k.event, n.list_id, n.person_id, n.recorded_at, n.data
    FROM new_rows n
    JOIN (VALUES (1, 'subscriber.added'), (2, 'subscriber.confirmed'), (3, 'subscriber.changed'), (4, 'subscriber.tagged'),
                 (5, 'subscriber.untagged'), (6, 'subscriber.moved'), (7, 'subscriber.unsubscribed'), (8, 'subscriber.removed'),
                 (9, 'subscriber.bounced'), (10, 'subscriber.complained'), (12, 'subscriber.resubscribed')) AS k(kind, event) ON k.kind = n.kind
   -- OFFSET 0 keeps it a look-up for each row, whatever the plan was made for.
   WHERE EXISTS (SELECT 1 FROM public.webhook w
                  WHERE w.customer_id = n.customer_id AND w.event = k.event AND w.status <> 'inactive'
                    AND (w.list_id IS NULL OR w.list_id = n.list_id) OFFSET 0)
   ORDER BY n.id;
  GET DIAGNOSTICS noted = ROW_COUNT;
  IF noted > 0 THEN
    PERFORM pg_notify('webhook_activity', '');
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER note_for_webhooks AFTER INSERT ON hot.open_event REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION hot.note_tracking_for_webhooks('open', '3 seconds');
CREATE TRIGGER note_for_webhooks AFTER INSERT ON hot.click_event REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION hot.note_tracking_for_webhooks('click', '3 seconds');
CREATE TRIGGER note_for_webhooks AFTER INSERT ON hot.unsubscribe_event REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION hot.note_tracking_for_webhooks('unsubscribe', '0');
CREATE TRIGGER note_for_webhooks AFTER INSERT ON hot.person_event REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION hot.note_people_for_webhooks();
