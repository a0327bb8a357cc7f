/** Dry runs: composing every message of a campaign and sending none. */
import { cancelDryRun, startDryRun } from '../../domain/campaigns/dry-run.ts';
import { faultsOfEach, type FaultyPerson } from '../../domain/campaigns/dry-run-people-read-model.ts';
import {
  type dryRunStatuses,
  FAULTS_KEPT_MAX,
  latestDryRunOfEach,
  type DryRun,
} from '../../domain/campaigns/dry-run-store.ts';
import { watchDryRun } from '../../domain/campaigns/watch-dry-run.ts';
import { viewerOf } from '../../domain/context.ts';
import { reasonText } from '../../domain/campaigns/status-reason.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { loadBy } from '../loaders/load-by.ts';
import '../subscription-type.ts';
import { Campaign } from './campaign.ts';

const reading = { scope: 'campaigns:read' } as const;
const writing = { scope: 'campaigns:write' } as const;

const DryRunStatusType = builder.enumType('DryRunStatus', {
  description: 'The state of a dry run.',
  values: {
    queued: { description: 'Has not begun.' },
    running: { description: 'Messages are being composed.' },
    done: { description: 'Everybody was looked at.' },
    cancelled: { description: 'Somebody stopped it.' },
    failed: { description: 'It could not go on; `statusReason` says why.' },
  } satisfies Record<(typeof dryRunStatuses)[number], object>,
});

const DryRunFaultType = builder.objectRef<FaultyPerson>('DryRunFault').implement({
  description: 'Somebody for whom no message can be composed.',
  authScopes: reading,
  fields: (t) => ({
    subscriberUid: t.exposeString('subscriberUid'),
    email: t.exposeString('email', { nullable: true, description: 'Null: no longer on the list.' }),
    message: t.exposeString('message', { description: 'What is wrong, with its line where it is in a template.' }),
  }),
});

const SkippedPeople = builder.objectRef<{ reason: string; count: number }>('SkippedPeople').implement({
  authScopes: reading,
  fields: (t) => ({ reason: t.exposeString('reason'), count: t.exposeInt('count') }),
});

const DryRunType = builder.objectRef<DryRun>('DryRun').implement({
  description:
    'What sending a campaign now would do: every message is composed. Nothing is sent or written to the ledger.',
  authScopes: reading,
  fields: (t) => ({
    status: t.expose('status', { type: DryRunStatusType }),
    statusReason: t.string({ nullable: true, resolve: ({ reason }) => reason && reasonText(reason) }),
    total: t.exposeInt('total', { description: 'People on the list when it began.' }),
    checked: t.exposeInt('checked'),
    composed: t.exposeInt('composed', { description: 'Messages.' }),
    skipped: t.field({
      type: [SkippedPeople],
      description: 'Who gets none: by their status, suppressed, or not in the segment.',
      resolve: ({ skipped }) => Object.entries(skipped).map(([reason, count]) => ({ reason, count })),
    }),
    faulty: t.exposeInt('faulty', { description: 'For whom none can be composed.' }),
    faults: t.field({
      type: [DryRunFaultType],
      description: `The first ${FAULTS_KEPT_MAX} of them.`,
      extensions: { listLength: FAULTS_KEPT_MAX },
      resolve: (run, _args, ctx) => loadBy(ctx, faultsOfEach).load(run),
    }),
    totalBytes: t.expose('totalBytes', { type: 'BigInt', description: 'Of all messages, before signing.' }),
    largestBytes: t.exposeInt('largestBytes'),
    workSeconds: t.float({
      description: 'Time that composing took on this machine, in one process.',
      resolve: ({ workMs }) => Math.round(workMs) / 1_000,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true }),
  }),
});

const readDryRuns = (ctx: GraphqlContext, campaignIds: readonly bigint[]) =>
  latestDryRunOfEach(ctx.db, viewerOf(ctx).customerId, campaignIds);

builder.prismaObjectField(Campaign, 'dryRun', (t) =>
  t.field({
    type: DryRunType,
    nullable: true,
    description: 'The latest one.',
    select: { id: true },
    resolve: ({ id }, _args, ctx) => loadBy(ctx, readDryRuns).load(id),
  }),
);

builder.subscriptionField('campaignDryRun', (t) =>
  t.field({
    type: DryRunType,
    nullable: true,
    description:
      'The latest dry run of a campaign, null before the first; then each change of it and of later ones, at most four times a second. Ends when the campaign is deleted.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true, description: 'The uid of the campaign.' }) },
    subscribe: (_root, { uid }, ctx) => watchDryRun(ctx, ctx.notifications, uid),
    resolve: ({ run }) => run,
  }),
);

builder.mutationField('startCampaignDryRun', (t) =>
  t.field({
    type: DryRunType,
    description: 'Composes the message of everybody the campaign would be sent to now. One at a time per campaign.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true, description: 'The uid of the campaign.' }) },
    resolve: (_root, { uid }, ctx) => startDryRun(ctx, uid),
  }),
);

builder.mutationField('cancelCampaignDryRun', (t) =>
  t.field({
    type: DryRunType,
    description: 'Cancels the dry run that is under way.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true, description: 'The uid of the campaign.' }) },
    resolve: (_root, { uid }, ctx) => cancelDryRun(ctx, uid),
  }),
);
