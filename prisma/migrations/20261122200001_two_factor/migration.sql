-- The second factor of users, and ten recovery codes for each.
CREATE TABLE "two_factor" (
    "customer_id" BIGINT NOT NULL,
    "user_id" BIGINT NOT NULL,
    "sealed_secret" BYTEA NOT NULL,
    "last_step" BIGINT,
    "confirmed_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "two_factor_pkey" PRIMARY KEY ("customer_id","user_id")
);

CREATE TABLE "recovery_code" (
    "customer_id" BIGINT NOT NULL,
    "user_id" BIGINT NOT NULL,
    "digest" BYTEA NOT NULL,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "recovery_code_pkey" PRIMARY KEY ("customer_id","user_id","digest")
);

ALTER TABLE "two_factor" ADD CONSTRAINT "two_factor_customer_id_user_id_fkey" FOREIGN KEY ("customer_id", "user_id") REFERENCES "app_user"("customer_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "recovery_code" ADD CONSTRAINT "recovery_code_customer_id_user_id_fkey" FOREIGN KEY ("customer_id", "user_id") REFERENCES "two_factor"("customer_id", "user_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Subjects were addresses in clear; they count for a quarter of an hour only.
DELETE FROM "login_failure";
