-- AlterTable
ALTER TABLE "payment_gateway" ADD COLUMN     "deleting_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "payment_intent" ADD COLUMN     "cancel_said_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "payment_method" ADD COLUMN     "removed_at" TIMESTAMPTZ(3);
