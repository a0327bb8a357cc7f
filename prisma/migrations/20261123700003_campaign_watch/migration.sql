-- Campaigns under way and when they last got on: one that stands still for three times as long as it usually takes to
-- the next step is an alarm.
CREATE TABLE hot.campaign_watch (
  customer_id      bigint           NOT NULL,
  campaign_id      bigint           NOT NULL,
  -- Audience and open recipients: what changes when anything gets on.
  audience         integer          NOT NULL,
  open             integer          NOT NULL,
  changed_at       timestamptz      NOT NULL DEFAULT now(),
  expected_seconds double precision NOT NULL,
  alarmed_at       timestamptz,
  PRIMARY KEY (customer_id, campaign_id)
) WITH (fillfactor = 50);
