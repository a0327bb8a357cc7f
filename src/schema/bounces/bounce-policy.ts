/** How many bounces of a mailbox a customer tolerates. */
import type { BouncePolicy as Policy } from '../../domain/tracking/bounce-policy.ts';
import { builder } from '../builder.ts';

export const BouncePolicy = builder.objectRef<Policy>('BouncePolicy').implement({
  description:
    'A hard bounce suppresses the address at once, a complaint also unsubscribes. Soft bounces do so when there are too many.',
  authScopes: { scope: 'sending-servers:read' },
  fields: (t) => ({
    softBounceLimit: t.exposeInt('softBounceLimit', {
      description: 'Soft bounces of so many different messages suppress an address; 0: never.',
    }),
    softBounceDays: t.exposeInt('softBounceDays', { description: 'Within so many days.' }),
    isOwn: t.exposeBoolean('isOwn', {
      description: 'Whether the customer has its own values; false: those of the installation.',
    }),
  }),
});
