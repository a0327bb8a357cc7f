/** Who reads the page of a link. */
import type { Context } from '../domain/context.ts';
import { readRecipient, type RecipientCard } from '../domain/tracking/recipient-read-model.ts';
import { sameAddressNow } from '../domain/tracking/same-address-read-model.ts';
import type { TrackedRecipient } from '../domain/tracking/tracking.ts';

/** The person behind the link: by the row it names, or by the address that its mail went to. */
export async function readerOf(ctx: Context, recipient: TrackedRecipient): Promise<RecipientCard | undefined> {
  const person = await readRecipient(ctx, recipient);
  if (person) return person;
  const now = await sameAddressNow(ctx, recipient);
  return now && readRecipient(ctx, now);
}
