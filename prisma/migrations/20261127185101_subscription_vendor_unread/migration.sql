-- AlterTable
ALTER TABLE "subscription" ADD COLUMN     "vendor_unread_since" TIMESTAMPTZ(3);
