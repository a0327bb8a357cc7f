-- What of a payment's money is the customer's credit: it is taken back when the vendor pays that money back. Of earlier payments it is not known.
ALTER TABLE "payment_intent" ADD COLUMN "credited_minor" BIGINT NOT NULL DEFAULT 0;
