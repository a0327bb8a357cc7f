/**
 * What Amazon SES reports through SNS: one event a request, as event publishing of a configuration set writes it (`eventType`) or as
 * notifications of an identity do (`notificationType`).
 */
import { z } from 'zod';
import type { PluginServices, WebhookEvent, WebhookReceiver } from '../../../src/plugin-api/index.ts';
import { TAG, TOPIC_SETTING } from './settings.ts';
import { readSnsMessage, type SnsMessage } from './sns-message.ts';
import { SnsProof } from './sns-proof.ts';

/** The receiver of one plugin, with its memory of certificates. */
export function snsWebhook({ fetch, log }: Pick<PluginServices, 'fetch' | 'log'>): WebhookReceiver {
  const proof = new SnsProof(fetch);
  return {
    verify: (request, { [TOPIC_SETTING]: topic }) => proof.isGenuine(request, topic),
    async parse(request, { [TOPIC_SETTING]: topic }) {
      const message = readSnsMessage(request);
      if (!message) throw new Error('This is no message of SNS.');
      if (message.Type === 'Notification') return [eventOf(message)];
      if (message.Type === 'SubscriptionConfirmation') {
        await proof.confirm(message, topic);
        log.info('amazon.subscription_confirmed', { topic });
      } else log.warn('amazon.subscription_ended', { topic });
      return [{ kind: 'ignored', name: message.Type }];
    },
  };
}

const recipientShape = z.object({ status: z.string().nullish(), diagnosticCode: z.string().nullish() });
/** What a person wants of a contact list of SES. */
const preferencesShape = z
  .object({
    unsubscribeAll: z.boolean().nullish(),
    topicSubscriptionStatus: z.array(z.object({ topicName: z.string(), subscriptionStatus: z.string() })).nullish(),
  })
  .nullish();
type Preferences = z.output<typeof preferencesShape>;

const reportShape = z.object({
  eventType: z.string().optional(),
  notificationType: z.string().optional(),
  mail: z
    .object({
      messageId: z.string().min(1),
      tags: z.record(z.string(), z.array(z.string())).optional().catch(undefined),
      headers: z
        .array(z.object({ name: z.string(), value: z.string() }))
        .optional()
        .catch(undefined),
    })
    .optional(),
  bounce: z
    .object({
      bounceType: z.string(),
      bounceSubType: z.string().default(''),
      bouncedRecipients: z.array(recipientShape).default([]),
    })
    .optional(),
  complaint: z
    .object({ complaintFeedbackType: z.string().nullish(), complaintSubType: z.string().nullish() })
    .optional(),
  reject: z.object({ reason: z.string().optional() }).optional(),
  subscription: z.object({ newTopicPreferences: preferencesShape, oldTopicPreferences: preferencesShape }).optional(),
});

type Report = z.output<typeof reportShape>;
type Mail = NonNullable<Report['mail']>;
type Subscription = Partial<NonNullable<Report['subscription']>>;

function eventOf({ MessageId: id, Message: text }: SnsMessage): WebhookEvent {
  const report = reportOf(text);
  // The first notification of a topic is a sentence.
  if (!report) return { kind: 'ignored', name: 'text' };
  const { mail, bounce, complaint, reject } = report;
  const name = report.eventType ?? report.notificationType ?? 'without a type';
  if (!mail) return { kind: 'ignored', name };
  const named = { id, messageId: mail.messageId, ownId: ownIdOf(mail) };
  if (name === 'Delivery') return { kind: 'delivered', ...named };
  if (name === 'Bounce' && bounce) return { kind: 'bounced', ...named, ...bounceOf(bounce) };
  if (name === 'Complaint') return complaintOf(named, complaint ?? {});
  if (name === 'Subscription' && wantsLess(report.subscription ?? {})) return { kind: 'unsubscribed', ...named };
  // SES found a virus.
  if (name === 'Reject') return { kind: 'bounced', ...named, bounceType: 'blocked', description: reject?.reason };
  return { kind: 'ignored', name };
}

/** Throws when it is JSON of another form: such a request must not be taken for read. */
function reportOf(text: string): Report | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return reportShape.parse(value);
}

/** Notifications of an identity have no tags; with the original headers they have our Message-ID, which SES has replaced. */
function ownIdOf({ tags, headers }: Mail): string | undefined {
  const messageId = headers?.find(({ name }) => name.toLowerCase() === 'message-id')?.value;
  return tags?.[TAG]?.[0] ?? /^\s*<([^@<>\s]{1,100})@/.exec(messageId ?? '')?.[1];
}

function bounceOf({ bounceType, bounceSubType, bouncedRecipients: [recipient] }: NonNullable<Report['bounce']>) {
  const text = recipient?.diagnosticCode ?? undefined;
  const details = {
    description: text ?? `${bounceType} ${bounceSubType}`.trim(),
    statusCode: recipient?.status ?? undefined,
  };
  return {
    bounceType: kindOfBounce(bounceType, { subType: bounceSubType, isExplained: text !== undefined }),
    ...details,
  };
}

function kindOfBounce(
  type: string,
  { subType, isExplained }: { subType: string; isExplained: boolean },
): 'hard' | 'soft' | 'blocked' | 'unclear' {
  if (/^(?:MessageTooLarge|ContentRejected|AttachmentRejected|UnsubscribedRecipient)$/.test(subType)) return 'blocked';
  if (type === 'Permanent') {
    // By these SES says itself that there is no mailbox, or was none when somebody wrote to it; `General` is also used for refused senders.
    return subType === 'General' && isExplained ? 'unclear' : 'hard';
  }
  return type === 'Undetermined' && isExplained ? 'unclear' : 'soft';
}

function complaintOf(
  named: { id: string; messageId: string; ownId: string | undefined },
  { complaintFeedbackType: feedbackType, complaintSubType: subType }: NonNullable<Report['complaint']>,
): WebhookEvent {
  // The recipient has taken the message out of the folder for spam (RFC 5965).
  if (feedbackType === 'not-spam') return { kind: 'ignored', name: 'Complaint not-spam' };
  // SES did not send it: its own list has an earlier complaint of the recipient.
  if (subType) return { kind: 'bounced', ...named, bounceType: 'blocked', description: `Complaint ${subType}` };
  return { kind: 'complained', ...named, feedbackType: feedbackType ?? undefined };
}

/** Whether the person left all topics, or one more than before; coming back is no business of ours. */
function wantsLess({ newTopicPreferences: now, oldTopicPreferences: before }: Subscription): boolean {
  if (now?.unsubscribeAll === true) return true;
  const leftBefore = new Set(topicsLeft(before));
  return topicsLeft(now).some((topic) => !leftBefore.has(topic));
}

function topicsLeft(preferences: Preferences): readonly string[] {
  const topics = preferences?.topicSubscriptionStatus ?? [];
  return topics.filter(({ subscriptionStatus }) => subscriptionStatus === 'OptOut').map(({ topicName }) => topicName);
}
