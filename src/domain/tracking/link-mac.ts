/** Signs what a form on the page of a link sends back, so that it counts for this link and this purpose only. */
import { deriveKey, mac } from '../../lib/crypto.ts';
import type { Installation } from '../context.ts';
import type { TrackedRecipient } from './tracking.ts';

/** 22 letters of base64url. */
export function linkMac(
  { secret }: Installation,
  purpose: string,
  { link, content }: { readonly link: TrackedRecipient; readonly content: string },
): string {
  const { customerId, listId, sourceKind, sourceId, recipientId, occurrence } = link;
  const whose = [customerId, listId, sourceKind, sourceId, recipientId, occurrence].join('.');
  return mac(deriveKey(secret, purpose), `${whose}/${content}`).toString('base64url');
}
