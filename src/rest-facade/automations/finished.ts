/** Sending people who have finished an earlier version of an automation to a node of the live one (decision D84). */
import { z } from 'zod';
import { done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { actionShape, answersBody, countShape, uidShape } from '../shapes.ts';

const peopleShape = z.strictObject({
  automation_uid: uidShape,
  people: countShape.meta({ description: 'Who is inside again, or gets no mail of the list, is none of them.' }),
});

export const finishedRows = [
  endpoint({
    method: 'GET',
    path: '/automations/:uid/finished',
    access: 'token',
    summary: 'Counts the people who have gone through an earlier version of an automation to its end.',
    details: 'Publishing lets none of them in.',
    answers: answersBody(peopleShape),
    operation: 'AutomationFinished',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ automationFinished: { uid, people } }) => ok({ automation_uid: uid, people }),
  }),
  endpoint({
    method: 'POST',
    path: '/automations/:uid/finished/send',
    access: 'token',
    summary: 'Lets everybody who has gone through an earlier version to its end in at a node of the live one.',
    details:
      '`node`: where they enter. `people`: how many you have seen that they are; when more have finished by now, nobody enters. Each enters once, whatever the rule of entry is, and what was done for them is not done again.',
    answers: answersBody(actionShape({ automation_uid: uidShape, people: countShape })),
    required: ['node', 'people'],
    operation: 'SendToFinished',
    variables: sendingOf,
    present: ({ sendToFinished: { uid, people } }) =>
      done(people > 0 ? 'They are let in' : 'Nobody has finished an earlier version', { automation_uid: uid, people }),
  }),
];

/** What is missing is reported, and sent as what the schema takes. */
function sendingOf(input: Input) {
  const people = input.integer('people');
  if (people === undefined && !('people' in input.faults())) input.refuse('people', 'The people field is required.');
  const node = input.text('node') ?? '';
  if (node === '') input.refuse('node', 'The node field is required.');
  return { uid: input.param('uid'), node, people: people ?? 0 };
}
