/** Changing suppression lists. */
import { emailAddress } from '../../lib/text.ts';
import { suppressAddresses, suppressInput, unsuppressAddress } from '../../domain/audience/suppression-list.ts';
import { builder } from '../builder.ts';
import { SuppressionReason } from '../enums.ts';
import { EVERYWHERE } from './suppression.ts';

const SCOPE = { scope: 'subscribers:write' } as const;

const SuppressedAddresses = builder.objectRef<{ added: number }>('SuppressedAddresses').implement({
  authScopes: SCOPE,
  fields: (t) => ({ added: t.exposeInt('added', { description: 'How many were not on the list before.' }) }),
});

builder.mutationField('suppressAddresses', (t) =>
  t.fieldWithInput({
    type: SuppressedAddresses,
    description:
      'Sees to it that these addresses get no mail any more, by any path. Those on the list stay as they are.',
    authScopes: SCOPE,
    typeOptions: { checks: suppressInput.shape },
    input: {
      emails: t.input.stringList({ required: true }),
      reason: t.input.field({ type: SuppressionReason, description: '`manual` if absent.' }),
      note: t.input.string(),
      everywhere: t.input.boolean({ description: EVERYWHERE }),
    },
    resolve: (_root, { input }, ctx) => suppressAddresses(ctx, input),
  }),
);

const UnsuppressedAddress = builder.objectRef<{ email: string }>('UnsuppressedAddress').implement({
  authScopes: SCOPE,
  fields: (t) => ({ email: t.exposeString('email') }),
});

builder.mutationField('unsuppressAddress', (t) =>
  t.field({
    type: UnsuppressedAddress,
    description: 'Removes an address from the list; it may get mail again.',
    authScopes: SCOPE,
    args: {
      email: t.arg.string({ required: true, check: emailAddress() }),
      everywhere: t.arg.boolean({ description: EVERYWHERE }),
    },
    resolve: (_root, args, ctx) => unsuppressAddress(ctx, args),
  }),
);
