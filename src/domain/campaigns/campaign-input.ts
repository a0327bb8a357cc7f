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

/** Null leaves alone, as absent does: of these fields there is no "none". */
function given<Schema extends z.ZodType>(check: Schema) {
  return check.nullish().transform((value) => value ?? undefined);
}

const optionalFields = {
  /** Empty and null mean everybody on the list. */
  segmentUid: optionalLine(64).nullish(),
  replyTo: given(z.union([z.literal(''), emailAddress()])),
  plain: given(multiLine(PLAIN_LENGTH_MAX)),
  trackOpen: given(z.boolean()),
  trackClick: given(z.boolean()),
  signDkim: given(z.boolean()),
  skipFailedMessages: given(z.boolean()),
  embedImages: given(z.boolean()),
  unknownPolicy: given(z.enum(['park', 'retry'])),
  deliveryAt: deliveryAt.nullish(),
  sendingServers: sendingRoutes.nullish(),
  quietHours: quietHours.nullish(),
  deliverInSubscriberTimezone: given(z.boolean()),
  localTime: localTime.nullish(),
};

export const createCampaignInput = z.object({
  listUid: singleLine(64),
  name: singleLine(CAMPAIGN_NAME_LENGTH_MAX),
  subject: singleLine(SUBJECT_LENGTH_MAX),
  fromEmail: emailAddress(),
  fromName: singleLine(SENDER_NAME_LENGTH_MAX),
  html: multiLine(HTML_LENGTH_MAX).min(1),
  ...optionalFields,
});

export const updateCampaignInput = z.object({
  listUid: given(singleLine(64)),
  name: given(singleLine(CAMPAIGN_NAME_LENGTH_MAX)),
  subject: given(optionalLine(SUBJECT_LENGTH_MAX)),
  fromEmail: given(emailAddress()),
  fromName: given(optionalLine(SENDER_NAME_LENGTH_MAX)),
  html: given(multiLine(HTML_LENGTH_MAX)),
  ...optionalFields,
});

export type CreateCampaignInput = z.input<typeof createCampaignInput>;
export type UpdateCampaignInput = z.input<typeof updateCampaignInput>;

type ParsedInput = z.output<typeof updateCampaignInput>;

/** The input under the names of the row; `listUid` and `segmentUid` are looked up by the verb. */
export function campaignValues<Input extends ParsedInput>(parsed: Input) {
  return {
    name: parsed.name,
    subject: parsed.subject,
    fromEmail: parsed.fromEmail,
    fromName: parsed.fromName,
    html: parsed.html,
    plain: parsed.plain,
    replyTo: parsed.replyTo,
    trackOpen: parsed.trackOpen,
    trackClick: parsed.trackClick,
    signDkim: parsed.signDkim,
    skipFailedMessages: parsed.skipFailedMessages,
    embedImages: parsed.embedImages,
    unknownPolicy: parsed.unknownPolicy,
    deliveryAt: parsed.deliveryAt,
  } satisfies CampaignValues;
}
