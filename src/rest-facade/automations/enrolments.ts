/** Letting people in who match an automation already. */
import { z } from 'zod';
import type { RestEnrolmentFragment } from '../../generated/operations.ts';
import { created, done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody, answersCreated } from '../shapes.ts';
import { restTime } from '../timestamps.ts';
import { enrolmentActionShape, enrolmentShape, previewShape } from './enrolment-shapes.ts';

const WHOM =
  '`segment_uid`: only those of this segment. `without_triggers`: also who is not what the triggers and their filters ask for; without a segment everybody who gets mail of the list.';

export const enrolmentRows = [
  endpoint({
    method: 'GET',
    path: '/automations/:uid/enter_existing',
    access: 'token',
    summary: 'Counts who matches the triggers of an automation already, and who of them would enter. Changes nothing.',
    details: WHOM,
    answers: answersBody(previewShape),
    operation: 'AutomationEnrolmentPreview',
    variables: (input) => ({ uid: input.param('uid'), ...whom(input) }),
    present: ({
      automationEnrolmentPreview: { version, asOf, matching, mayEnter, refused, triggers, triggersLeftOut },
    }) =>
      ok({
        ...{ version, as_of: restTime(asOf), matching, may_enter: mayEnter, refused: refused.map(refusedOf) },
        ...{ triggers, triggers_left_out: triggersLeftOut },
      }),
  }),
  endpoint({
    method: 'POST',
    path: '/automations/:uid/enter_existing',
    access: 'token',
    summary: 'Lets in who matches an active automation already, so many people an hour.',
    details: `\`people\`: \`may_enter\` of the look before; when 5 % more or fewer may enter by now, and at least 10, it is a 422. \`per_hour\`: 1 to 1,000,000. ${WHOM} A job does it; \`/enrolments\` shows how far it is.`,
    answers: answersCreated(enrolmentActionShape),
    required: ['people', 'per_hour'],
    operation: 'EnrolInAutomation',
    variables: (input) => ({
      input: {
        ...{ uid: input.param('uid'), ...whom(input) },
        people: neededNumber(input, 'people'),
        perHour: neededNumber(input, 'per_hour'),
      },
    }),
    present: ({ enrolInAutomation }, _view, input) =>
      created('People are let in', {
        automation_uid: input.param('uid'),
        enrolment: presentEnrolment(enrolInAutomation),
      }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/automations/:uid/enter_existing',
    access: 'token',
    summary: 'Lets no further people in; who has entered stays.',
    answers: answersBody(enrolmentActionShape),
    operation: 'CancelAutomationEnrolment',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ cancelAutomationEnrolment }, _view, input) =>
      done('No further people are let in', {
        automation_uid: input.param('uid'),
        enrolment: presentEnrolment(cancelAutomationEnrolment),
      }),
  }),
  endpoint({
    method: 'GET',
    path: '/automations/:uid/enrolments',
    access: 'token',
    summary:
      'Shows the last 20 times that people were let in who matched already, the newest first, with their progress.',
    answers: answersBody(z.strictObject({ enrolments: z.array(enrolmentShape) })),
    operation: 'AutomationEnrolments',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ automationEnrolments: { nodes } }) => ok({ enrolments: nodes.map(presentEnrolment) }),
  }),
];

function whom(input: Input) {
  return { segmentUid: input.text('segment_uid'), withoutTriggers: input.flag('without_triggers') };
}

/** A number that is missing is reported, and sent as one that the schema takes. */
function neededNumber(input: Input, name: 'people' | 'per_hour'): number {
  const number = input.integer(name);
  if (number === undefined && !(name in input.faults()))
    input.refuse(name, `The ${name.replace('_', ' ')} field is required.`);
  return number ?? 1;
}

function refusedOf({ reason, people }: RestEnrolmentFragment['refused'][number]) {
  return { reason, people };
}

function presentEnrolment(enrolment: RestEnrolmentFragment) {
  const { status, reason, people, perHour, segmentUid, withoutTriggers, matching, entered, refused } = enrolment;
  return {
    ...{ status, reason, people, per_hour: perHour, segment_uid: segmentUid, without_triggers: withoutTriggers },
    ...{ matching, entered, refused: refused.map(refusedOf) },
    ...{ created_at: restTime(enrolment.createdAt), finished_at: restTime(enrolment.finishedAt) },
  };
}
