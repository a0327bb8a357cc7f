/** Of what a customer's webhook reports events: a list, a campaign, the mails by a template, or everything. */
import { findOwnedList } from '../audience/find-owned-list.ts';
import { viewerOf, type Context } from '../context.ts';
import { findOwnedTemplate } from '../content/templates/find-owned-template.ts';
import type { InputFaults } from '../../lib/input-faults.ts';
import { noCampaignForWebhook, wrongWebhookScope } from './webhook-errors.ts';
import type { WebhookKind } from './webhook-events.ts';
import { findCampaignId } from './webhook-store.ts';

interface ScopeInput {
  readonly listUid?: string | null | undefined;
  readonly campaignUid?: string | null | undefined;
  readonly templateUid?: string | null | undefined;
}

export interface WebhookScope {
  readonly listId: bigint | null;
  readonly campaignId: bigint | null;
  readonly templateId: bigint | null;
}

const NAMES = ['listUid', 'campaignUid', 'templateUid'] as const;
/** What the events of a kind can be limited to. */
const LIMITS: Readonly<Record<WebhookKind, readonly (typeof NAMES)[number][]>> = {
  lifecycle: [],
  tracking: NAMES,
  subscriber: ['listUid'],
  campaign: ['listUid', 'campaignUid'],
};

/** The scope of a webhook of this kind; what is wrong is recorded in `faults`. */
export async function webhookScope(
  ctx: Context,
  { kind, input, faults }: { readonly kind: WebhookKind; readonly input: ScopeInput; readonly faults: InputFaults },
): Promise<WebhookScope> {
  const given = NAMES.filter((name) => input[name] !== null && input[name] !== undefined && input[name] !== '');
  faults.catch(() => refuseWrong(kind, given));
  const find = async (name: (typeof NAMES)[number], work: (uid: string) => Promise<bigint>) =>
    given.includes(name) && LIMITS[kind].includes(name)
      ? ((await faults.gather(() => work(input[name] ?? ''), name)) ?? null)
      : null;
  return {
    listId: await find('listUid', async (uid) => (await findOwnedList(ctx, uid)).id),
    campaignId: await find('campaignUid', (uid) => ownCampaignId(ctx, uid)),
    templateId: await find('templateUid', async (uid) => (await findOwnedTemplate(ctx, uid)).id),
  };
}

function refuseWrong(kind: WebhookKind, given: readonly (typeof NAMES)[number][]): void {
  const wrong = given.filter((name) => !LIMITS[kind].includes(name));
  const doubled = given.includes('campaignUid') && given.includes('templateUid') ? ['templateUid'] : [];
  const faults = Object.fromEntries([
    ...doubled.map((name) => [name, ['Give a campaign or a template, not both: a campaign copies its template.']]),
    ...wrong.map((name) => [
      name,
      [`Webhooks of this event are not limited to a ${name.replace('Uid', '')}: leave it out.`],
    ]),
  ]);
  if (Object.keys(faults).length > 0) throw wrongWebhookScope(faults);
}

async function ownCampaignId(ctx: Context, uid: string): Promise<bigint> {
  const id = await findCampaignId(ctx.db, viewerOf(ctx).customerId, uid);
  if (id === undefined) throw noCampaignForWebhook();
  return id;
}
