/** What callers may say about a campaign, checked; nothing else of its row can be written from outside. */
import { z } from 'zod';
import { emailAddress, multiLine, optionalLine, singleLine } from '../../lib/text.ts';
import { localTime, quietHours } from '../audience/quiet-hours.ts';
import { sendingRoutes } from '../sending/routing/routes.ts';
import type { CampaignValues } from './campaign-store.ts';
import { HTML_LENGTH_MAX, PLAIN_LENGTH_MAX, SUBJECT_LENGTH_MAX } from '../content/message.ts';

export const CAMPAIGN_NAME_LENGTH_MAX = 255;
export const SENDER_NAME_LENGTH_MAX = 255;
/** Nobody plans a mailing further ahead; a typo in the year is caught. */
const DELIVERY_AHEAD_DAYS_MAX = 3_660;

const deliveryAt = z
  .date()
  .refine((at) => at.getTime() < Date.now() + DELIVERY_AHEAD_DAYS_MAX * 86_400_000, 'must be within ten years');

const optionalFields = {
  /** Empty and null mean everybody on the list. */
  segment_uid: optionalLine(64).nullable().optional(),
  reply_to: z.union([z.literal(''), emailAddress()]).optional(),
  plain: multiLine(PLAIN_LENGTH_MAX).optional(),
  track_open: z.boolean().optional(),
  track_click: z.boolean().optional(),
  sign_dkim: z.boolean().optional(),
  skip_failed_messages: z.boolean().optional(),
  embed_images: z.boolean().optional(),
  unknown_policy: z.enum(['park', 'retry']).optional(),
  delivery_at: deliveryAt.nullable().optional(),
  sending_servers: sendingRoutes.nullable().optional(),
  quiet_hours: quietHours.nullable().optional(),
  deliver_in_subscriber_timezone: z.boolean().optional(),
  local_time: localTime.nullable().optional(),
};

/** Field names are those of the REST contract, so that an error names what the caller wrote. */
export const createCampaignInput = z.object({
  list_uid: singleLine(64),
  name: singleLine(CAMPAIGN_NAME_LENGTH_MAX),
  subject: singleLine(SUBJECT_LENGTH_MAX),
  from_email: emailAddress(),
  from_name: singleLine(SENDER_NAME_LENGTH_MAX),
  html: multiLine(HTML_LENGTH_MAX).min(1),
  ...optionalFields,
});

export const updateCampaignInput = z.object({
  list_uid: singleLine(64).optional(),
  name: singleLine(CAMPAIGN_NAME_LENGTH_MAX).optional(),
  subject: optionalLine(SUBJECT_LENGTH_MAX).optional(),
  from_email: emailAddress().optional(),
  from_name: optionalLine(SENDER_NAME_LENGTH_MAX).optional(),
  html: multiLine(HTML_LENGTH_MAX).optional(),
  ...optionalFields,
});

export type CreateCampaignInput = z.input<typeof createCampaignInput>;
export type UpdateCampaignInput = z.input<typeof updateCampaignInput>;

type ParsedInput = z.output<typeof updateCampaignInput>;

/** The input under the names of the row; `list_uid` and `segment_uid` are looked up by the verb. */
export function campaignValues<Input extends ParsedInput>(parsed: Input) {
  return {
    name: parsed.name,
    subject: parsed.subject,
    fromEmail: parsed.from_email,
    fromName: parsed.from_name,
    html: parsed.html,
    plain: parsed.plain,
    replyTo: parsed.reply_to,
    trackOpen: parsed.track_open,
    trackClick: parsed.track_click,
    signDkim: parsed.sign_dkim,
    skipFailedMessages: parsed.skip_failed_messages,
    embedImages: parsed.embed_images,
    unknownPolicy: parsed.unknown_policy,
    deliveryAt: parsed.delivery_at,
  } satisfies CampaignValues;
}
