/** Live tests of an automation to a named address. */
import { z } from 'zod';
import type { RestFlowTestFragment } from '../../generated/operations.ts';
import { created, done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody, answersCreated } from '../shapes.ts';
import { restTime } from '../timestamps.ts';
import { refusedFlow } from './flow-faults.ts';
import { testActionShape, testShape } from './flow-test-shapes.ts';
import { faultsShape } from './present.ts';

export const flowTestRows = [
  endpoint({
    method: 'POST',
    path: '/automations/:uid/tests',
    access: 'token',
    summary:
      'Goes through the draft or a version at once, and sends its mails to one address. Counts nowhere and changes nobody.',
    details:
      '`email`: to whom all mails go. `subscriber` (also `subscriber_uid`, `subscriber_id`): whose values are used; without it those of the person of the list with that address, else sample values. ' +
      '`version`: a published version; without it the draft. `wait_seconds`: how long each wait takes, 5 by default. `ports`: the ways to take, by the ids of nodes, such as `{"opened": "yes"}`. ' +
      '`payload`: read in conditions and mails as `payload.*`. `mark_subject`: begins subjects with `[Test]`, by default yes. A draft with faults is a 422 with all of them in `faults`.',
    answers: answersCreated(testActionShape),
    refusesWith: { faults: faultsShape.optional() },
    refuse: refusedFlow,
    required: ['email'],
    operation: 'TestAutomation',
    variables: (input) => ({
      input: {
        ...{ uid: input.param('uid'), email: input.text('email', 'EMAIL') ?? '' },
        subscriber: input.text('subscriber', 'subscriber_uid', 'subscriber_id') || undefined,
        ...{ version: input.integer('version'), waitSeconds: input.integer('wait_seconds') },
        ...{ ports: input.plainObject('ports'), payload: input.plainObject('payload') },
        markSubject: input.flag('mark_subject'),
      },
    }),
    present: ({ testAutomation }, _view, input) =>
      created('The test has begun', { automation_uid: input.param('uid'), test: presentTest(testAutomation) }),
  }),
  endpoint({
    method: 'GET',
    path: '/automations/:uid/tests',
    access: 'token',
    summary: 'Shows the last 20 tests of an automation, the newest first. They are deleted after seven days.',
    answers: answersBody(z.strictObject({ tests: z.array(testShape) })),
    operation: 'AutomationTests',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ automationTests: { nodes } }) => ok({ tests: nodes.map(presentTest) }),
  }),
  endpoint({
    method: 'GET',
    path: '/automations/:uid/tests/:test_uid',
    access: 'token',
    summary: 'Shows a test of an automation with its steps.',
    answers: answersBody(z.strictObject({ test: testShape })),
    operation: 'AutomationTest',
    variables: named,
    present: ({ automationTest }) => ok({ test: presentTest(automationTest) }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/automations/:uid/tests/:test_uid',
    access: 'token',
    summary: 'Ends a test of an automation: it sends no further mail. It is shown still.',
    answers: answersBody(testActionShape),
    operation: 'CancelAutomationTest',
    variables: named,
    present: ({ cancelAutomationTest }, _view, input) =>
      done('The test has ended', { automation_uid: input.param('uid'), test: presentTest(cancelAutomationTest) }),
  }),
];

function named(input: Input) {
  return { uid: input.param('uid'), testUid: input.param('test_uid') };
}

function presentTest(test: RestFlowTestFragment) {
  const { uid, status, reason, version, email, node } = test;
  return {
    ...{ uid, status, reason, version, draft_version: test.draftVersion, email },
    ...{ subscriber_uid: test.subscriberUid, wait_seconds: test.waitSeconds, node, next_at: restTime(test.nextAt) },
    steps: test.steps.map((step) => ({
      ...{ node: step.node, at: restTime(step.at), happened_at: restTime(step.happenedAt), what: step.what },
      ...{ port: step.port, reason: step.reason, message_uid: step.messageUid },
    })),
    ...{ created_at: restTime(test.createdAt), finished_at: restTime(test.finishedAt) },
  };
}
