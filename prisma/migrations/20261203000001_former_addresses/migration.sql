-- Who once had an address and is no longer found by it: people who were deleted from a list or changed their address. The
-- ledger still names the address of then; with this table their rows are found by key, and not by reading the whole ledger.
CREATE TABLE hot.former_address (
  customer_id   bigint NOT NULL,
  list_id       bigint NOT NULL,
  subscriber_id bigint NOT NULL,
  -- hashtextextended of the address as it is compared: finds candidates; the ledger's own text decides.
  address_hash  bigint NOT NULL,
  PRIMARY KEY (customer_id, subscriber_id, address_hash)
);
CREATE INDEX former_address_by_hash ON hot.former_address (address_hash);
CREATE INDEX former_address_of_list ON hot.former_address (customer_id, list_id, subscriber_id);

-- A list that is deleted takes its ledgers along: nothing has to be found by its people then.
CREATE FUNCTION hot.keep_deleted_addresses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.former_address (customer_id, list_id, subscriber_id, address_hash)
  SELECT d.customer_id, d.list_id, d.id, hashtextextended(d.email_key, 0) FROM deleted d
   WHERE EXISTS (SELECT 1 FROM public.mail_list l WHERE l.customer_id = d.customer_id AND l.id = d.list_id OFFSET 0)
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER keep_deleted_addresses AFTER DELETE ON public.subscriber
  REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION hot.keep_deleted_addresses();

CREATE FUNCTION hot.keep_changed_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.former_address (customer_id, list_id, subscriber_id, address_hash)
  VALUES (OLD.customer_id, OLD.list_id, OLD.id, hashtextextended(OLD.email_key, 0)) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER keep_changed_address AFTER UPDATE OF email_key ON public.subscriber
  FOR EACH ROW WHEN (OLD.email_key <> NEW.email_key) EXECUTE FUNCTION hot.keep_changed_address();

-- Those of before: whoever the ledger knows by another address than the list does, or whom the list does not know. By hashes: a
-- planner that takes the ledger for small would read a whole list for each of its rows.
DO $$
BEGIN
  PERFORM set_config('enable_nestloop', 'off', true);
  INSERT INTO hot.former_address (customer_id, list_id, subscriber_id, address_hash)
  SELECT d.customer_id, c.list_id, d.subscriber_id, hashtextextended(lower(d.email), 0)
    FROM public.campaign c
    JOIN hot.delivery d ON d.planned_on = c.planned_on AND d.customer_id = c.customer_id AND d.campaign_id = c.id
    LEFT JOIN public.subscriber s ON s.customer_id = c.customer_id AND s.list_id = c.list_id AND s.id = d.subscriber_id
   WHERE d.email <> '' AND (s.id IS NULL OR s.email_key <> lower(d.email))
  ON CONFLICT DO NOTHING;
  PERFORM set_config('enable_nestloop', 'on', true);
END $$;

-- What came back from one person, without reading what came back from all.
CREATE INDEX open_event_of_person ON hot.open_event (customer_id, campaign_id, subscriber_id);
CREATE INDEX click_event_of_person ON hot.click_event (customer_id, campaign_id, subscriber_id);
CREATE INDEX unsubscribe_event_of_person ON hot.unsubscribe_event (customer_id, campaign_id, subscriber_id);
CREATE INDEX bounce_event_of_person ON hot.bounce_event (customer_id, campaign_id, subscriber_id);
CREATE INDEX feedback_event_of_person ON hot.feedback_event (customer_id, campaign_id, subscriber_id);
