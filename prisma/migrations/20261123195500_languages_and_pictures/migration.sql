-- Decision D61: users and customers have a picture.
ALTER TABLE "app_user" ADD COLUMN "image" TEXT;

-- A language is one of those with a translation: so far English, number 1. Other numbers meant nothing.
UPDATE "customer" SET "language_id" = NULL WHERE "language_id" <> 1;
