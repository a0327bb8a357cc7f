/** Asks the plugins whether recipients get the message: `recipient_check` for a batch, the FILTER `before_message_sent` for each. */
import { headerText } from '../../content/escape.ts';
import type { Context } from '../../context.ts';
import { subscriberUid } from '../../../lib/ids.ts';
import { SKIP_REASON_LENGTH_MAX, type SkippedMessage, type TagRecipient } from '../../../plugin-api/index.ts';
import type { Edition } from './campaign-edition.ts';
import { untried, type DeliveryOutcome, type LeasedDelivery } from '../ledger/delivery.ts';

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
  return skip === null ? undefined : skippedOutcome(delivery, skippedBy, skip.reason);
}

function skippedOutcome(delivery: LeasedDelivery, plugin: string, reason: string): DeliveryOutcome {
  const skipped = untried(delivery, { state: 'skipped', reason: 'skipped_by_plugin' });
  return { ...skipped, reply: `${plugin}${SEPARATOR}${reason}` };
}

/** So long all of a batch waits for a plugin. Leases of recipients are longer. */
const CHECK_MS_MAX = 10_000;

/** Asks the plugins (REGISTRY `recipient_check`) once for a batch. The outcomes of those who are skipped; the first plugin counts. */
export async function skippedOfBatch(
  { hooks }: Pick<Context, 'hooks'>,
  { uids }: Pick<Edition, 'uids'>,
  batch: readonly { readonly delivery: LeasedDelivery; readonly person: TagRecipient }[],
): Promise<ReadonlyMap<LeasedDelivery, DeliveryOutcome>> {
  const entries = hooks.owned('recipient_check').filter(({ plugin }) => hooks.mayActFor(plugin, uids.customerUid));
  const people = batch.map(({ person }) => person);
  const answers = await Promise.all(
    entries.map(async ({ plugin, value: check }) => {
      const read = async () => readReasons(await check.skips(people, uids), people);
      // It is logged and counted already.
      const failed = () => new Map<string, string>();
      const asked = hooks.contained.run({ plugin, hook: 'recipient_check' }, read, { timeoutMs: CHECK_MS_MAX });
      return { plugin, reasons: await asked.catch(failed) };
    }),
  );
  return new Map(
    batch.flatMap(({ delivery, person }) => {
      const found = answers.find(({ reasons }) => reasons.has(person.subscriberUid));
      const reason = found?.reasons.get(person.subscriberUid);
      return found && reason !== undefined ? [[delivery, skippedOutcome(delivery, found.plugin, reason)]] : [];
    }),
  );
}

/** Throws TypeError when it is no object of texts. Uids of others have no effect. */
function readReasons(returned: unknown, people: readonly TagRecipient[]): ReadonlyMap<string, string> {
  if (typeof returned !== 'object' || returned === null)
    throw new TypeError('"skips" must return an object of reasons by the uid of the subscriber.');
  return new Map(
    people.flatMap(({ subscriberUid: uid }) => {
      const reason: unknown = Object.hasOwn(returned, uid) ? Reflect.get(returned, uid) : undefined;
      return reason === undefined || reason === null ? [] : [[uid, readReason(reason)]];
    }),
  );
}

function readReason(reason: unknown): string {
  if (typeof reason !== 'string' || reason.trim() === '')
    throw new TypeError('A reason must be a text that is not empty.');
  return headerText(reason.trim().slice(0, SKIP_REASON_LENGTH_MAX));
}

/** Only `skip` is read. Throws TypeError when it is not what it must be. */
function readSkip(returned: unknown): SkippedMessage | null {
  const skip: unknown = typeof returned === 'object' && returned !== null && 'skip' in returned ? returned.skip : null;
  if (skip === null || skip === undefined) return null;
  const reason: unknown = typeof skip === 'object' && 'reason' in skip ? skip.reason : undefined;
  if (typeof reason !== 'string') throw new TypeError('"skip" must be null, or an object with the text "reason".');
  return { reason: readReason(reason) };
}
