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
    from: timeShape.meta({ description: 'Where the virtual clock began.' }),
    people: countShape.meta({ description: 'How many were looked at; who never came in has no path.' }),
    triggers_left_out: z
      .array(z.string())
      .meta({ description: 'Types of triggers of the draft of which the past is not kept: nobody came in by them.' }),
    cut_off: z.boolean().meta({ description: 'There was more than is shown, or it took too long.' }),
    paths: z.array(
      z.strictObject({
        ...{ subscriber_uid: uidShape, entered_at: timeShape, trigger: z.string() },
        refused: z.string().nullable().meta({ description: 'Why they did not enter; null: they did.' }),
        steps: z.array(stepShape),
      }),
    ),
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
      'People come in where a trigger of the draft would have fired since `from`, within the last 366 days; by default 30 days ago. With `without_triggers` all are let in at `from`. ' +
      'Either `subscriber` (also `subscriber_uid`, `subscriber_id`, `email`, `EMAIL`) or `segment_uid`: its first 100 people. A draft with faults is a 422 with all of them in `faults`.',
    answers: answersBody(dryRunShape),
    refusesWith: { faults: faultsShape.optional() },
    refuse: refusedFlow,
    operation: 'AutomationDryRun',
    variables: (input) => ({
      uid: input.param('uid'),
      subscriber: input.text('subscriber', 'subscriber_uid', 'subscriber_id', 'email', 'EMAIL'),
      segmentUid: input.text('segment_uid'),
      from: input.time('from'),
      withoutTriggers: input.flag('without_triggers'),
    }),
    present: ({ automationDryRun: { draftVersion, from, people, triggersLeftOut, isCutOff, paths, counts } }) =>
      ok({
        ...{ draft_version: draftVersion, from: restTime(from), people },
        ...{ triggers_left_out: triggersLeftOut, cut_off: isCutOff },
        paths: paths.map(({ subscriberUid, enteredAt, trigger, refused, steps }) => ({
          ...{ subscriber_uid: subscriberUid, entered_at: restTime(enteredAt), trigger, refused },
          steps: steps.map(({ node, at, what, port, reason }) => ({ node, at: restTime(at), what, port, reason })),
        })),
        counts: counts.map(({ node, entered, passed, left, parked, waits, stopped }) => {
          return { node, entered, passed, left, parked, waits, stopped };
        }),
      }),
  }),
];
