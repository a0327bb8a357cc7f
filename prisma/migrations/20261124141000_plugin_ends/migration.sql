-- AlterTable
ALTER TABLE "plugin" ADD COLUMN     "ends" TIMESTAMPTZ(3)[] DEFAULT ARRAY[]::TIMESTAMPTZ(3)[],
ADD COLUMN     "switched_off_at" TIMESTAMPTZ(3);
