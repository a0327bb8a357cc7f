/** Upgrading the program from within (specification 4.11, decision D40). */
import { z } from 'zod';
import type { RestUpgradeFragment } from '../../generated/operations.ts';
import { done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import { actionShape, answersBody, timeShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

const upgradeShape = z
  .strictObject({
    state: z.enum(['none', 'downloading', 'checking', 'preparing', 'staged', 'failed', 'cancelled', 'done']),
    reason: z.string().nullable().meta({ description: 'Why it failed.' }),
    running_version: z.string(),
    version: z.string().nullable().meta({ description: 'The new version; null: it is not read yet.' }),
    size_bytes: z.number().meta({ description: 'Bytes that have come so far.' }),
    pending_migrations: z
      .array(z.string())
      .meta({ description: 'Migrations of the staged version that are not applied yet, in order.' }),
    changed_at: timeShape.nullable(),
  })
  .meta({ id: 'Upgrade' });
const answers = answersBody(actionShape({ upgrade: upgradeShape }));
const head = { method: 'POST', access: 'admin', answers, actsOutside: true } as const;

export const upgradeRows = [
  endpoint({
    method: 'GET',
    path: '/upgrade',
    access: 'admin',
    summary: 'Shows how far an upgrade of the program is, on the machine that answers.',
    answers: answersBody(z.strictObject({ upgrade: upgradeShape })),
    operation: 'Upgrade',
    variables: () => ({}),
    present: ({ upgrade }) => ok({ upgrade: presentUpgrade(upgrade) }),
  }),
  endpoint({
    ...head,
    path: '/upgrade/run',
    summary: 'Begins to download, check and prepare a newer version of the program, and answers at once.',
    details:
      '`signature` (Ed25519, in base64) must be by a key of the setting RELEASE_KEYS. The running version is not touched. GET /upgrade shows how far it is.',
    required: ['url', 'sha256', 'signature'],
    fieldName: (path) => (path === 'sha256' ? path : undefined),
    operation: 'RunUpgrade',
    variables: (input) => ({
      input: {
        url: input.text('url') ?? '',
        sha256: input.text('sha256') ?? '',
        signature: input.text('signature') ?? '',
      },
    }),
    present: ({ runUpgrade }) => done('The upgrade has begun', { upgrade: presentUpgrade(runUpgrade) }),
  }),
  endpoint({
    ...head,
    path: '/upgrade/run-file',
    summary: 'Applies one migration of the staged version, which must be the next one.',
    required: ['migration'],
    operation: 'RunUpgradeStep',
    variables: (input) => ({ migration: input.text('migration') ?? '' }),
    present: ({ runUpgradeStep }) => done('The migration was applied', { upgrade: presentUpgrade(runUpgradeStep) }),
  }),
  endpoint({
    ...head,
    path: '/upgrade/finalize',
    summary: 'Applies the migrations that are left, and starts the staged version.',
    details:
      'The migrations are one transaction. The processes of this machine end gracefully, and the new version starts.',
    operation: 'FinalizeUpgrade',
    variables: () => ({}),
    present: ({ finalizeUpgrade }) => done('The new version starts', { upgrade: presentUpgrade(finalizeUpgrade) }),
  }),
  endpoint({
    ...head,
    path: '/upgrade/cancel',
    summary: 'Ends an upgrade that is being prepared, or removes the version that is staged.',
    operation: 'CancelUpgrade',
    variables: () => ({}),
    present: ({ cancelUpgrade }) => done('The upgrade was cancelled', { upgrade: presentUpgrade(cancelUpgrade) }),
  }),
];

function presentUpgrade(upgrade: RestUpgradeFragment) {
  return {
    state: upgrade.state.toLowerCase(),
    reason: upgrade.reason ?? null,
    running_version: upgrade.runningVersion,
    version: upgrade.version ?? null,
    size_bytes: upgrade.sizeBytes,
    pending_migrations: upgrade.pendingMigrations,
    changed_at: upgrade.changedAt ? restTime(upgrade.changedAt) : null,
  };
}
