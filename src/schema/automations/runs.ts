/** The runs of an automation: where each person is, and every step with its reason. */
import { subscriberRefInput } from '../../domain/audience/subscriber.ts';
import { findOwnedAutomation } from '../../domain/automations/find-owned-automation.ts';
import {
  countRuns,
  findOwnedRun,
  runFilterOf,
  runsPage,
  shownPayload,
  stepsOfRun,
  type FoundRun,
} from '../../domain/automations/runs/read-runs.ts';
import { countSteps } from '../../domain/automations/runs/run-read-model.ts';
import {
  placeFilterInput,
  RUN_STATES,
  type RunPosition,
  type RunState,
  type SeenStep,
} from '../../domain/automations/runs/seen-run.ts';
import { messagesById, type LoggedMessage } from '../../domain/delivery/messages/message-log-read-model.ts';
import { deliveryReasonText } from '../../domain/sending/delivery-reason.ts';
import { viewerOf } from '../../domain/context.ts';
import { messageUid, runUid, subscriberUid, UID_LENGTH } from '../../lib/ids.ts';
import { singleLine } from '../../lib/text.ts';
import { takeContent } from '../answer-content.ts';
import { builder } from '../builder.ts';
import { DeliveryState } from '../campaigns/delivery.ts';
import type { GraphqlContext } from '../context.ts';
import { closedSet } from '../enums.ts';
import { forwardConnection, forwardKeyConnection } from '../key-connection.ts';
import { COUNTED_MAX } from '../limits.ts';
import { loadBy } from '../loaders/load-by.ts';

const reading = { scope: 'automations:read' } as const;

const AutomationRunState = closedSet<RunState>('AutomationRunState', 'Where a run is, or how it ended.', {
  waiting: 'It is at a node, and goes on by itself, by an event or by a call.',
  parked: 'The work of its node failed too often: `retryParkedRuns` or `skipParkedRuns`.',
  passed: 'It has come to an end of the flow. As a filter: it has passed the node, and may be in the flow still.',
  left: 'It left the flow before: by a goal, an exit, unsubscribing, or because somebody took the person out. As a filter also: it was moved from the node to a later version.',
});

const readMessages = async (ctx: GraphqlContext, ids: readonly bigint[]) =>
  (await messagesById(ctx.db, { customerId: viewerOf(ctx).customerId, ids })).map((one) => one ?? null);

const AutomationMail = builder.objectRef<LoggedMessage>('AutomationMail').implement({
  description: 'A mail that a step sent, and what became of it. `message` with the same uid has more.',
  authScopes: reading,
  fields: (t) => ({
    uid: t.string({ resolve: ({ id }) => messageUid(id) }),
    state: t.expose('state', { type: DeliveryState }),
    reason: t.string({
      nullable: true,
      description: 'Why it is in this state.',
      resolve: ({ reason }) => reason && deliveryReasonText(reason),
    }),
    attempts: t.exposeInt('attempts', { description: 'Tries that reached a server.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'Since when it is in this state.' }),
  }),
});

const AutomationStep = builder.objectRef<SeenStep>('AutomationStep').implement({
  description: 'A step of a run.',
  authScopes: reading,
  fields: (t) => ({
    no: t.exposeInt('no', { description: 'Its place in the run: 1, 2, 3.' }),
    at: t.expose('at', { type: 'DateTime' }),
    version: t.exposeInt('version'),
    node: t.exposeString('node', { description: 'The id of the node at which it happened.' }),
    nodeType: t.exposeString('nodeType', { nullable: true, description: 'Null: its version was deleted.' }),
    what: t.exposeString('what', {
      description:
        '`entered` the flow, `passed` the node, `left` the flow or, with the reason `new_version`, its version, `moved` to the node of another version, `parked`, or `stays` at the node for longer.',
    }),
    port: t.exposeString('port', { nullable: true, description: 'By which it went on, such as `yes`.' }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'A code, such as `unsubscribed` or `goal:bought`.',
    }),
    details: t.field({
      type: 'JsonObject',
      nullable: true,
      description: 'What was read, such as the answers of a condition. Values under names of secrets are `***`.',
      resolve: ({ details }) => details,
    }),
    mail: t.field({
      type: AutomationMail,
      nullable: true,
      description: 'The mail that the step sent, with the state of its delivery. Null: none, or it is too long ago.',
      resolve: ({ messageId }, _args, ctx) => (messageId === null ? null : loadBy(ctx, readMessages).load(messageId)),
    }),
  }),
});

const AutomationRun = builder.objectRef<FoundRun>('AutomationRun').implement({
  description: 'One person’s way through an automation, from the entry to the end.',
  authScopes: reading,
  fields: (t) => ({
    uid: t.string({ resolve: ({ id }) => runUid(id) }),
    automationUid: t.exposeString('uid'),
    subscriberUid: t.string({
      nullable: true,
      description: 'Null: the person was deleted. The run counts still.',
      resolve: ({ personId, email }) => (email === null ? null : subscriberUid(personId)),
    }),
    email: t.exposeString('email', { nullable: true }),
    version: t.exposeInt('version'),
    state: t.expose('state', { type: AutomationRunState }),
    node: t.exposeString('node', { description: 'Where it is, or was at its end.' }),
    enteredAt: t.expose('enteredAt', { type: 'DateTime' }),
    since: t.expose('since', { type: 'DateTime', description: 'When it came to the node; its end, if it has ended.' }),
    wakeAt: t.expose('wakeAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it goes on by itself; null: not by a time.',
    }),
    endedAt: t.expose('endedAt', { type: 'DateTime', nullable: true }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'Why it is parked or has ended: a code. Of one that waits for a plugin `condition_unavailable`.',
    }),
    failures: t.exposeInt('failures', { description: 'Tries of the node that failed.' }),
    payload: t.field({
      type: 'JsonObject',
      nullable: true,
      description:
        'What conditions and mails read as `payload.*`, until the run ends. Values under names of secrets are `***`.',
      resolve: async (run, _args, ctx) => {
        const payload = await shownPayload(ctx, run);
        await takeContent(ctx, payload ? JSON.stringify(payload).length : 0);
        return payload;
      },
    }),
    steps: t.connection(
      {
        type: AutomationStep,
        description: 'Its steps, the first one first. Forward only. They are kept as long as other events.',
        resolve: (run, args, ctx) =>
          forwardConnection(args, {
            find: ({ after = 0n, limit }) => stepsOfRun(ctx, run, { after: stepNo(after), limit }),
            count: () => countSteps(ctx.db, run),
            idOf: ({ no }) => BigInt(no),
          }),
      },
      { name: 'AutomationStepConnection' },
      { name: 'AutomationStepEdge' },
    ),
  }),
});

