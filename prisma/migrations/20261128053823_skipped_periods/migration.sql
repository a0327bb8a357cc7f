-- Periods that a vendor got nothing for, and that were skipped: its customer may pay them later.
CREATE TABLE remote_unpaid_period (
    "customer_id" BIGINT NOT NULL,
    "remote_subscription_id" BIGINT NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,
    "matches_from" TIMESTAMPTZ(3) NOT NULL,
    "matches_to" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "remote_unpaid_period_pkey" PRIMARY KEY ("customer_id","remote_subscription_id","ends_at")
);

-- AddForeignKey
ALTER TABLE "remote_unpaid_period" ADD CONSTRAINT "remote_unpaid_period_customer_id_remote_subscription_id_fkey" FOREIGN KEY ("customer_id", "remote_subscription_id") REFERENCES "remote_subscription"("customer_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
