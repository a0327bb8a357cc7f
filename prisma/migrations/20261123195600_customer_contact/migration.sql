-- The contact of a customer, with the fields of a list's contact (specification 4.7, D61).
ALTER TABLE "customer" ADD COLUMN "contact" JSONB;
