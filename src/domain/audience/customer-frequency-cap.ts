/** The frequency cap of a customer, over all its lists. Accounts keep it. */
import { z } from 'zod';
import { parseInput } from '../../lib/text.ts';
import { readFrequencyCap, writeFrequencyCap } from '../accounts/customer-store.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { enqueueHeldMails } from '../accounts/enqueue-held-mails.ts';
import { frequencyCap, parseFrequencyCap, type FrequencyCap } from './frequency-cap.ts';

export interface CustomerFrequencyCap {
  /** Null: there is no limit. */
  readonly frequencyCap: FrequencyCap | null;
}

export const customerFrequencyCapInput = z.object({ frequencyCap: frequencyCap.nullish() });

type CustomerFrequencyCapInput = z.input<typeof customerFrequencyCapInput>;

/** That of the caller's customer. */
export async function frequencyCapOfCustomer(ctx: Context): Promise<CustomerFrequencyCap> {
  return { frequencyCap: parseFrequencyCap(await readFrequencyCap(ctx.db, viewerOf(ctx).customerId)) };
}

/** Sets that of the caller's customer; null: no limit; undefined changes nothing. Throws ValidationError. */
export async function setFrequencyCap(ctx: Context, input: CustomerFrequencyCapInput): Promise<CustomerFrequencyCap> {
  const { frequencyCap: cap } = parseInput(customerFrequencyCapInput, input);
  if (cap === undefined) return frequencyCapOfCustomer(ctx);
  return inTransaction(ctx, async (tx) => {
    const { customerId } = viewerOf(ctx);
    await writeFrequencyCap(tx.db, customerId, cap);
    await enqueueHeldMails(tx.db, { customerId, listId: null });
    return frequencyCapOfCustomer(tx);
  });
}
