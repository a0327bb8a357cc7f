/** What is seen of automations: runs with their steps, and counts of nodes (decision D90); what to do with runs that failed (D87). */
import { done, ok } from '../answer.ts';
import { cursorArguments, cursorBody, cursorShape } from '../cursor.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody } from '../shapes.ts';
import {
  countsShape,
  oneRunShape,
  presentCounts,
  presentRun,
  presentStep,
  runRowShape,
  runsChangedShape,
} from './present-runs.ts';

export const automationRunRows = [
  endpoint({
    method: 'GET',
    path: '/automations/:uid/runs',
    access: 'token',
    summary: 'Lists the runs of an automation: who is where in it, and how others ended.',
    details:
      '`state`: `waiting` (who goes on next comes first), `parked`, `passed` (needs `node`) or `left`; without it all, the newest first. `node`, `version`: the people behind a count of `/counts`. ' +
      '`subscriber` (also `subscriber_uid`, `subscriber_id`, `email`, `EMAIL`): only those of this person. Goes on with `after`: the `next` of the answer before.',
    answers: answersBody(cursorShape('runs', runRowShape)),
    isIndex: true,
    operation: 'AutomationRuns',
    variables: (input) => ({
      uid: input.param('uid'),
      state: input.choice('state', ['waiting', 'parked', 'passed', 'left']),
      node: input.text('node') || undefined,
      version: input.integer('version'),
      subscriber: personIn(input),
      ...cursorArguments(input),
    }),
    present: ({ automationRuns }) => ok(cursorBody('runs', automationRuns, presentRun)),
  }),
  endpoint({
    method: 'GET',
    path: '/automations/:uid/runs/:run_uid',
    access: 'token',
    summary: 'Shows one run with its steps: where the person was when, and why they went on.',
    details:
      '`mail`: the mail that a step sent, with the state of its delivery. Values under names of secrets are `***`. Steps go on with `after`: the `next` of the answer before.',
    answers: answersBody(oneRunShape),
    operation: 'AutomationRun',
    variables: (input) => ({ uid: input.param('uid'), run: input.param('run_uid'), ...cursorArguments(input) }),
    present: ({ automationRun }) =>
      ok({
        run: { ...presentRun(automationRun), payload: automationRun.payload },
        ...cursorBody('steps', automationRun.steps, presentStep),
      }),
  }),
  endpoint({
    method: 'GET',
    path: '/automations/:uid/counts',
    access: 'token',
    summary: 'Counts the people of each node: entered = waiting + passed + left + parked.',
    details:
      '`version`: only this one; without it the live one and the newest that anybody came to. Who comes to a node twice counts twice; who was deleted counts still. `paused_at`: nobody is moved at the node since then, because too many were parked. `late_total`, `late_done`: who was late when the automation went on, and how many of them have gone on since; null when nobody of them is left. `postponed_at`, `postponed_reason`: people wait there for a plugin that does not answer; they go on within a minute after it has answered. The same of the automation: it does not read what happens to people meanwhile, and misses nothing.',
    answers: answersBody(countsShape),
    operation: 'AutomationCounts',
    variables: (input) => ({ uid: input.param('uid'), version: input.integer('version') }),
    present: ({ automationCounts }) => ok(presentCounts(automationCounts)),
  }),
  endpoint({
    method: 'POST',
    path: '/automations/:uid/parked/retry',
    access: 'token',
    summary: 'All runs that are parked at a node do its work once more.',
    details:
      '`version`, `node`: the place, as `/counts` names it. `runs`: how many they are. The first 1,000 at once, the others by a job: `/counts` shows how many are parked yet.',
    answers: answersBody(runsChangedShape),
    required: ['version', 'node'],
    operation: 'RetryParkedRuns',
    variables: placeOf,
    present: ({ retryParkedRuns: { uid, runs } }) =>
      done(runs > 0 ? 'They are tried again' : NOBODY, { automation_uid: uid, runs }),
  }),
  endpoint({
    method: 'POST',
    path: '/automations/:uid/parked/skip',
    access: 'token',
    summary: 'All runs that are parked at a node go on as if it had done its work.',
    details:
      '`version`, `node`: the place, as `/counts` names it. `runs`: how many they are. The first 1,000 at once, the others by a job: `/counts` shows how many are parked yet.',
    answers: answersBody(runsChangedShape),
    required: ['version', 'node'],
    operation: 'SkipParkedRuns',
    variables: placeOf,
    present: ({ skipParkedRuns: { uid, runs } }) =>
      done(runs > 0 ? 'They go on' : NOBODY, { automation_uid: uid, runs }),
  }),
  endpoint({
    method: 'POST',
    path: '/automations/:uid/take-out',
    access: 'token',
    summary: 'Takes a person out of an automation, wherever it is in it.',
    details:
      '`subscriber` (also `subscriber_uid`, `subscriber_id`, `email`, `EMAIL`): the person. `runs`: how many ended; several in a flow that people enter by a key.',
    answers: answersBody(runsChangedShape),
    required: ['subscriber'],
    operation: 'TakeOutOfAutomation',
    variables: (input) => ({ uid: input.param('uid'), subscriber: personIn(input) ?? '' }),
    present: ({ takeOutOfAutomation: { uid, runs } }) =>
      done(runs > 0 ? 'The person was taken out' : 'The person is not in the automation', {
        automation_uid: uid,
        runs,
      }),
  }),
];

/** Also of a node that is misspelled: those that a version has are known only with it. */
const NOBODY = 'Nobody is parked there';

function personIn(input: Input): string | undefined {
  return input.text('subscriber', 'subscriber_uid', 'subscriber_id', 'email', 'EMAIL') || undefined;
}

/** A version that is missing is reported, and sent as a number that the schema takes. */
function placeOf(input: Input) {
  const version = input.integer('version');
  if (version === undefined && !('version' in input.faults()))
    input.refuse('version', 'The version field is required.');
  const node = input.text('node') ?? '';
  if (node === '') input.refuse('node', 'The node field is required.');
  return { uid: input.param('uid'), version: version ?? 1, node };
}
