-- A deletion reads what it deletes. Where one customer has nearly all rows, the planner took that for what every list and
-- campaign has, and read whole tables to delete an empty one. With the ids at hand as values it knows better, so each
-- statement is planned for them.

CREATE OR REPLACE FUNCTION hot.erase_lists() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  gone  record;
  child text;
BEGIN
  FOR gone IN SELECT customer_id, array_agg(id) AS ids FROM deleted GROUP BY customer_id LOOP
    FOREACH child IN ARRAY ARRAY['public.subscriber', 'public.consent_event', 'hot.subscriber_activity', 'hot.subscriber_block',
      'hot.list_counter'] LOOP
      EXECUTE format('DELETE FROM %s WHERE customer_id = $1 AND list_id = ANY ($2)', child) USING gone.customer_id, gone.ids;
    END LOOP;
  END LOOP;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION hot.erase_campaigns() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  gone  record;
  child text;
BEGIN
  FOR gone IN SELECT customer_id, array_agg(id) AS ids FROM deleted GROUP BY customer_id LOOP
    FOREACH child IN ARRAY ARRAY['delivery', 'delivery_counter', 'open_event', 'click_event', 'unsubscribe_event',
      'bounce_event', 'feedback_event', 'recipient_activity', 'recipient_link', 'tracking_counter', 'link_counter',
      'location_counter', 'runtime_message'] LOOP
      EXECUTE format('DELETE FROM hot.%I WHERE customer_id = $1 AND campaign_id = ANY ($2)', child) USING gone.customer_id, gone.ids;
    END LOOP;
  END LOOP;
  RETURN NULL;
END $$;

-- One trigger does it all.
DROP TRIGGER erase_campaign_reports ON public.campaign;
DROP FUNCTION hot.erase_campaign_reports();
