/** The second factor of the caller: switching it on in two steps, and off. */
import { disableTwoFactor, resetTwoFactor } from '../../domain/accounts/end-two-factor.ts';
import {
  beginTwoFactor,
  confirmTwoFactor,
  type RecoveryCodes,
  renewRecoveryCodes,
  secondFactorInput,
} from '../../domain/accounts/set-up-two-factor.ts';
import type { NewSecret } from '../../domain/accounts/two-factor.ts';
import { builder } from '../builder.ts';

const TwoFactorSecret = builder.objectRef<NewSecret>('TwoFactorSecret').implement({
  description: 'What the authenticator app needs. It is shown only now.',
  authScopes: { scope: 'account:write' },
  fields: (t) => ({
    secret: t.exposeString('secret', { description: 'Base32, for typing.' }),
    uri: t.exposeString('uri', { description: '`otpauth://…`, for a picture to scan.' }),
  }),
});

const RecoveryCodesType = builder.objectRef<RecoveryCodes>('RecoveryCodes').implement({
  description: 'Each works once, in place of a code of the app. They are shown only now.',
  authScopes: { scope: 'account:write' },
  fields: (t) => ({ recoveryCodes: t.exposeStringList('recoveryCodes') }),
});

const TwoFactorDisabled = builder.objectRef<{ readonly isOn: false }>('TwoFactorDisabled').implement({
  authScopes: { scope: 'account:write' },
  fields: (t) => ({ isOn: t.exposeBoolean('isOn') }),
});

builder.mutationField('beginTwoFactor', (t) =>
  t.fieldWithInput({
    type: TwoFactorSecret,
    description: 'The first step to two-factor login: a secret for the app. Until `confirmTwoFactor` nothing changes.',
    authScopes: { scope: 'account:write' },
    executionsMax: 1,
    typeOptions: { checks: secondFactorInput.shape },
    input: { password: t.input.string({ required: true }) },
    resolve: (_root, { input }, ctx) => beginTwoFactor(ctx, input),
  }),
);

builder.mutationField('confirmTwoFactor', (t) =>
  t.fieldWithInput({
    type: RecoveryCodesType,
    description: 'Switches two-factor login on with a code of the app. Every other login of the user ends.',
    authScopes: { scope: 'account:write' },
    executionsMax: 1,
    typeOptions: { checks: secondFactorInput.shape },
    input: { code: t.input.string({ required: true }) },
    resolve: (_root, { input }, ctx) => confirmTwoFactor(ctx, input),
  }),
);

builder.mutationField('renewRecoveryCodes', (t) =>
  t.fieldWithInput({
    type: RecoveryCodesType,
    description: 'Ten new recovery codes; the old ones stop working.',
    authScopes: { scope: 'account:write' },
    executionsMax: 1,
    typeOptions: { checks: secondFactorInput.shape },
    input: { password: t.input.string({ required: true }), code: t.input.string({ required: true }) },
    resolve: (_root, { input }, ctx) => renewRecoveryCodes(ctx, input),
  }),
);

builder.mutationField('disableTwoFactor', (t) =>
  t.fieldWithInput({
    type: TwoFactorDisabled,
    description: 'Switches two-factor login off. Every other login of the user ends.',
    authScopes: { scope: 'account:write' },
    executionsMax: 1,
    typeOptions: { checks: secondFactorInput.shape },
    input: {
      password: t.input.string({ required: true }),
      code: t.input.string({ required: true, description: 'A code of the authenticator app, or a recovery code.' }),
    },
    resolve: async (_root, { input }, ctx) => {
      await disableTwoFactor(ctx, input);
      return { isOn: false } as const;
    },
  }),
);

builder.mutationField('resetTwoFactor', (t) =>
  t.field({
    type: TwoFactorDisabled,
    description: 'For administrators: switches it off for a user who lost the app and the recovery codes.',
    authScopes: { admin: true },
    args: { userUid: t.arg.string({ required: true }) },
    resolve: async (_root, { userUid }, ctx) => {
      await resetTwoFactor(ctx, { userUid });
      return { isOn: false } as const;
    },
  }),
);
