-- AlterTable
ALTER TABLE "verification" ADD COLUMN     "reused" INTEGER NOT NULL DEFAULT 0;

-- Addresses that a run is asking a verifier about, so that two runs of a customer do not ask, and pay, twice. A digest instead of the
-- address: rows of a process that died stay for a while. Unlogged: after a crash of the database nobody is being asked.
CREATE UNLOGGED TABLE hot.address_claim (
  customer_id bigint      NOT NULL,
  verified_by text        NOT NULL,
  address     bigint      NOT NULL,
  run_id      bigint      NOT NULL,
  ends_at     timestamptz NOT NULL,
  PRIMARY KEY (customer_id, verified_by, address)
);
