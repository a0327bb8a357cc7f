/** The counts of an automation's nodes (decision D90): read, or watched. */
import { unavailableText } from '../../domain/audience/segments/segment-errors.ts';
import type { NodeCount } from '../../domain/automations/runs/count-read-model.ts';
import { automationNotFound } from '../../domain/automations/automation-errors.ts';
import { findOwnedAutomation } from '../../domain/automations/find-owned-automation.ts';
import {
  countsFeedOf,
  readCounts,
  type AutomationCounts as Counts,
  type VersionCounts,
} from '../../domain/automations/runs/read-counts.ts';
import { placeFilterInput } from '../../domain/automations/runs/seen-run.ts';
import { parseInput } from '../../lib/text.ts';
import { builder } from '../builder.ts';
import '../subscription-type.ts';
import type { GraphqlContext } from '../context.ts';

const reading = { scope: 'automations:read' } as const;

const AutomationNodeCount = builder.objectRef<NodeCount>('AutomationNodeCount').implement({
  description:
    'How many people came to a node of a version, and what became of them: entered = waiting + passed + left + parked. Who comes twice counts twice.',
  authScopes: reading,
  fields: (t) => ({
    node: t.exposeString('node'),
    entered: t.expose('entered', { type: 'BigInt' }),
    waiting: t.expose('waiting', { type: 'BigInt', description: 'Are there, also for a moment only.' }),
    passed: t.expose('passed', { type: 'BigInt', description: 'Went on, or came to an end of the flow.' }),
    left: t.expose('left', { type: 'BigInt', description: 'Left the flow there, or were moved to a later version.' }),
    parked: t.expose('parked', { type: 'BigInt', description: 'Are there, because its work failed too often.' }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when nobody is moved at it, because too many were parked. Try these again, or let them pass.',
    }),
    lateTotal: t.expose('lateTotal', {
      type: 'BigInt',
      nullable: true,
      description:
        'Who was late here when the automation went on; null: nobody of them is left, or nothing was chosen.',
    }),
    lateDone: t.expose('lateDone', { type: 'BigInt', nullable: true, description: 'How many of them have gone on.' }),
    postponedAt: t.expose('postponedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Since when people wait here for a plugin that does not answer; null: nobody does. They go on within a minute after it has answered.',
    }),
    postponedReason: t.string({
      nullable: true,
      description: 'Which plugin has not answered, why, and what to do.',
      resolve: ({ postponedFor }) => postponedFor && unavailableText(postponedFor),
    }),
  }),
});

const AutomationVersionCounts = builder.objectRef<VersionCounts>('AutomationVersionCounts').implement({
  description: 'The counts of a published version.',
  authScopes: reading,
  fields: (t) => ({
    version: t.exposeInt('version'),
    isLive: t.exposeBoolean('isLive', { description: 'People enter it.' }),
    waiting: t.expose('waiting', { type: 'BigInt', description: 'Of all nodes together.' }),
    parked: t.expose('parked', { type: 'BigInt' }),
    left: t.expose('left', { type: 'BigInt' }),
    nodes: t.field({
      type: [AutomationNodeCount],
      extensions: { listLength: 50 },
      resolve: ({ nodes }) => [...nodes],
    }),
  }),
});

const AutomationCounts = builder.objectRef<Counts>('AutomationCounts').implement({
  description:
    'The counts of an automation’s nodes. `automationRuns` with the same version, node and state gives the people behind each of them.',
  authScopes: reading,
  fields: (t) => ({
    versions: t.field({
      type: [AutomationVersionCounts],
      extensions: { listLength: 5 },
      resolve: ({ versions }) => [...versions],
    }),
    postponedAt: t.expose('postponedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Since when the automation does not read what happens to people, because a plugin that its triggers, goals or exits ask does not answer; null: it reads it. Nothing is missed.',
    }),
    postponedReason: t.string({
      nullable: true,
      description: 'Which plugin has not answered, why, and what to do.',
      resolve: ({ postponedFor }) => postponedFor && unavailableText(postponedFor),
    }),
  }),
});

function countsArgs() {
  return builder.args((t) => ({
    uid: t.string({ required: true, description: 'The uid of the automation.' }),
    version: t.int({
      description: 'Only this version; absent: the live one, and the newest that anybody came to.',
      check: placeFilterInput.shape.version,
    }),
  }));
}

/** Throws ValidationError on `version`, `AUTOMATION_NOT_FOUND`. */
async function questionOf(
  ctx: GraphqlContext,
  { uid, ...asked }: { readonly uid: string; readonly version?: number | null | undefined },
) {
  const { version = null } = parseInput(placeFilterInput.pick({ version: true }), { version: asked.version });
  const { customerId, id: automationId } = await findOwnedAutomation(ctx, uid);
  return { customerId, automationId, version };
}

builder.queryField('automationCounts', (t) =>
  t.field({
    type: AutomationCounts,
    description: 'How many people are at each node, went on, left or are parked.',
    authScopes: reading,
    args: countsArgs(),
    resolve: async (_root, args, ctx) => {
      const counts = await readCounts(ctx, await questionOf(ctx, args));
      if (!counts) throw automationNotFound();
      return counts;
    },
  }),
);

builder.subscriptionField('automationCounts', (t) =>
  t.field({
    type: AutomationCounts,
    description:
      'The counts now, then the newest whenever they changed: at most once a second, never without the last.',
    authScopes: reading,
    args: countsArgs(),
    subscribe: async (_root, args, ctx) => countsFeedOf(ctx, ctx.notifications).watch(await questionOf(ctx, args)),
    resolve: (counts) => counts,
  }),
);
