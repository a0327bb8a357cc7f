/** Automations (specification 4.5, decisions D27 and D28): flows of a list, their drafts and versions. */
import { z } from 'zod';
import type { AutomationVersionsQuery } from '../../generated/operations.ts';
import { created, done, ok, page } from '../answer.ts';
import { cursorArguments, cursorBody, cursorShape } from '../cursor.ts';
import { deepObject } from '../deep-object.ts';
import { endpoint } from '../endpoint.ts';
import { RestError, type Failure } from '../errors.ts';
import type { Input } from '../input.ts';
import { sortedIndexArguments, sortedIndexName } from '../sorted-index.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { restTime } from '../timestamps.ts';
import { ownParts, refusedFlow } from './flow-faults.ts';
import { MOVES, movesIn } from './moves.ts';
import {
  AUTOMATION_CREATED,
  automationActionShape,
  automationCalledShape,
  automationCheckShape,
  automationDeletedShape,
  automationEnteredShape,
  automationPublishedShape,
  automationRowShape,
  automationVersionShape,
  FLOW_DEPTH_MAX,
  faultsShape,
  oneAutomationShape,
  presentActed,
  presentAutomation,
  presentAutomationRow,
} from './present.ts';

const FLOW = '`flow`: triggers, nodes and edges; in a form as JSON text. It may have faults until it is published.';

