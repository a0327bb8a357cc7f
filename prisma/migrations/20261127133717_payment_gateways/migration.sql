-- AlterTable
ALTER TABLE "payment_intent" ADD COLUMN     "charged_at" TIMESTAMPTZ(3),
ADD COLUMN     "gateway_id" BIGINT,
ADD COLUMN     "late_paid_at" TIMESTAMPTZ(3),
ADD COLUMN     "method_id" BIGINT,
ADD COLUMN     "next_sync_at" TIMESTAMPTZ(3),
ADD COLUMN     "reference" TEXT,
ADD COLUMN     "refunded_minor" BIGINT NOT NULL DEFAULT 0,
ADD COLUMN     "sync_error" TEXT,
ADD COLUMN     "synced_at" TIMESTAMPTZ(3);

-- A way to pay that an administrator has set up: a gateway of a plugin and its settings, or `offline`.
CREATE TABLE payment_gateway (
    "id" BIGSERIAL NOT NULL,
    "uid" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'active',
    "settings" JSONB NOT NULL DEFAULT '{}',
    "sealed_settings" BYTEA,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "payment_gateway_pkey" PRIMARY KEY ("id")
);

-- A payment method that a customer has saved with a gateway, for later charges.
CREATE TABLE payment_method (
    "customer_id" BIGINT NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "uid" TEXT NOT NULL,
    "gateway_id" BIGINT NOT NULL,
    "title" TEXT NOT NULL,
    "info" TEXT NOT NULL,
    "sealed_data" BYTEA NOT NULL,
    "digest" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "payment_method_pkey" PRIMARY KEY ("customer_id","id")
);

-- CreateIndex
CREATE UNIQUE INDEX "payment_gateway_uid_key" ON "payment_gateway"("uid");

-- CreateIndex
CREATE INDEX "payment_method_gateway_id_idx" ON "payment_method"("gateway_id");

-- CreateIndex
CREATE UNIQUE INDEX "payment_method_customer_id_uid_key" ON "payment_method"("customer_id", "uid");

-- CreateIndex
CREATE UNIQUE INDEX "payment_method_customer_id_gateway_id_digest_key" ON "payment_method"("customer_id", "gateway_id", "digest");

-- CreateIndex
CREATE INDEX "payment_intent_next_sync_at_idx" ON "payment_intent"("next_sync_at");

-- CreateIndex
CREATE INDEX "payment_intent_gateway_id_idx" ON "payment_intent"("gateway_id");

-- AddForeignKey
ALTER TABLE "payment_intent" ADD CONSTRAINT "payment_intent_gateway_id_fkey" FOREIGN KEY ("gateway_id") REFERENCES "payment_gateway"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "payment_method" ADD CONSTRAINT "payment_method_customer_id_fkey" FOREIGN KEY ("customer_id") REFERENCES "customer"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "payment_method" ADD CONSTRAINT "payment_method_gateway_id_fkey" FOREIGN KEY ("gateway_id") REFERENCES "payment_gateway"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Paying by transfer was built in before: it is the first payment gateway.
INSERT INTO payment_gateway (uid, type, name) VALUES (left(md5(random()::text || clock_timestamp()::text), 13), 'offline', 'Bank transfer');
UPDATE payment_intent SET gateway_id = (SELECT id FROM payment_gateway WHERE type = 'offline') WHERE method = 'offline';
