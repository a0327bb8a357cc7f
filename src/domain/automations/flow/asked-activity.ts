/** Which opens and clicks flows ask for (D77, D78). Pure. */
import { fold } from '../../audience/segments/condition-read-model.ts';
import type { AwaitedEvent } from './flow-parts.ts';
import type { Flow } from './flow.ts';
import type { OpenOrClick } from './open-or-click.ts';

/** Of a mail of the flow. */
export type AwaitedActivity = Extract<AwaitedEvent, { type: 'opened' | 'clicked' }>;
/** Of a campaign's message. */
type CampaignTrigger = Extract<Flow['triggers'][number], { type: 'campaign_opened' | 'campaign_clicked' }>;
export type AskedActivity = AwaitedActivity | CampaignTrigger;

export function isActivity(asked: AwaitedEvent): asked is AwaitedActivity {
  return asked.type === 'opened' || asked.type === 'clicked';
}

/** Whether it is what is asked for. Machines count only when asked for (D78); links are compared without case. */
export function isAskedFor(asked: AskedActivity, { kind, isMachine, url, mail, campaignUid }: OpenOrClick): boolean {
  const mustClick = asked.type === 'clicked' || asked.type === 'campaign_clicked';
  // Who clicked has read, also without the pictures.
  if (mustClick && kind !== 'clicked') return false;
  if (isMachine && asked.machines !== true) return false;
  const link = 'linkContains' in asked ? asked.linkContains : undefined;
  if (link !== undefined && !fold(url ?? '').includes(fold(link))) return false;
  if (asked.type === 'opened' || asked.type === 'clicked') return mail !== null && isIt(asked.mail, mail.node);
  return campaignUid !== null && isIt(asked.campaignUid, campaignUid);
}

/** Without a name any is. */
function isIt(asked: string | undefined, given: string): boolean {
  return asked === undefined || asked === given;
}

/** The opens and clicks that a flow asks for: of its own mails, and of campaigns; none: of all campaigns to its list. */
export function activityAskedBy({ triggers, nodes, goals, exits }: Flow) {
  const waits = nodes.flatMap((node) => (node.type === 'wait_for_event' ? [node.event] : []));
  const awaited = [...waits, ...[...goals, ...exits].flatMap(({ event }) => event ?? [])];
  const campaigns = triggers.flatMap((one) =>
    one.type === 'campaign_opened' || one.type === 'campaign_clicked' ? [one.campaignUid] : [],
  );
  const named = campaigns.filter((uid) => uid !== undefined);
  const some = named.length === campaigns.length ? [...new Set(named)] : [];
  return { mails: awaited.some(isActivity), campaigns: campaigns.length === 0 ? null : some };
}
