/** What Amazon SNS posts. */
import { z } from 'zod';
import type { WebhookRequest } from '../../../src/plugin-api/index.ts';

const messageShape = z.object({
  Type: z.enum(['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']),
  MessageId: z.string().min(1),
  TopicArn: z.string(),
  Message: z.string(),
  Timestamp: z.string(),
  Subject: z.string().nullish(),
  SubscribeURL: z.string().optional(),
  Token: z.string().optional(),
  SignatureVersion: z.enum(['1', '2']),
  Signature: z.string(),
  SigningCertURL: z.string(),
});

export type SnsMessage = z.output<typeof messageShape>;

/** The message; undefined when it is none. */
export function readSnsMessage({ body }: WebhookRequest): SnsMessage | undefined {
  try {
    return messageShape.safeParse(JSON.parse(Buffer.from(body).toString('utf8'))).data;
  } catch {
    return undefined;
  }
}

const SIGNED = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
} as const;

/** What the signature is made of. */
export function signedText(message: Omit<SnsMessage, 'Signature' | 'SigningCertURL' | 'SignatureVersion'>): string {
  return SIGNED[message.Type]
    .flatMap((key) => (typeof message[key] === 'string' ? [`${key}\n${message[key]}\n`] : []))
    .join('');
}
