/** What to do with runs that failed (decision D87), and taking a person out. */
import { subscriberRefInput } from '../../domain/audience/subscriber.ts';
import { retryParked, skipParked, takeOut } from '../../domain/automations/runs/parked-runs.ts';
import { placeInput } from '../../domain/automations/runs/seen-run.ts';
import { builder } from '../builder.ts';

const writing = { scope: 'automations:write' } as const;

interface Changed {
  readonly uid: string;
  readonly runs: number;
}

const AutomationRunsChanged = builder.objectRef<Changed>('AutomationRunsChanged').implement({
  description: 'Runs to which something was done.',
  authScopes: writing,
  fields: (t) => ({
    uid: t.exposeString('uid', { description: 'The uid of the automation.' }),
    runs: t.exposeInt('runs', { description: 'How many; 0: there were none.' }),
  }),
});

function placeArgs() {
  return builder.args((t) => ({
    uid: t.string({ required: true, description: 'The uid of the automation.' }),
    version: t.int({ required: true, check: placeInput.shape.version }),
    node: t.string({ required: true, check: placeInput.shape.node }),
  }));
}

builder.mutationField('retryParkedRuns', (t) =>
  t.field({
    type: AutomationRunsChanged,
    description: 'All runs that are parked at a node of a version do its work once more, with all tries.',
    authScopes: writing,
    args: placeArgs(),
    resolve: async (_root, { uid, version, node }, ctx) => ({
      uid,
      runs: await retryParked(ctx, uid, { version, node }),
    }),
  }),
);

builder.mutationField('skipParkedRuns', (t) =>
  t.field({
    type: AutomationRunsChanged,
    description: 'All runs that are parked at a node of a version go on as if it had done its work.',
    authScopes: writing,
    args: placeArgs(),
    resolve: async (_root, { uid, version, node }, ctx) => ({
      uid,
      runs: await skipParked(ctx, uid, { version, node }),
    }),
  }),
);

builder.mutationField('takeOutOfAutomation', (t) =>
  t.field({
    type: AutomationRunsChanged,
    description:
      'Takes a person out of the automation, wherever it is, with the reason `taken_out`. Several runs end in a flow that people enter by a key.',
    authScopes: writing,
    args: {
      uid: t.arg.string({ required: true, description: 'The uid of the automation.' }),
      subscriber: t.arg.string({
        required: true,
        description: 'The uid, id or address of a person on the list.',
        check: subscriberRefInput,
      }),
    },
    resolve: async (_root, { uid, subscriber }, ctx) => ({ uid, runs: await takeOut(ctx, uid, { subscriber }) }),
  }),
);
