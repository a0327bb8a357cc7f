ALTER TABLE "mail_list_import" ADD COLUMN     "verify" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "verify_after" BIGINT,
ADD COLUMN     "verify_by" TEXT;

ALTER TABLE "plan" ADD COLUMN     "verification_servers" TEXT[] DEFAULT ARRAY[]::TEXT[];

ALTER TABLE "subscriber" ADD COLUMN     "verification" TEXT,
ADD COLUMN     "verification_reasons" TEXT,
ADD COLUMN     "verified_at" TIMESTAMPTZ(3),
ADD COLUMN     "verified_by" TEXT;

-- A verifier and its settings: says of addresses whether mail to them can arrive. A system server serves customers whose plans give it.
CREATE TABLE email_verification_server (
    "customer_id" BIGINT NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "uid" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "settings" JSONB NOT NULL DEFAULT '{}',
    "sealed_settings" BYTEA,
    "is_system" BOOLEAN NOT NULL DEFAULT false,
    "per_minute_max" INTEGER,
    "status" TEXT NOT NULL DEFAULT 'active',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "email_verification_server_pkey" PRIMARY KEY ("customer_id","id")
);

-- A run of a verifier over the people of a list, or those that an import has added.
CREATE TABLE verification (
    "customer_id" BIGINT NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "uid" TEXT NOT NULL,
    "list_id" BIGINT NOT NULL,
    "server_uid" TEXT NOT NULL,
    "server_name" TEXT NOT NULL,
    "import_uid" TEXT,
    "older_than_days" INTEGER,
    "after_id" BIGINT NOT NULL DEFAULT 0,
    "total" INTEGER,
    "processed" INTEGER NOT NULL DEFAULT 0,
    "deliverable" INTEGER NOT NULL DEFAULT 0,
    "undeliverable" INTEGER NOT NULL DEFAULT 0,
    "risky" INTEGER NOT NULL DEFAULT 0,
    "unknown" INTEGER NOT NULL DEFAULT 0,
    "status" TEXT NOT NULL DEFAULT 'queued',
    "reason" TEXT,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "retry_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "verification_pkey" PRIMARY KEY ("customer_id","id")
);

CREATE INDEX "email_verification_server_uid_idx" ON "email_verification_server"("uid");

CREATE UNIQUE INDEX "email_verification_server_customer_id_uid_key" ON "email_verification_server"("customer_id", "uid");

CREATE INDEX "verification_uid_idx" ON "verification"("uid");

CREATE INDEX "verification_customer_id_list_id_idx" ON "verification"("customer_id", "list_id");

CREATE UNIQUE INDEX "verification_customer_id_uid_key" ON "verification"("customer_id", "uid");

ALTER TABLE "email_verification_server" ADD CONSTRAINT "email_verification_server_customer_id_fkey" FOREIGN KEY ("customer_id") REFERENCES "customer"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "verification" ADD CONSTRAINT "verification_customer_id_list_id_fkey" FOREIGN KEY ("customer_id", "list_id") REFERENCES "mail_list"("customer_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- A new address is another one: what a verifier said of the former address does not hold for it.
CREATE OR REPLACE FUNCTION hot.forget_verification() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.verification := NULL;
  NEW.verification_reasons := NULL;
  NEW.verified_at := NULL;
  NEW.verified_by := NULL;
  RETURN NEW;
END $$;

CREATE TRIGGER forget_verification BEFORE UPDATE OF email_key ON subscriber
  FOR EACH ROW
  WHEN (old.email_key <> new.email_key AND old.verification IS NOT NULL)
  EXECUTE FUNCTION hot.forget_verification();

ALTER TABLE verification
  ADD CONSTRAINT verification_status CHECK (status IN ('queued', 'running', 'paused', 'done', 'cancelled')),
  ADD CONSTRAINT verification_balance CHECK (processed = deliverable + undeliverable + risky + unknown);
