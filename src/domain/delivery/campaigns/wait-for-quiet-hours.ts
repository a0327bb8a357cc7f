/** Recipients for whom it is quiet now by their own clocks: they wait in the ledger until the quiet hours end. */
import type { Queryable } from '../../../db/database.ts';
import { PRIORITIES } from '../../messages/message.ts';
import { untried, type LeasedDelivery } from '../ledger/delivery.ts';
import type { CampaignInHand } from './active-campaign.ts';
import type { Held } from '../flow-mails/flow-budget.ts';
import { settle, type Leaseholder } from '../ledger/ledger-store.ts';
import type { TakenMessage } from '../messages/message-queue-store.ts';
import { quietSeconds, quietZones } from './people-times-read-model.ts';

/** Returns those who may get mail now. */
export async function waitForQuietHours(
  db: Queryable,
  { campaign, edition, holder }: CampaignInHand & { holder: Leaseholder },
  claimed: readonly LeasedDelivery[],
): Promise<readonly LeasedDelivery[]> {
  if (edition.times === null || claimed.length === 0) return claimed;
  const fields = claimed.map((delivery) => delivery.fields);
  const secondsFor = await quietZones(db, edition.times, fields);
  const held = claimed.filter((delivery) => secondsFor(delivery.fields) > 0);
  if (held.length === 0) return claimed;
  const outcomes = held.map((delivery) =>
    untried(delivery, {
      state: 'queued',
      reason: 'quiet_hours',
      delaySeconds: secondsFor(delivery.fields),
    }),
  );
  await settle(db, {
    key: campaign.key,
    holder,
    serverId: null,
    outcomes,
    next: [],
    contentVersion: null,
  });
  return claimed.filter((delivery) => secondsFor(delivery.fields) <= 0);
}

/**
 * Why a mail of a flow, or one that goes as those do, waits; undefined: it need not. It was enqueued when it was not quiet, and then something
 * held it back until it was. For a mail that is its reader's own act no hour is quiet.
 */
export async function heldByQuietHours(db: Queryable, message: TakenMessage): Promise<Held | undefined> {
  const { priority, kind, customerId, listId, fields } = message;
  if (priority !== PRIORITIES.flow || listId === null || kind === 'transactional' || kind === 'security')
    return undefined;
  const delaySeconds = await quietSeconds(db, { customerId, listId }, fields ?? {});
  return delaySeconds > 0 ? { reason: 'quiet_hours', delaySeconds } : undefined;
}
