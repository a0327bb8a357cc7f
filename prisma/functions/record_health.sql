-- Reports of one process about one mailbox group. `taken`: messages that the other side accepted; `troubles`: messages that
-- failed after them. A failure of a message that was sent before the pause began does not extend the pause.
CREATE OR REPLACE FUNCTION hot.record_health(
  server bigint, mailboxes text, taken integer, troubles integer, message text,
  rest_min integer, rest_max integer, rests_early boolean, failures_max integer, openings_max integer, slots_goal integer)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  h  hot.sending_health;
  at timestamptz := clock_timestamp();
BEGIN
  SELECT * INTO h FROM hot.sending_health s WHERE s.server_id = server AND s.mailbox_group = mailboxes FOR UPDATE;
  IF NOT FOUND THEN
    IF troubles = 0 THEN RETURN; END IF;
    INSERT INTO hot.sending_health (server_id, mailbox_group, state, failures) VALUES (server, mailboxes, 'closed', 0)
    ON CONFLICT DO NOTHING;
    SELECT * INTO h FROM hot.sending_health s WHERE s.server_id = server AND s.mailbox_group = mailboxes FOR UPDATE;
    IF NOT FOUND THEN RETURN; END IF;
  END IF;
  -- Sent before the pause began, so it says nothing about the time after it.
  IF h.open_until > at THEN RETURN; END IF;
  IF h.state = 'closed' AND (taken > 0 OR h.changed_at < at - interval '1 day') THEN
    h.failures := 0;
    h.openings := 0;
    h.backoff_seconds := 0;
    IF troubles = 0 THEN
      DELETE FROM hot.sending_health s WHERE s.server_id = server AND s.mailbox_group = mailboxes;
      RETURN;
    END IF;
  ELSIF taken > 0 THEN
    h.progress := h.progress + taken;
    WHILE h.progress >= h.slots AND h.slots <= h.slots_max LOOP
      h.progress := h.progress - h.slots;
      h.slots := h.slots + 1;
    END LOOP;
    IF h.slots > h.slots_max AND troubles = 0 THEN
      DELETE FROM hot.sending_health s WHERE s.server_id = server AND s.mailbox_group = mailboxes;
      RETURN;
    END IF;
  END IF;
  IF troubles > 0 THEN
    h.failures := h.failures + troubles;
    h.last_error := message;
    h.prober := NULL;
    h.prober_until := NULL;
    h.slots := 1;
    h.slots_max := slots_goal;
    h.progress := 0;
    IF h.openings >= openings_max THEN
      -- Blocked permanently several times: from now on each recipient gets its own outcome, so that a campaign can end.
      h.state := 'closed';
      h.open_until := NULL;
    ELSE
      IF h.state <> 'closed' OR h.failures >= failures_max THEN
        IF h.state = 'closed' THEN h.opened_at := at; END IF;
        h.state := 'open';
        h.openings := h.openings + 1;
      END IF;
      IF h.state = 'open' OR rests_early THEN
        h.backoff_seconds := least(rest_max, greatest(rest_min, h.backoff_seconds * 2));
        h.open_until := at + make_interval(secs => h.backoff_seconds);
      END IF;
    END IF;
  END IF;
  UPDATE hot.sending_health s
     SET state = h.state, failures = h.failures, openings = h.openings, backoff_seconds = h.backoff_seconds, open_until = h.open_until,
         slots = h.slots, slots_max = h.slots_max, progress = h.progress, prober = h.prober, prober_until = h.prober_until, last_error = h.last_error, opened_at = h.opened_at, changed_at = at
   WHERE s.server_id = server AND s.mailbox_group = mailboxes;
END $$;
