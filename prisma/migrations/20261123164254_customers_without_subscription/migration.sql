-- Decision D55: a customer without any subscription only reads and pays. Before, such a customer was not limited. Customers that
-- exist keep what they could do: they get a subscription of a plan without limits and without price. The plan is archived, so that
-- nobody chooses it; an administrator may make it active.
CREATE TEMPORARY TABLE customer_without_subscription ON COMMIT DROP AS
  SELECT c.id FROM customer c
   WHERE NOT c.is_operator AND c.status <> 'deleting'
     AND NOT EXISTS (SELECT 1 FROM subscription s WHERE s.customer_id = c.id
                        -- One that ended before it was paid for never began.
                        AND (s.status <> 'ended' OR s.current_period_started_at IS NOT NULL));

WITH p AS (
  INSERT INTO plan (uid, name, price_minor, currency_code, frequency_amount, frequency_unit, status, options)
  SELECT left(md5(gen_random_uuid()::text), 13), 'Unlimited (customers from before plans were required)', 0, 'USD', 1, 'month', 'inactive',
         '{"email_max": "-1", "list_max": "-1", "subscriber_max": "-1", "subscriber_per_list_max": "-1", "segment_per_list_max": "-1",
           "campaign_max": "-1", "automation_max": "-1", "billing_cycle": "custom", "sending_limit": "custom", "sending_quota": "-1",
           "sending_quota_time": "1", "sending_quota_time_unit": "hour", "max_process": "-1", "all_sending_servers": "yes",
           "max_size_upload_total": "-1", "max_file_size_upload": "-1", "unsubscribe_url_required": "no", "access_when_offline": "no",
           "create_sending_domains": "yes", "sending_servers_max": "-1", "sending_domains_max": "-1",
           "all_email_verification_servers": "yes", "create_email_verification_servers": "no", "email_verification_servers_max": "-1",
           "list_import": "yes", "list_export": "yes", "all_sending_server_types": "yes", "sending_server_types": {},
           "sending_server_option": "own", "sending_server_subaccount_uid": null, "api_access": "yes", "email_footer_enabled": "no",
           "email_footer_trial_period_only": "no", "html_footer": "", "plain_text_footer": "", "payment_gateway": ""}'::jsonb
   WHERE EXISTS (SELECT 1 FROM customer_without_subscription)
  RETURNING id, uid
), t AS (
  SELECT date_trunc('milliseconds', now()) AS at,
         ((date_trunc('milliseconds', now()) AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC' AS ends_at
), s AS (
  INSERT INTO subscription (customer_id, uid, plan_id, status, disable_billing, anchor_at, anchor_amount, anchor_unit, period_no,
                            current_period_started_at, current_period_ends_at, next_step_at)
  SELECT c.id, left(md5(gen_random_uuid()::text), 13), p.id, 'active', true, t.at, 1, 'month', 1, t.at, t.ends_at, t.ends_at
    FROM customer_without_subscription c, p, t
  RETURNING customer_id, id
)
INSERT INTO subscription_event (customer_id, subscription_id, event, plan_uid, note)
SELECT s.customer_id, s.id, 'started', p.uid, 'Customers without a plan were not limited before this version.' FROM s, p;

-- At once, so that several migrations may run in one transaction.
DROP TABLE customer_without_subscription;
