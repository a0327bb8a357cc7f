/** The license of the installation, which limits nothing. */
import { readLicense, type License as LicenseFacts } from '../../domain/installation/license.ts';
import { refreshLicense } from '../../domain/installation/refresh-license.ts';
import { builder } from '../builder.ts';

const forAdministrators = { admin: true } as const;

const License = builder.objectRef<LicenseFacts>('License').implement({
  description: 'The license that was read last. It limits nothing. Without one this is the community edition.',
  authScopes: forAdministrators,
  fields: (t) => ({
    isCommunity: t.boolean({
      description: 'There is no license: this is the community edition.',
      resolve: ({ holder }) => holder === null,
    }),
    holder: t.exposeString('holder', { nullable: true }),
    plan: t.exposeString('plan', { nullable: true }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', nullable: true, description: 'null: it does not expire.' }),
    isExpired: t.exposeBoolean('isExpired'),
    refreshedAt: t.expose('refreshedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the document was read last.',
    }),
  }),
});

builder.queryField('license', (t) =>
  t.field({
    type: License,
    description: 'The license that was read last.',
    authScopes: forAdministrators,
    resolve: (_root, _args, ctx) => readLicense(ctx),
  }),
);

builder.mutationField('refreshLicense', (t) =>
  t.field({
    type: License,
    description: 'Reads the license document of the setting LICENSE, and checks its signature.',
    authScopes: forAdministrators,
    executionsMax: 1,
    resolve: (_root, _args, ctx) => refreshLicense(ctx),
  }),
);
