-- Which of our plans a vendor's subscription pays, whatever its plan is linked with later, and which saved method pays it.
ALTER TABLE remote_subscription ADD COLUMN agreed_plan_id BIGINT, ADD COLUMN agreed_remote_plan_id TEXT, ADD COLUMN method_digest TEXT;

UPDATE remote_subscription r SET agreed_plan_id = i.plan_id, agreed_remote_plan_id = p.remote_plan_id
  FROM payment_intent p JOIN invoice i ON i.customer_id = p.customer_id AND i.id = p.invoice_id
 WHERE p.customer_id = r.customer_id AND p.uid = r.intent_uid AND p.remote_plan_id = r.remote_plan_id;

-- A plan of a vendor may have been linked with several of ours, one after the other: each is remembered.
ALTER TABLE retired_remote_plan DROP CONSTRAINT retired_remote_plan_pkey,
  ADD CONSTRAINT retired_remote_plan_pkey PRIMARY KEY (gateway_id, remote_plan_id, plan_id);

-- Those whose vendor was asked longest ago before they end are asked first.
ALTER TABLE subscription ADD COLUMN vendor_asked_at TIMESTAMPTZ(3);
