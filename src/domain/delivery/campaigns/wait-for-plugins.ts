/** What plugins say of a batch before it is sent: whom they skip, and values of merge tags. Recipients without a required value wait in the ledger. */
import { subscriberUid } from '../../../lib/ids.ts';
import type { Context } from '../../context.ts';
import type { CampaignInHand } from './active-campaign.ts';
import { untried, type DeliveryOutcome, type LeasedDelivery } from '../ledger/delivery.ts';
import { fieldValues } from '../field-values.ts';
import { settle, type Leaseholder } from '../ledger/ledger-store.ts';
import { tagValuesFor } from './plugin-tags.ts';
import { skippedOfBatch } from './skipped-by-plugin.ts';

/** A plugin that cannot answer now is asked again after this time: not so often that it gets no rest. */
const PLUGIN_DELAY_SECONDS = 300;

/** Records those who do not get it now, and returns the others with their values. */
export async function waitForPlugins(
  ctx: Pick<Context, 'db' | 'hooks'>,
  { campaign, edition, holder }: CampaignInHand & { holder: Leaseholder },
  claimed: readonly LeasedDelivery[],
): Promise<readonly LeasedDelivery[]> {
  const { hooks } = ctx;
  if (
    claimed.length === 0 ||
    (edition.message.pluginTags.names.length === 0 && hooks.owned('recipient_check').length === 0)
  )
    return claimed;
  const batch = claimed.map((delivery) => {
    const uid = subscriberUid(delivery.recipientId);
    const person = { subscriberUid: uid, email: delivery.email, fields: fieldValues(delivery.fields) };
    return { delivery, uid, person };
  });
  const people = batch.map(({ uid, person: { email, fields } }) => ({ uid, email, fields }));
  const [skipped, values] = await Promise.all([
    skippedOfBatch(ctx, edition, batch),
    tagValuesFor(hooks, edition.message, people),
  ]);
  const waiting = ({ delivery, uid }: (typeof batch)[number]): DeliveryOutcome | undefined => {
    const plugin = values?.missingFor(uid);
    if (plugin === undefined) return undefined;
    const waits = { state: 'queued', reason: 'waits_for_plugin', delaySeconds: PLUGIN_DELAY_SECONDS } as const;
    return { ...untried(delivery, waits), reply: plugin };
  };
  const asked = batch.map((one) => ({ ...one, outcome: skipped.get(one.delivery) ?? waiting(one) }));
  const outcomes = asked.flatMap(({ outcome }) => outcome ?? []);
  if (outcomes.length > 0)
    await settle(ctx.db, { key: campaign.key, holder, serverId: null, outcomes, next: [], contentVersion: null });
  return asked
    .filter(({ outcome }) => outcome === undefined)
    .map(({ delivery, uid }) => (values ? { ...delivery, pluginValues: values.of(uid) } : delivery));
}
