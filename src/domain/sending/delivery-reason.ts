/**
 * Why a row of the ledger is in its state: codes, as they are stored and compared, and the one catalogue of their texts. A
 * server's own words are beside the code, in `reply`.
 */
import { replyTexts, type ReplyMatter } from './replies/reply-matter.ts';
import type { ReplyClass, ReplyMeaning } from './replies/reply.ts';

const TEXTS = {
  // the person
  deleted: 'deleted',
  pending: 'pending',
  suppressed: 'suppressed',
  unconfirmed: 'unconfirmed',
  unsubscribed: 'unsubscribed',
  skipped_by_plugin: 'skipped by a plugin',
  recipient_changed: 'recipient changed',
  asked_too_often: 'asked to confirm too often today',
  // its customer
  no_plan: 'no running subscription',
  source_deleted: 'list, campaign or flow deleted, or its customer disabled',
  template_deleted: 'template deleted',
  flow_stopped: 'held back: its flow is stopped',
  overdue: 'skipped: too late when its flow went on',
  plan_credits: 'held back: the credits of the plan are used up',
  plan_quota: 'held back: the quota of the plan is used up',
  // its time
  waits_for_plugin: 'waits for a plugin',
  own_time: 'waits for its time',
  quiet_hours: 'held back: quiet hours',
  frequency_cap: 'the frequency cap is reached',
  server_pace: 'held back: the pace of the sending server',
  domain_limit: 'held back: hourly limit of the domain',
  provider_paused: 'held back: the provider asked to wait',
  // the message
  not_composed: 'not composed',
  header_too_long: 'header too long',
  template_stopped: 'template stopped',
  campaign_refused: 'campaign refused',
  restored_from_backup: 'not sent: a backup was restored',
  // the server
  no_server: 'no sending server',
  no_answer: 'no answer',
  server_unavailable: 'server unavailable',
  refused_with_many: 'refused with many others',
  // its later history
  worker_lost: 'worker lost',
  cancelled: 'cancelled before it was sent',
  accepted_by_hand: 'accepted by hand',
  resent_by_hand: 'resent by hand',
} as const;

const CLASS_TEXTS: Readonly<Record<ReplyClass, string>> = {
  permanent: 'permanent',
  transient: 'transient',
  block: 'block',
  rate_limit: 'rate limit',
  policy: 'policy',
};

/** The meaning of a server's refusal: its class and matter; `gave_up`: no more tries. */
type ReplyReason = `${ReplyClass}.${ReplyMatter}` | `${ReplyClass}.${ReplyMatter}.gave_up`;

export type DeliveryReason = keyof typeof TEXTS | ReplyReason;

export function reasonOfReply(meaning: ReplyMeaning, { gaveUp = false } = {}): DeliveryReason {
  const reason = `${meaning.class}.${meaning.what}` as const;
  return gaveUp ? `${reason}.gave_up` : reason;
}

/** The text of a stored reason; the reason itself if only another version of the program knows it. */
export function deliveryReasonText(reason: string): string {
  const known = KNOWN.get(reason);
  if (known !== undefined) return known;
  const [replyClass = '', matter = '', end] = reason.split('.');
  const [classText, text] = [CLASSES.get(replyClass), MATTERS.get(matter)];
  if (classText === undefined || text === undefined) return reason;
  return `${classText}: ${text}${end === 'gave_up' ? ', tried too often' : ''}`;
}

const KNOWN = new Map<string, string>(Object.entries(TEXTS));
const CLASSES = new Map<string, string>(Object.entries(CLASS_TEXTS));
const MATTERS = new Map<string, string>(Object.entries(replyTexts));
