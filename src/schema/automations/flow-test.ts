/** A live test of an automation. */
import type { FlowTestFault, FlowTestStatus as Status } from '../../domain/automations/live-test/flow-test.ts';
import type { FlowTest } from '../../domain/automations/live-test/flow-test-read-model.ts';
import { flowTestUid, subscriberUid } from '../../lib/ids.ts';
import { builder } from '../builder.ts';
import { closedSet } from '../enums.ts';
import { FlowTestStep } from './flow-test-step.ts';

const reading = { scope: 'automations:read' } as const;

const FlowTestStatus = closedSet<Status>('FlowTestStatus', 'How far a test of an automation is.', {
  running: 'It goes on by itself.',
  done: 'It has come to an end of the flow, or to a node that waits without end.',
  cancelled: 'Somebody ended it.',
  failed: 'It ended by itself, with the reason.',
});

const FlowTestReason = closedSet<FlowTestFault>('FlowTestReason', 'Why a test of an automation has failed.', {
  too_many_tests: 'Too many mails were sent as tests within the hour.',
  too_many_steps: 'It took more steps than a test may.',
  suppressed: 'The address was suppressed meanwhile.',
  condition_unavailable: 'A plugin did not answer for a condition, again and again.',
  failed: 'It failed again and again; the log of the program says why.',
});

export const AutomationTest = builder.objectRef<FlowTest>('AutomationTest').implement({
  description: 'One way through a flow, with its mails sent to one address. It is no run, and counts nowhere.',
  authScopes: reading,
  fields: (t) => ({
    uid: t.string({ resolve: ({ id }) => flowTestUid(id) }),
    status: t.expose('status', { type: FlowTestStatus }),
    reason: t.expose('reason', { type: FlowTestReason, nullable: true }),
    version: t.exposeInt('version', { nullable: true, description: 'The published version; null: the draft.' }),
    draftVersion: t.exposeInt('draftVersion', { nullable: true, description: 'Of a draft.' }),
    email: t.exposeString('email', { description: 'To whom all mails go.' }),
    subscriberUid: t.string({
      nullable: true,
      description: 'Whose values are used; null: sample values.',
      resolve: ({ subscriberId }) => (subscriberId === null ? null : subscriberUid(subscriberId)),
    }),
    waitSeconds: t.exposeInt('waitSeconds'),
    node: t.exposeString('node', { nullable: true, description: 'Where it is; null: it has ended.' }),
    nextAt: t.expose('nextAt', { type: 'DateTime', nullable: true, description: 'When it goes on.' }),
    steps: t.field({ type: [FlowTestStep], resolve: ({ steps }) => [...steps] }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true }),
  }),
});