export const automationRows = [
  endpoint({
    method: 'GET',
    path: '/automations',
    access: 'token',
    summary: 'Lists the automations, without their flows.',
    details: '`q` is looked for in the name. `created_at[from]` and `created_at[to]` are times.',
    answers: answersPage(automationRowShape),
    operation: 'Automations',
    fieldName: sortedIndexName,
    variables: filters,
    present: ({ automationsPage }) => page(automationsPage, presentAutomationRow),
  }),
  endpoint({
    method: 'POST',
    path: '/automations',
    access: 'token',
    summary: 'Makes an automation of a list. It has no effect until its flow is published and it is activated.',
    details: FLOW,
    answers: answersCreated(automationActionShape),
    required: ['name', 'list_uid'],
    operation: 'CreateAutomation',
    variables: (input) => ({
      // What is missing is sent as the empty text: the verb then reports it as required.
      input: { name: input.text('name') ?? '', listUid: input.text('list_uid') ?? '', flow: flowOf(input) },
    }),
    present: ({ createAutomation }) => created(AUTOMATION_CREATED, presentActed(createAutomation)),
  }),
  endpoint({
    method: 'GET',
    path: '/automations/:uid',
    access: 'token',
    summary: 'Shows an automation with its draft.',
    answers: answersBody(oneAutomationShape),
    operation: 'Automation',
    variables: uidOf,
    present: ({ automation }) => ok({ automation: presentAutomation(automation) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/automations/:uid',
    access: 'token',
    summary: 'Changes the name and the draft of an automation. The published version goes on as it is.',
    details: `${FLOW} With it, \`draft_version\` is needed: nothing is changed when the draft has another version by now.`,
    answers: answersBody(automationActionShape),
    operation: 'UpdateAutomation',
    variables: (input) => ({
      input: {
        ...{ uid: input.param('uid'), name: input.text('name') },
        ...{ flow: flowOf(input), draftVersion: input.integer('draft_version') },
      },
    }),
    present: ({ updateAutomation }) => done('Automation was successfully updated', presentActed(updateAutomation)),
  }),
  endpoint({
    method: 'DELETE',
    path: '/automations/:uid',
    access: 'token',
    summary: 'Deletes an automation with its versions and its history. Who is in it leaves it.',
    answers: answersBody(automationDeletedShape),
    operation: 'DeleteAutomation',
    variables: uidOf,
    present: ({ deleteAutomation: { uid } }) => done('Deleted', { automation_uid: uid }),
  }),
  endpoint({
    method: 'POST',
    path: '/automations/:uid/copy',
    access: 'token',
    summary: 'Copies the draft into a new automation of the same list. Nobody is in it.',
    answers: answersCreated(automationActionShape),
    operation: 'CopyAutomation',
    variables: (input) => ({ uid: input.param('uid'), name: input.text('name') }),
    present: ({ copyAutomation }) => created(AUTOMATION_CREATED, presentActed(copyAutomation)),
  }),
  endpoint({
    method: 'GET',
    path: '/automations/:uid/check',
    access: 'token',
    summary: 'Checks the draft as publishing does, and changes nothing.',
    answers: answersBody(automationCheckShape),
    operation: 'AutomationCheck',
    variables: uidOf,
    present: ({ automationCheck: { draftVersion, faults, warnings } }) =>
      ok({ draft_version: draftVersion, faults: faults.map(ownParts), warnings: warnings.map(ownParts) }),
  }),
  endpoint({
    method: 'POST',
    path: '/automations/:uid/publish',
    access: 'token',
    summary:
      'Publishes the draft as a new version, which people enter from now on. Those inside finish on theirs, or are moved.',
    details:
      '`draft_version`: the one that you have read. A flow or moves with faults are a 422 with all of them in `faults`: `{node, field, code, message}`. ' +
      `${MOVES} A job moves them.`,
    answers: answersBody(automationPublishedShape),
    required: ['draft_version'],
    refusesWith: { faults: faultsShape.optional() },
    refuse: refusedFlow,
    operation: 'PublishAutomation',
    variables: (input) => ({ uid: input.param('uid'), draftVersion: neededVersion(input), ...movesIn(input) }),
    present: ({ publishAutomation: { uid, version, warnings } }) =>
      done('Published', { automation_uid: uid, version, warnings: warnings.map(ownParts) }),
  }),
  endpoint({
    method: 'POST',
    path: '/automations/:uid/activate',
    access: 'token',
    summary: 'Lets people in, and those inside go on.',
    details:
      '`overdue` is needed while steps are late by more than an hour: `now`, `spread` (over `overdue_hours`), `skip_mails` (those older than `overdue_hours`) or `wait_anew`. `overdue_hours` with another choice is a 422.',
    answers: answersBody(automationActionShape),
    operation: 'ActivateAutomation',
    variables: (input) => ({
      ...uidOf(input),
      overdue: input.choice('overdue', ['now', 'spread', 'skip_mails', 'wait_anew']),
      overdueHours: input.integer('overdue_hours'),
    }),
    present: ({ activateAutomation }) => done('Activated', presentActed(activateAutomation)),
  }),
  endpoint({
    method: 'POST',
    path: '/automations/:uid/pause',
    access: 'token',
    summary: 'Nobody enters any more, and who is inside stays where they are.',
    answers: answersBody(automationActionShape),
    operation: 'PauseAutomation',
    variables: uidOf,
    present: ({ pauseAutomation }) => done('Paused', presentActed(pauseAutomation)),
  }),
  endpoint({
    method: 'GET',
    path: '/automations/:uid/versions',
    access: 'token',
    summary: 'Lists the published versions with their flows, the newest first.',
    details: 'Goes on with `after`: the `next` of the answer before.',
    answers: answersBody(cursorShape('versions', automationVersionShape)),
    isIndex: true,
    operation: 'AutomationVersions',
    variables: (input) => ({ uid: input.param('uid'), ...cursorArguments(input) }),
    present: ({ automationVersions }) => ok(cursorBody('versions', automationVersions, presentVersion)),
  }),
  endpoint({
    method: 'POST',
    path: '/automations/:uid/execute',
    access: 'token',
    summary: 'Lets one person of the list into an automation.',
    details:
      '`subscriber` (also `subscriber_uid`, `subscriber_id`, `email`, `EMAIL`): the person. `payload`: an object of at most 64 KiB, read in conditions and mails as `payload.*`. ' +
      'Filters of triggers are skipped, the rules of entry are not: who may not enter is a 422 with the reason in `refused`.',
    answers: answersBody(automationEnteredShape),
    required: ['subscriber'],
    refusesWith: { refused: z.string().meta({ description: 'Why the person may not enter.' }).optional() },
    refuse: refusedEntry,
    operation: 'ExecuteAutomation',
    variables: (input) => ({
      input: {
        uid: input.param('uid'),
        subscriber: input.text('subscriber', 'subscriber_uid', 'subscriber_id', 'email', 'EMAIL') ?? '',
        payload: input.plainObject('payload'),
      },
    }),
    present: ({ executeAutomation: { runUid } }, _view, input) =>
      done('The person has entered', { automation_uid: input.param('uid'), run_uid: runUid }),
  }),
  endpoint({
    method: 'POST',
    path: '/automations/:uid/api/call',
    access: 'token',
    summary: 'Starts an API-call node: for one person who waits there, or for everybody who does.',
    details:
      '`subscriber` (also `subscriber_uid`, `subscriber_id`, `email`, `EMAIL`): the person; without any of them everybody. One that is given must not be empty. `node`: needed when the flow has several API-call nodes. ' +
      '`payload`: an object of at most 64 KiB, for everybody of at most 4 KiB, added to what conditions and mails read as `payload.*`. `people`: how many go on. ' +
      'A parameter that it does not know is a 422.',
    // A misspelled name of a person would call everybody, which cannot be taken back.
    refusesUnknown: true,
    answers: answersBody(automationCalledShape),
    operation: 'CallAutomation',
    variables: (input) => ({
      input: {
        ...{ uid: input.param('uid'), node: input.text('node') },
        subscriber: personOf(input),
        payload: input.plainObject('payload'),
      },
    }),
    present: ({ callAutomation: { node, people, runUid } }, _view, input) =>
      done(people > 0 ? 'The node was started' : 'Nobody waits at the node', {
        automation_uid: input.param('uid'),
        run_uid: runUid,
        node,
        people,
      }),
  }),
];

/** By the rule of entry; the codes are those of the schema. */
const REFUSED = new Set([
  ...['NOT_SUBSCRIBED', 'SUPPRESSED', 'ENTERED_BEFORE', 'IN_FLOW', 'TOO_SOON', 'KEY_ENTERED', 'TOO_OFTEN', 'NO_KEY'],
]);

function refusedEntry({ code, message }: Failure): RestError | undefined {
  if (!REFUSED.has(code)) return undefined;
  const field = code === 'NO_KEY' ? 'payload' : 'subscriber';
  return new RestError(422, { message, errors: { [field]: [message] }, refused: code.toLowerCase() });
}

const PERSON = ['subscriber', 'subscriber_uid', 'subscriber_id', 'email', 'EMAIL'] as const;

/** Undefined: none of them is given, which means everybody. */
function personOf(input: Input): string | undefined {
  for (const name of PERSON.filter((one) => input.has(one))) {
    const value = input.raw(name) ?? null;
    if (typeof value === 'object' || String(value).trim() === '')
      input.refuse(name, `The ${name} must name a person. Leave it out to call everybody who waits at the node.`);
  }
  return input.text(...PERSON);
}

function uidOf(input: Input) {
  return { uid: input.param('uid') };
}

function flowOf(input: Input) {
  return deepObject<Record<string, unknown>>(input, 'flow', FLOW_DEPTH_MAX);
}

function neededVersion(input: Input): number {
  const version = input.integer('draft_version');
  if (version === undefined && !('draft_version' in input.faults()))
    input.refuse('draft_version', 'The draft version field is required.');
  return version ?? 1;
}

type Version = Extract<AutomationVersionsQuery['automationVersions'], { readonly nodes: unknown }>['nodes'][number];

function presentVersion({ number, publishedAt, publishedBy, moves, movedAt, flow }: Version) {
  return {
    ...{ number, published_at: restTime(publishedAt), published_by: publishedBy },
    ...{ moves, moved_at: restTime(movedAt), flow },
  };
}

function filters(input: Input) {
  return {
    status: input.choice('status', ['active', 'inactive']),
    listUid: input.text('list_uid') || undefined,
    ...sortedIndexArguments(input),
  };
}
