/** A step of a live test of an automation. */
import type { FlowTestStep as Step } from '../../domain/automations/live-test/flow-test.ts';
import { messageUid } from '../../lib/ids.ts';
import { builder } from '../builder.ts';
import { closedSet } from '../enums.ts';

const reading = { scope: 'automations:read' } as const;

const StepEnd = closedSet<Step['what']>('FlowTestStepEnd', 'How a stay at a node ends in a test.', {
  passed: 'It goes on, or has come to the end.',
  left: 'It leaves the flow, by a goal or an exit.',
  parked: 'Its work cannot be done, so a run would stay there.',
  waits: 'The node waits without end, and no port was chosen.',
});

export const FlowTestStep = builder.objectRef<Step>('FlowTestStep').implement({
  description: 'A stay at a node, when it ends.',
  authScopes: reading,
  fields: (t) => ({
    node: t.exposeString('node', { description: 'The id of the node.' }),
    at: t.field({
      type: 'DateTime',
      description: 'When it would be: the clock of a test jumps over waits.',
      resolve: ({ at }) => new Date(at),
    }),
    happenedAt: t.field({ type: 'DateTime', resolve: ({ happenedAt }) => new Date(happenedAt) }),
    what: t.field({ type: StepEnd, resolve: ({ what }) => what }),
    port: t.exposeString('port', { nullable: true, description: 'By which it goes on.' }),
    reason: t.exposeString('reason', {
      nullable: true,
      description:
        'A code, as in the history of runs; also `chosen` (the port was) and `not_done` (a test changes nobody).',
    }),
    messageUid: t.string({
      nullable: true,
      description: 'The mail that was sent: `message` shows what became of it.',
      resolve: ({ messageId }) => (messageId === null ? null : messageUid(BigInt(messageId))),
    }),
  }),
});
