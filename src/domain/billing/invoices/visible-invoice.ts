/** An invoice by its uid, as far as the caller may see it. */
import { isUid } from '../../../lib/ids.ts';
import { viewerOf, type Context } from '../../context.ts';
import { foreignInvoice, invoiceNotFound } from '../billing-errors.ts';
import { administers } from '../billing-rights.ts';
import { findInvoiceByUid, type Invoice } from './invoice-store.ts';

/** Throws NotFoundError `INVOICE_NOT_FOUND`, ForeignResourceError. */
export async function visibleInvoice(ctx: Context, uid: string): Promise<Invoice> {
  const invoice = isUid(uid) ? await findInvoiceByUid(ctx.db, uid) : undefined;
  if (!invoice) throw invoiceNotFound();
  if (invoice.customerId !== viewerOf(ctx).customerId && !administers(ctx)) throw foreignInvoice();
  return invoice;
}
