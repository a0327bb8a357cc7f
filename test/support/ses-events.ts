/** Events of Amazon SES as its developer guide shows them, in both shapes, about one message. */
export const SES_MESSAGE_ID = '0102018f3a5b7c9d-aaaaaaaa-1111-2222-3333-444444444444-000000';

/** By event publishing of a configuration set. */
export function published(eventType: string, more: object = {}, tags: object = { mailwright_id: ['mail-k1'] }): object {
  return { eventType, mail: { ...mail, tags: { 'ses:configuration-set': ['events'], ...tags } }, ...more };
}

/** By the notifications of an identity, which have no tags. */
export function notified(
  notificationType: string,
  more: object = {},
  headers: readonly object[] | undefined = original,
) {
  return { notificationType, mail: { ...mail, headersTruncated: false, ...(headers && { headers }) }, ...more };
}

const mail = {
  timestamp: '2026-11-27T13:00:00.000Z',
  source: 'news@house.test',
  sendingAccountId: '123456789012',
  messageId: SES_MESSAGE_ID,
  destination: ['anna@there.test'],
};
const original = [
  { name: 'From', value: 'House <news@house.test>' },
  { name: 'Message-ID', value: '<mail.k1@house.test>' },
];

export function bounce(bounceType: string, bounceSubType: string, recipient: object = {}): { readonly bounce: object } {
  return {
    bounce: {
      ...{ bounceType, bounceSubType, feedbackId: '0102018f-feedback', timestamp: mail.timestamp },
      bouncedRecipients: [{ emailAddress: 'anna@there.test', ...recipient }],
    },
  };
}

export function complaint(more: object = {}): { readonly complaint: object } {
  return {
    complaint: {
      ...{ complainedRecipients: [{ emailAddress: 'anna@there.test' }], feedbackId: 'f', timestamp: mail.timestamp },
      ...{ complaintSubType: null, ...more },
    },
  };
}

/** By the link or header of SES's own lists: from all topics, unless told. */
export function subscription(
  now: object = { unsubscribeAll: true, topicSubscriptionStatus: [topic('News', 'OptOut')] },
  before: object = { unsubscribeAll: false, topicSubscriptionStatus: [topic('News', 'OptIn')] },
): { readonly subscription: object } {
  return {
    subscription: {
      ...{ contactList: 'ContactListName', timestamp: mail.timestamp, source: 'UnsubscribeHeader' },
      ...{ newTopicPreferences: now, oldTopicPreferences: before },
    },
  };
}

export function topic(topicName: string, subscriptionStatus: 'OptIn' | 'OptOut'): object {
  return { topicName, subscriptionStatus };
}
