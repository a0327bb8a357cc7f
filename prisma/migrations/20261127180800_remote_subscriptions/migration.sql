ALTER TABLE payment_gateway ADD COLUMN     next_walk_at TIMESTAMPTZ(3),
ADD COLUMN     walk_error TEXT;

ALTER TABLE payment_intent ADD COLUMN     remote_plan_id TEXT;

-- A plan, and the plan of a vendor by which customers pay for it: the vendor keeps their subscriptions.
CREATE TABLE remote_plan_link (
    plan_id BIGINT NOT NULL,
    gateway_id BIGINT NOT NULL,
    remote_plan_id TEXT NOT NULL,
    remote_name TEXT NOT NULL,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT remote_plan_link_pkey PRIMARY KEY (plan_id,gateway_id)
);

-- A subscription that a vendor keeps for one of a customer.
CREATE TABLE remote_subscription (
    customer_id BIGINT NOT NULL,
    id BIGSERIAL NOT NULL,
    subscription_id BIGINT NOT NULL,
    gateway_id BIGINT NOT NULL,
    intent_uid TEXT NOT NULL,
    remote_id TEXT NOT NULL,
    remote_plan_id TEXT,
    status TEXT NOT NULL,
    is_active BOOLEAN NOT NULL,
    is_ended BOOLEAN NOT NULL,
    period_ends_at TIMESTAMPTZ(3),
    paid_until TIMESTAMPTZ(3),
    wanted_plan_id BIGINT,
    method_title TEXT NOT NULL DEFAULT '',
    method_info TEXT NOT NULL DEFAULT '',
    synced_at TIMESTAMPTZ(3),
    next_sync_at TIMESTAMPTZ(3),
    error TEXT,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT remote_subscription_pkey PRIMARY KEY (customer_id,id)
);

-- A subscription at a vendor that belongs to nothing here. Nothing is done about it.
CREATE TABLE unknown_remote_subscription (
    gateway_id BIGINT NOT NULL,
    remote_id TEXT NOT NULL,
    intent_uid TEXT,
    status TEXT NOT NULL,
    first_seen_at TIMESTAMPTZ(3) NOT NULL,
    seen_at TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT unknown_remote_subscription_pkey PRIMARY KEY (gateway_id,remote_id)
);

CREATE UNIQUE INDEX remote_plan_link_gateway_id_remote_plan_id_key ON remote_plan_link(gateway_id, remote_plan_id);

CREATE INDEX remote_subscription_customer_id_subscription_id_idx ON remote_subscription(customer_id, subscription_id);

CREATE INDEX remote_subscription_gateway_id_idx ON remote_subscription(gateway_id);

CREATE INDEX remote_subscription_next_sync_at_idx ON remote_subscription(next_sync_at);

CREATE UNIQUE INDEX remote_subscription_customer_id_gateway_id_remote_id_key ON remote_subscription(customer_id, gateway_id, remote_id);

ALTER TABLE remote_plan_link ADD CONSTRAINT remote_plan_link_plan_id_fkey FOREIGN KEY (plan_id) REFERENCES plan(id) ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE remote_plan_link ADD CONSTRAINT remote_plan_link_gateway_id_fkey FOREIGN KEY (gateway_id) REFERENCES payment_gateway(id) ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE remote_subscription ADD CONSTRAINT remote_subscription_customer_id_subscription_id_fkey FOREIGN KEY (customer_id, subscription_id) REFERENCES subscription(customer_id, id) ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE remote_subscription ADD CONSTRAINT remote_subscription_gateway_id_fkey FOREIGN KEY (gateway_id) REFERENCES payment_gateway(id) ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE unknown_remote_subscription ADD CONSTRAINT unknown_remote_subscription_gateway_id_fkey FOREIGN KEY (gateway_id) REFERENCES payment_gateway(id) ON DELETE CASCADE ON UPDATE CASCADE;
