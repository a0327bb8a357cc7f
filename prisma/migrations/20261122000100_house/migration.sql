-- The installation's own customer is known by a mark: no plan limits it.
ALTER TABLE "customer" ADD COLUMN "is_house" BOOLEAN NOT NULL DEFAULT false;

UPDATE "customer" SET "is_house" = true WHERE id = (SELECT min(customer_id) FROM "app_user" WHERE is_admin);
