/** What the rows of subscribers answer (specification 2.3; decision D7): fixed names, and one per field of the list. */
import { z } from 'zod';
import { actionShape, timeShape, uidShape } from '../shapes.ts';

const statusShape = z.enum(['subscribed', 'unsubscribed', 'unconfirmed', 'pending']);
const row = { id: z.int(), uid: uidShape, email: z.string(), status: statusShape };

export const subscriberRowShape = withFieldTags(row).meta({ id: 'SubscriberRow' });

const subscriberShape = withFieldTags({
  ...row,
  list_uid: uidShape,
  source: z.string().nullable(),
  ip_address: z.string().nullable(),
  deliverability: z.enum(['ok', 'bounced', 'complained', 'suppressed']),
  verification_status: z
    .enum(['deliverable', 'undeliverable', 'risky', 'unknown'])
    .nullable()
    .meta({ description: 'What a verifier has said of the address; null: not verified.' }),
  verification_reasons: z.array(z.string()),
  verified_at: timeShape.nullable(),
  verified_by: z.string().nullable().meta({ description: 'The type of the verification server.' }),
  tags: z.array(z.string()),
  created_at: timeShape,
  updated_at: timeShape,
}).meta({ id: 'Subscriber' });

export const oneSubscriberShape = z.strictObject({ subscriber: subscriberShape });
export const subscribersShape = z.strictObject({ subscribers: z.array(subscriberShape) });

const whom = { subscriber_uid: uidShape, subscriber_id: z.string() };
export const subscriberActionShape = actionShape(whom);
export const unsubscribedShape = actionShape({ ...whom, list_uids: z.array(uidShape) });
export const subscriberTagsShape = actionShape({ ...whom, tags: z.array(z.string()) });

/** Besides the named ones, any field tag with a text. */
function withFieldTags<Shape extends z.ZodRawShape>(shape: Shape) {
  return z
    .object(shape)
    .catchall(z.string())
    .meta({ patternProperties: { '^[A-Z0-9_]+$': { type: 'string' } } });
}
