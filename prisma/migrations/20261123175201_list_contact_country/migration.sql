-- AlterTable
ALTER TABLE "list_contact" ALTER COLUMN "country_id" DROP NOT NULL;
