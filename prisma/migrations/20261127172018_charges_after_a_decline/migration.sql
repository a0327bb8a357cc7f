-- AlterTable
ALTER TABLE "invoice" ADD COLUMN     "next_charge_at" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "invoice_next_charge_at_idx" ON "invoice"("next_charge_at");
