-- The links in the mails of a customer that was erased stay dead: of it the number in them is kept, and when it was erased.
CREATE TABLE "erased_customer" (
    "id" BIGINT NOT NULL,
    "erased_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "erased_customer_pkey" PRIMARY KEY ("id")
);