const INT_MAX = 2_147_483_647;

function stepNo(cursor: bigint): number {
  return cursor > BigInt(INT_MAX) ? INT_MAX : Number(cursor);
}

builder.queryField('automationRuns', (t) =>
  t.connection(
    {
      type: AutomationRun,
      description: `The runs of an automation, the newest first; with \`state: waiting\` who goes on next comes first. With \`node\` they are the people behind a count of \`automationCounts\`. \`totalCount\` is of passages, and without a state it counts up to ${COUNTED_MAX}. Forward only.`,
      authScopes: reading,
      args: {
        uid: t.arg.string({ required: true, description: 'The uid of the automation.' }),
        state: t.arg({ type: AutomationRunState, description: '`passed` needs `node`.' }),
        node: t.arg.string({ description: 'Needs `state`.', check: placeFilterInput.shape.node }),
        version: t.arg.int({ description: 'Only those of this version.', check: placeFilterInput.shape.version }),
        subscriber: t.arg.string({
          description: 'Only those of this person: uid, id or address.',
          check: subscriberRefInput,
        }),
      },
      resolve: async (_root, { uid, state, node, version, subscriber, ...args }, ctx) => {
        const automation = await findOwnedAutomation(ctx, uid);
        const asked = RUN_STATES.find((one) => one === state);
        const filter = await runFilterOf(ctx, automation, { state: asked, node, version, subscriber });
        return forwardKeyConnection(args, {
          find: (window) => runsPage(ctx, automation, { ...window, filter }),
          count: () => countRuns(ctx, automation, { filter, max: COUNTED_MAX }),
          cursorOf: ({ id, wakeMicros }: FoundRun) => (wakeMicros === null ? String(id) : `${id}.${wakeMicros}`),
          keyOf: positionOf,
        });
      },
    },
    { name: 'AutomationRunConnection' },
    { name: 'AutomationRunEdge' },
  ),
);

function positionOf(cursor: string): RunPosition | undefined {
  const [, id, micros] = /^(\d{1,18})(?:\.(\d{1,17}))?$/.exec(cursor) ?? [];
  if (id === undefined) return undefined;
  return { id: BigInt(id), wakeMicros: micros === undefined ? null : BigInt(micros) };
}

builder.queryField('automationRun', (t) =>
  t.field({
    type: AutomationRun,
    description: 'One run, with its steps.',
    authScopes: reading,
    args: {
      uid: t.arg.string({ required: true, description: 'The uid of the automation.' }),
      run: t.arg.string({ required: true, check: singleLine(UID_LENGTH) }),
    },
    resolve: (_root, { uid, run }, ctx) => findOwnedRun(ctx, uid, run),
  }),
);
