/** The dry run of a draft. */
import { z } from 'zod';
import { ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import { answersBody, countShape, timeShape, uidShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';
import { refusedFlow } from './flow-faults.ts';
import { faultsShape } from './present.ts';

const ENDS = ['passed', 'left', 'parked', 'waits', 'stopped'] as const;

const stepShape = z.strictObject({
  ...{ node: z.string(), at: timeShape, what: z.enum(ENDS) },
  ...{ port: z.string().nullable(), reason: z.string().nullable() },
});

const ofNode = { entered: countShape, passed: countShape, left: countShape, parked: countShape };
const countsShape = z.strictObject({ node: z.string(), ...ofNode, waits: countShape, stopped: countShape });

const dryRunShape = z
  .strictObject({
    draft_version: z.int(),
    from: timeShape.meta({ description: 'When the people were let in.' }),
    paths: z.array(z.strictObject({ subscriber_uid: uidShape, steps: z.array(stepShape) })),
    counts: z.array(countsShape),
  })
  .meta({ id: 'AutomationDryRun' });

export const dryRunRows = [
  endpoint({
    method: 'GET',
    path: '/automations/:uid/dry_run',
    access: 'token',
    summary:
      'Shows what the draft would have done with people since a time in the past. Sends nothing and changes nothing.',
    details:
      'Either `subscriber` (also `subscriber_uid`, `subscriber_id`, `email`, `EMAIL`) or `segment_uid`: its first 100 people. `from`: when they are let in, within the last 366 days; by default 30 days ago. A draft with faults is a 422 with all of them in `faults`.',
    answers: answersBody(dryRunShape),
    refusesWith: { faults: faultsShape.optional() },
    refuse: refusedFlow,
    operation: 'AutomationDryRun',
    variables: (input) => ({
      uid: input.param('uid'),
      subscriber: input.text('subscriber', 'subscriber_uid', 'subscriber_id', 'email', 'EMAIL'),
      segmentUid: input.text('segment_uid'),
      from: input.time('from'),
    }),
    present: ({ automationDryRun: { draftVersion, from, paths, counts } }) =>
      ok({
        ...{ draft_version: draftVersion, from: restTime(from) },
        paths: paths.map(({ subscriberUid, steps }) => ({
          subscriber_uid: subscriberUid,
          steps: steps.map(({ node, at, what, port, reason }) => ({ node, at: restTime(at), what, port, reason })),
        })),
        counts: counts.map(({ node, entered, passed, left, parked, waits, stopped }) => {
          return { node, entered, passed, left, parked, waits, stopped };
        }),
      }),
  }),
];
