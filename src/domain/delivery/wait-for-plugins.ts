/** The values of plugins' merge tags for a batch. Recipients without a required value wait in the ledger. */
import { subscriberUid } from '../../lib/ids.ts';
import type { Context } from '../context.ts';
import type { CampaignInHand } from './active-campaign.ts';
import { untried, type LeasedDelivery } from './delivery.ts';
import { fieldValues } from './field-values.ts';
import { settle, type Leaseholder } from './ledger-store.ts';
import { tagValuesFor } from './plugin-tags.ts';

/** A plugin that cannot answer now is asked again after this time: not so often that it gets no rest. */
const PLUGIN_DELAY_SECONDS = 300;

/** Returns those who may get mail now, with their values. */
export async function waitForPlugins(
  { db, hooks }: Pick<Context, 'db' | 'hooks'>,
  { campaign, edition, holder }: CampaignInHand & { holder: Leaseholder },
  claimed: readonly LeasedDelivery[],
): Promise<readonly LeasedDelivery[]> {
  const people = claimed.map(({ recipientId, email, fields }) => ({
    ...{ uid: subscriberUid(recipientId), email, fields: fieldValues(fields) },
  }));
  const values = people.length === 0 ? undefined : await tagValuesFor(hooks, edition.message, people);
  if (!values) return claimed;
  const uidOf = ({ recipientId }: LeasedDelivery) => subscriberUid(recipientId);
  const outcomes = claimed.flatMap((delivery) => {
    const plugin = values.missingFor(uidOf(delivery));
    if (plugin === undefined) return [];
    const waits = { state: 'queued', reason: 'waits_for_plugin', delaySeconds: PLUGIN_DELAY_SECONDS } as const;
    return [{ ...untried(delivery, waits), reply: plugin }];
  });
  if (outcomes.length > 0)
    await settle(db, { key: campaign.key, holder, serverId: null, outcomes, next: [], contentVersion: null });
  return claimed
    .filter((delivery) => values.missingFor(uidOf(delivery)) === undefined)
    .map((delivery) => ({ ...delivery, pluginValues: values.of(uidOf(delivery)) }));
}
