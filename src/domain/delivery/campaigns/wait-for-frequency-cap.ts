/** Recipients of a campaign who had as many messages as their frequency caps allow: they wait in the ledger until they may get one, or are skipped. */
import { messageOf } from '../../../lib/errors.ts';
import type { Context } from '../../context.ts';
import type { CampaignInHand } from './active-campaign.ts';
import { endPlaces, takePlaces } from '../capped-message-store.ts';
import { untried, type LeasedDelivery } from '../ledger/delivery.ts';
import { settle, type Leaseholder } from '../ledger/ledger-store.ts';

interface Allowed {
  readonly allowed: readonly LeasedDelivery[];
  /** Those who were not sent to do not count. Called while their rows are still leased. */
  ended(): Promise<void>;
}

/** Takes places for those who may get mail now; the rows are leased to the holder. Without caps nothing is asked. */
export async function waitForFrequencyCap(
  { db, log }: Pick<Context, 'db' | 'log'>,
  { campaign, edition, holder }: CampaignInHand & { holder: Leaseholder },
  claimed: readonly LeasedDelivery[],
): Promise<Allowed> {
  const { caps } = edition;
  const listId = claimed[0]?.listId;
  if (caps === null || listId === undefined) return { allowed: claimed, ended: async () => undefined };
  const { key } = campaign;
  const places = await takePlaces(db, { key, listId, caps, messages: claimed });
  const outcomes = claimed.flatMap((delivery, no) => {
    const place = places[no] ?? 'skip';
    if (place === 'skip') return [untried(delivery, { state: 'skipped', reason: 'frequency_cap' })];
    if ('takenAt' in place) return [];
    return [untried(delivery, { state: 'queued', reason: 'frequency_cap', delaySeconds: place.delaySeconds })];
  });
  if (outcomes.length > 0) await settle(db, { key, holder, serverId: null, outcomes, next: [], contentVersion: null });
  const allowed = claimed.filter((_delivery, no) => isTaken(places[no]));
  const takenAt = places.find(isTaken)?.takenAt;
  return {
    allowed,
    async ended() {
      if (takenAt === undefined) return;
      await endPlaces(db, { key, messages: allowed, takenAt }).catch((error: unknown) =>
        // They count as sent until the next try takes them.
        log.warn('delivery.places_not_ended', { message: messageOf(error) }),
      );
    },
  };
}

function isTaken(
  place: Awaited<ReturnType<typeof takePlaces>>[number] | undefined,
): place is { readonly takenAt: Date } {
  return typeof place === 'object' && 'takenAt' in place;
}
