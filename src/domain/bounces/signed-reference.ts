/**
 * Finds the message of a report by references that only we can sign (hard case B8): the return-path it came to, the Message-ID of
 * the quoted message, its unsubscribe link. Each has a MAC; one that does not verify is ignored.
 */
import type { Installation } from '../context.ts';
import { SOURCE_KINDS, type DeliveryKey } from '../source-key.ts';
import { deliveryMessageIdsIn, parseDeliveryMessageId } from '../tracking/delivery-message-id.ts';
import { linkSignerOf } from '../tracking/link-signer.ts';
import { fieldsOf } from './mail-parts.ts';
import { parseReturnPath, parseUnsubscribeAddress, returnPathsIn } from '../tracking/return-path.ts';

const UNSUBSCRIBE_LINK = /\/u\/([A-Za-z0-9_-]{43,86})(?![A-Za-z0-9_-])/g;
/** A report quotes one message; each try costs a digest. */
const TRIES_MAX = 20;

/** The delivery of the first signed reference in these texts. */
export function deliveryReferenced(installation: Installation, texts: readonly string[]): DeliveryKey | undefined {
  for (const text of texts) {
    const found = markIn(installation, text);
    if (found) return found;
  }
  return undefined;
}

/** The delivery whose recipient one of these addresses unsubscribes. */
export function unsubscribeAddressed(installation: Installation, texts: readonly string[]): DeliveryKey | undefined {
  for (const address of texts.flatMap(returnPathsIn).slice(0, TRIES_MAX)) {
    const key = parseUnsubscribeAddress(installation, address);
    if (key) return key;
  }
  return undefined;
}

function markIn(installation: Installation, text: string): DeliveryKey | undefined {
  for (const address of returnPathsIn(text)) {
    const key = parseReturnPath(installation, address);
    if (key) return key;
  }
  for (const id of deliveryMessageIdsIn(text).slice(0, TRIES_MAX)) {
    const key = parseDeliveryMessageId(installation, id);
    if (key) return key;
  }
  for (const [, token = ''] of [...unsubscribeHeader(text).matchAll(UNSUBSCRIBE_LINK)].slice(0, TRIES_MAX)) {
    const recipient = linkSignerOf(installation).read('unsubscribe', token);
    // A mail that is in no ledger has nothing to record a report for.
    if (recipient && recipient.sourceKind !== SOURCE_KINDS.none) {
      const { customerId, sourceKind, sourceId, recipientId, occurrence } = recipient;
      return { customerId, sourceKind, sourceId, recipientId, occurrence };
    }
  }
  return undefined;
}

/** In the header only: the body has the same link, and bodies are forwarded to others. */
function unsubscribeHeader(text: string): string {
  if (!/^list-unsubscribe:/im.test(text)) return '';
  const [head = ''] = text.split(/\r?\n\r?\n/, 1);
  return fieldsOf(head).get('list-unsubscribe') ?? '';
}
