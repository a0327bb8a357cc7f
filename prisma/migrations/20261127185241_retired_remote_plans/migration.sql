-- A plan of a vendor that was linked: subscriptions that the vendor keeps for it go on at this price.
CREATE TABLE retired_remote_plan (
    gateway_id BIGINT NOT NULL,
    remote_plan_id TEXT NOT NULL,
    plan_id BIGINT NOT NULL,
    price_minor BIGINT NOT NULL,
    currency_code TEXT NOT NULL,
    frequency_amount INTEGER NOT NULL,
    frequency_unit TEXT NOT NULL,
    retired_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT retired_remote_plan_pkey PRIMARY KEY (gateway_id,remote_plan_id)
);

CREATE INDEX retired_remote_plan_plan_id_idx ON retired_remote_plan(plan_id);

ALTER TABLE retired_remote_plan ADD CONSTRAINT retired_remote_plan_plan_id_fkey FOREIGN KEY (plan_id) REFERENCES plan(id) ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE retired_remote_plan ADD CONSTRAINT retired_remote_plan_gateway_id_fkey FOREIGN KEY (gateway_id) REFERENCES payment_gateway(id) ON DELETE CASCADE ON UPDATE CASCADE;
