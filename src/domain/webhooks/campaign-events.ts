/** What happened to campaigns, for webhooks of their customer; `campaign.sent` is decision D25. */
import type { Queryable } from '../../db/database.ts';
import type { RecordedEvent } from '../../events/event-kinds.ts';
import type { NewDelivery } from './delivery-store.ts';
import type { PayloadOf, WebhookEvent } from './webhook-events.ts';
import { campaignsOf, listeningWebhooks } from './webhook-store.ts';

type CampaignEvent = Extract<WebhookEvent, `campaign.${string}`>;
type StatusChange = Extract<RecordedEvent, { kind: 'campaign_status_changed' }>;

/** The deliveries of these events; without a webhook that asks for them one look-up, and none without a change of a campaign. */
export async function campaignEvents(db: Queryable, events: readonly RecordedEvent[]): Promise<readonly NewDelivery[]> {
  const changes = events.flatMap((change) => {
    const event = change.kind === 'campaign_status_changed' ? eventOf(change.data) : undefined;
    const { customerId } = change;
    return event && customerId !== null && change.kind === 'campaign_status_changed'
      ? [{ change, event, customerId }]
      : [];
  });
  if (changes.length === 0) return [];
  const names = [...new Set(changes.map(({ event }) => event))];
  const webhooks = await listeningWebhooks(db, names, [...new Set(changes.map(({ customerId }) => customerId))]);
  if (webhooks.length === 0) return [];
  const found = await campaignsOf(
    db,
    changes.map(({ change }) => change.objectUid),
  );
  const campaigns = new Map(found.map((campaign) => [campaign.uid, campaign]));
  return changes.flatMap(({ change, event, customerId }) => {
    const campaign = campaigns.get(change.objectUid);
    if (!campaign) return [];
    const payload = JSON.stringify(payloadOf(event, change, campaign.listUid));
    const { id, happenedAt } = change;
    return webhooks
      .filter(
        (webhook) =>
          webhook.event === event &&
          webhook.customerId === customerId &&
          webhook.createdAt <= happenedAt &&
          isOneOf(webhook.campaignId, campaign.id) &&
          isOneOf(webhook.listId, campaign.listId),
      )
      .map((webhook) => ({ webhook, event, sourceKey: `event ${id}`, personId: null, happenedAt, payload }));
  });
}

/** Null asks for all. */
function isOneOf(wanted: bigint | null, id: bigint): boolean {
  return wanted === null || wanted === id;
}

function eventOf({ from, to }: StatusChange['data']): CampaignEvent | undefined {
  switch (to) {
    case 'scheduled':
      return 'campaign.scheduled';
    case 'queued':
      return from === 'paused' ? 'campaign.resumed' : undefined;
    case 'sending':
      return from === 'paused' ? 'campaign.resumed' : from === 'queued' ? 'campaign.started' : undefined;
    case 'paused':
      return 'campaign.paused';
    case 'done':
      return 'campaign.sent';
    case 'error':
      return 'campaign.failed';
    default:
      return undefined;
  }
}

function payloadOf(
  event: CampaignEvent,
  { id, objectUid, happenedAt, data: { reason } }: StatusChange,
  listUid: string | null,
): PayloadOf<CampaignEvent> {
  const at = happenedAt.toISOString();
  const always = { campaign_uid: objectUid, list_uid: listUid, occurred_at: at, sequence: Number(id) };
  switch (event) {
    case 'campaign.sent':
      return { event, ...always, sent_at: at };
    case 'campaign.paused':
    case 'campaign.failed':
      return { event, ...always, fired_at: at, reason };
    case 'campaign.scheduled':
    case 'campaign.started':
    case 'campaign.resumed':
      return { event, ...always, fired_at: at };
  }
}
