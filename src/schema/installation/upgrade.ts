/** Upgrading the program from within. */
import { RECENT_LOGIN } from '../../domain/accounts/require-recent-login.ts';
import type { UpgradeState as State } from '../../domain/release-host.ts';
import {
  cancelUpgrade,
  finalizeUpgrade,
  readUpgrade,
  runUpgrade,
  runUpgradeStep,
  upgradeInput,
  upgradeStepInput,
  type Upgrade as UpgradeFacts,
} from '../../domain/installation/upgrade.ts';
import { builder } from '../builder.ts';

const forAdministrators = { admin: true } as const;
/** Each changes the whole installation. */
const ONCE = { executionsMax: 1 } as const;

const UpgradeState = builder.enumType('UpgradeState', {
  description: 'How far an upgrade of the program is.',
  values: {
    NONE: { value: 'none', description: 'There is none.' },
    DOWNLOADING: { value: 'downloading', description: 'The new version is being downloaded.' },
    CHECKING: { value: 'checking', description: 'Its checksum, signature and files are being checked.' },
    PREPARING: { value: 'preparing', description: 'It is being unpacked, and its packages are being installed.' },
    STAGED: { value: 'staged', description: 'It is ready to be used.' },
    FAILED: { value: 'failed', description: '`reason` says why. The running version is as it was.' },
    CANCELLED: { value: 'cancelled', description: 'Nothing of it is left.' },
    DONE: { value: 'done', description: 'The new version is in use.' },
  } satisfies Record<string, { value: State; description: string }>,
});

const Upgrade = builder.objectRef<UpgradeFacts>('Upgrade').implement({
  description: 'An upgrade of the program, on the machine that answers.',
  authScopes: forAdministrators,
  fields: (t) => ({
    state: t.field({ type: UpgradeState, resolve: ({ state }) => state }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why it failed.' }),
    runningVersion: t.exposeString('runningVersion'),
    version: t.exposeString('version', { nullable: true, description: 'The new version; null: it is not read yet.' }),
    sizeBytes: t.exposeInt('sizeBytes', { description: 'Bytes that have come so far.' }),
    pendingMigrations: t.stringList({
      description: 'Migrations of the staged version that are not applied yet, in order.',
      resolve: ({ pendingMigrations }) => [...pendingMigrations],
    }),
    changedAt: t.expose('changedAt', { type: 'DateTime', nullable: true }),
  }),
});

builder.queryField('upgrade', (t) =>
  t.field({
    type: Upgrade,
    description: 'How far an upgrade is.',
    authScopes: forAdministrators,
    resolve: (_root, _args, ctx) => readUpgrade(ctx),
  }),
);

builder.mutationField('runUpgrade', (t) =>
  t.fieldWithInput({
    type: Upgrade,
    description: `Begins to download, check and prepare a newer version of the program beside the running one, and answers at once. \`upgrade\` shows how far it is. ${RECENT_LOGIN}`,
    authScopes: forAdministrators,
    typeOptions: { checks: upgradeInput.shape },
    ...ONCE,
    input: {
      url: t.input.string({ required: true }),
      sha256: t.input.string({
        required: true,
        description: 'The SHA-256 checksum of the file.',
      }),
      signature: t.input.string({
        required: true,
        description: 'Its Ed25519 signature by a key of the setting RELEASE_KEYS.',
      }),
    },
    resolve: (_root, { input }, ctx) => runUpgrade(ctx, input),
  }),
);

builder.mutationField('runUpgradeStep', (t) =>
  t.field({
    type: Upgrade,
    description: `Applies one migration of the staged version, which must be the next one. ${RECENT_LOGIN}`,
    authScopes: forAdministrators,
    ...ONCE,
    args: { migration: t.arg.string({ required: true, check: upgradeStepInput.shape.migration }) },
    resolve: (_root, args, ctx) => runUpgradeStep(ctx, args),
  }),
);

builder.mutationField('finalizeUpgrade', (t) =>
  t.field({
    type: Upgrade,
    description: `Applies the migrations that are left, in one transaction, and has the processes of this machine start the staged version. ${RECENT_LOGIN}`,
    authScopes: forAdministrators,
    ...ONCE,
    resolve: (_root, _args, ctx) => finalizeUpgrade(ctx),
  }),
);

builder.mutationField('cancelUpgrade', (t) =>
  t.field({
    type: Upgrade,
    description: 'Ends an upgrade that is being prepared, or removes the version that is staged.',
    authScopes: forAdministrators,
    resolve: (_root, _args, ctx) => cancelUpgrade(ctx),
  }),
);
