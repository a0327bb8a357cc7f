/** Asks the plugins, with the FILTER `before_message_sent`, whether a recipient gets the message. */
import { headerText } from '../content/escape.ts';
import type { Context } from '../context.ts';
import { subscriberUid } from '../../lib/ids.ts';
import { SKIP_REASON_LENGTH_MAX, type SkippedMessage } from '../../plugin-api/index.ts';
import type { Edition } from './campaign-edition.ts';
import { untried, type DeliveryOutcome, type LeasedDelivery } from './delivery.ts';

/** Between the plugin's name and its words, in the ledger. */
const SEPARATOR = ': ';

/** The outcome for a recipient that a plugin skips; undefined: the message is sent. */
export function skippedByPlugin(
  { hooks }: Pick<Context, 'hooks'>,
  { uids }: Pick<Edition, 'uids'>,
  delivery: LeasedDelivery,
): DeliveryOutcome | undefined {
  if (!hooks.isFiltered('before_message_sent')) return undefined;
  let skippedBy = '';
  const message = { email: delivery.email, subscriberUid: subscriberUid(delivery.recipientId), ...uids, skip: null };
  const { skip } = hooks.filterChecked('before_message_sent', message, (returned, before, plugin) => {
    const next = readSkip(returned);
    if (next?.reason !== before.skip?.reason) skippedBy = plugin;
    return { ...before, skip: next };
  });
  if (skip === null) return undefined;
  const skipped = untried(delivery, { state: 'skipped', reason: 'skipped_by_plugin' });
  return { ...skipped, reply: `${skippedBy}${SEPARATOR}${skip.reason}` };
}

/** Only `skip` is read. Throws TypeError when it is not what it must be. */
function readSkip(returned: unknown): SkippedMessage | null {
  const skip: unknown = typeof returned === 'object' && returned !== null && 'skip' in returned ? returned.skip : null;
  if (skip === null || skip === undefined) return null;
  const reason: unknown = typeof skip === 'object' && 'reason' in skip ? skip.reason : undefined;
  if (typeof reason !== 'string' || reason.trim() === '')
    throw new TypeError('"skip" must be null, or an object with the text "reason".');
  return { reason: headerText(reason.trim().slice(0, SKIP_REASON_LENGTH_MAX)) };
}
