/**
 * The fields of a campaign in the domain: each one's column, the check of its input, and until when it may change. A field that is
 * added here is checked, stored and read by the verbs. Its names in GraphQL are in schema/campaigns/campaign-fields.ts, those in
 * REST in rest-facade/campaigns/fields.ts.
 */
import { z } from 'zod';
import { checksOf } from '../../db/fields.ts';
import { typed } from '../../db/row.ts';
import type { Field, RowOfFields, ValuesOf } from '../../db/fields.ts';
import { emailAddress, optionalLine, singleLine } from '../../lib/text.ts';
import { localTime, quietHours, type QuietHours } from '../audience/quiet-hours.ts';
import type { SegmentSnapshot } from '../audience/segments/segment.ts';
import { given, textChecks } from '../content/text-checks.ts';
import type { UnknownPolicy } from '../delivery/ledger/delivery.ts';
import { sendingRoutes, type SendingRoute } from '../sending/routing/routes.ts';
import type { CampaignStatus } from './campaign-state-store.ts';

const NAME_LENGTH_MAX = 255;
const SENDER_NAME_LENGTH_MAX = 255;
const UID_LENGTH_MAX = 64;
/** Later times are mistakes in the year. */
const DELIVERY_AHEAD_DAYS_MAX = 3_660;

const deliveryAt = z
  .date()
  .refine((at) => at.getTime() < Date.now() + DELIVERY_AHEAD_DAYS_MAX * 86_400_000, 'must be within ten years');

/**
 * When a field of a campaign that has begun may still change: while it is paused and nobody has got its message (`unsent`), while
 * it is paused, when it is done. A field without any cannot change then.
 */
type Late = 'unsent' | 'paused' | 'done';

interface CampaignField extends Field {
  readonly late?: readonly Late[];
}

/** So far every campaign has html, with or without a plain text of its own. */
const CAMPAIGN_TYPES = ['regular'] as const;

const unsent = ['unsent'] as const;
const paused = ['paused'] as const;

/** Undefined changes nothing, null clears. */
export const campaignFields = {
  listId: { column: 'list_id', type: 'bigint' },
  segmentId: { column: 'segment_id', type: 'bigint?' },
  // A caller that names another type is refused: its campaign would not be what it asked for (decision D53).
  type: { column: 'type', type: 'text', check: given(z.string().pipe(z.enum(CAMPAIGN_TYPES))) },
  name: { column: 'name', type: 'text', check: given(singleLine(NAME_LENGTH_MAX)), late: ['unsent', 'done'] },
  subject: { column: 'subject', type: 'text', check: textChecks.subject, late: unsent },
  preheader: { column: 'preheader', type: 'text', check: textChecks.preheader, late: unsent },
  fromEmail: { column: 'from_email', type: 'text', check: given(emailAddress()), late: unsent },
  fromName: { column: 'from_name', type: 'text', check: given(optionalLine(SENDER_NAME_LENGTH_MAX)), late: unsent },
  replyTo: { column: 'reply_to', type: 'text', check: given(z.union([z.literal(''), emailAddress()])), late: unsent },
  html: { column: 'html', type: 'text', check: textChecks.html, late: unsent },
  plain: { column: 'plain', type: 'text', check: textChecks.plain, late: unsent },
  trackOpen: { column: 'track_open', type: 'bool', check: given(z.boolean()), late: unsent },
  trackClick: { column: 'track_click', type: 'bool', check: given(z.boolean()), late: unsent },
  signDkim: { column: 'sign_dkim', type: 'bool', check: given(z.boolean()), late: unsent },
  embedImages: { column: 'embed_images', type: 'bool', check: given(z.boolean()), late: unsent },
  skipFailedMessages: { column: 'skip_failed_messages', type: 'bool', check: given(z.boolean()), late: paused },
  unknownPolicy: {
    column: 'unknown_policy',
    type: typed<UnknownPolicy>('text'),
    check: given(z.enum(['park', 'retry'])),
    late: paused,
  },
  deliveryAt: { column: 'delivery_at', type: 'timestamptz?', check: deliveryAt.nullish() },
  sendingServers: {
    column: 'sending_servers',
    type: typed<readonly SendingRoute[]>('json?'),
    check: sendingRoutes.nullish(),
    late: paused,
  },
  quietHours: { column: 'quiet_hours', type: typed<QuietHours>('json?'), check: quietHours.nullish() },
  deliverInSubscriberTimezone: {
    column: 'deliver_in_subscriber_timezone',
    type: 'bool',
    check: given(z.boolean()),
  },
  localTime: { column: 'local_time', type: 'text?', check: localTime.nullish() },
} satisfies Record<string, CampaignField>;

/** All columns that the verbs read: the fields above, and those that only the program writes. */
export const campaignColumns = {
  id: { column: 'id', type: 'bigint' },
  uid: { column: 'uid', type: 'text' },
  customerId: { column: 'customer_id', type: 'bigint' },
  ...campaignFields,
  status: { column: 'status', type: typed<CampaignStatus>('text') },
  /** The name that the list had when it was deleted; null: it is there. */
  listName: { column: 'list_name', type: 'text?' },
  /** The segment at the start; the audience snapshot uses it. */
  segmentSnapshot: { column: 'segment_snapshot', type: typed<SegmentSnapshot>('json?') },
  /** YYYY-MM-DD, once it was started. */
  snapshotOn: { column: 'snapshot_on', type: 'date?' },
  snapshotCursor: { column: 'snapshot_cursor', type: 'bigint' },
  snapshotAt: { column: 'snapshot_at', type: 'timestamptz?' },
} satisfies Record<string, Field>;

/** When an input field may still change; an unknown field never. */
export function lateChangesOf(name: string): readonly string[] {
  const fields: Readonly<Record<string, CampaignField>> = campaignFields;
  return fields[name]?.late ?? [];
}

export type CampaignValues = ValuesOf<typeof campaignFields>;
export type CampaignRow = RowOfFields<typeof campaignColumns>;

const needed = z.string().min(1);
const checks = checksOf(campaignFields);
const listUid = given(singleLine(UID_LENGTH_MAX));

export const updateCampaignInput = z.object({
  listUid,
  /** Empty and null mean all people of the list. */
  segmentUid: optionalLine(UID_LENGTH_MAX).nullish(),
  ...checks,
});

export const createCampaignInput = updateCampaignInput.extend({
  listUid: listUid.pipe(needed),
  name: checks.name.pipe(needed),
  subject: checks.subject.pipe(needed),
  fromEmail: checks.fromEmail.pipe(needed),
  fromName: checks.fromName.pipe(needed),
  html: checks.html.pipe(needed),
});

export type CreateCampaignInput = z.input<typeof createCampaignInput>;
export type UpdateCampaignInput = z.input<typeof updateCampaignInput>;
