/** Subscribers (specification 4.3; decisions D7, D10, D18, D19). An alias is one more path to the same row. */
import { created, done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { Method } from '../row.ts';
import { RestError, type Failure } from '../errors.ts';
import type { Input } from '../input.ts';
import { emailText, fieldValues, ignoreUnknownTags } from '../shared/field-values.ts';
import { presentSubscriber, presentSubscriberRow, unsubscribed, whom } from './present.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import {
  oneSubscriberShape,
  subscriberActionShape,
  subscriberRowShape,
  subscriberTagsShape,
  subscribersShape,
  unsubscribedShape,
} from './shapes.ts';

type Path = `/${string}`;
type Place = readonly [method: Method, path: Path];

const FIELDS_DETAILS =
  "Any other parameter is the value of the list's field with this tag, in capitals or not: `FIRST_NAME`. `tag` takes several, separated by commas.";

const indexes = (['/subscribers', '/lists/:list_uid/subscribers'] as const).map((path) =>
  endpoint({
    method: 'GET',
    path,
    access: 'token',
    summary: 'Lists the subscribers of one list, or of all lists.',
    details:
      '`open`, `click`: only those who ever did, or never. `verification`: only those of whom a verifier said `deliverable`, `undeliverable`, `risky` or `unknown`, or nothing (`unverified`).',
    answers: answersPage(subscriberRowShape),
    operation: 'Subscribers',
    variables: (input) => ({
      listUid: listUid(input),
      opened: input.flag('open'),
      clicked: input.flag('click'),
      verification: verificationWords(input),
      ...pageArguments(input),
    }),
    present: ({ subscribersPage }) => page(subscribersPage, presentSubscriberRow),
  }),
);

/** One of them: a rule of a segment takes several. */
function verificationWords(input: Input) {
  const word = input.choice('verification', ['deliverable', 'undeliverable', 'risky', 'unknown', 'unverified']);
  return word === undefined ? undefined : [word];
}

const creates = (['/subscribers', '/lists/:list_uid/subscribers', '/lists/:list_uid/subscribers/store'] as const).map(
  (path) =>
    endpoint({
      method: 'POST',
      path,
      access: 'token',
      summary: 'Adds somebody to a list; a list with double opt-in sends a confirmation mail first.',
      details: `${FIELDS_DETAILS} With \`run_automations=0\` the person enters no automation by being added.`,
      answers: answersCreated(subscriberActionShape),
      required: path === '/subscribers' ? ['list_uid', 'EMAIL'] : ['EMAIL'],
      operation: 'AddSubscriber',
      variables: (input) => ({
        input: {
          listUid: neededListUid(input),
          email: emailText(input) ?? '',
          fieldValues: fieldValues(input),
          tags: tags(input),
          status: input.text('status'),
          ipAddress: input.nullableText('ip_address'),
          ignoreUnknownFields: true,
          runAutomations: input.flag('run_automations'),
        },
        withFields: input.others().length > 0,
      }),
      fieldName,
      refuseClassic: duplicate,
      present: ({ addSubscriber: subscriber }, _view, input) => {
        ignoreUnknownTags(input, subscriber.fieldValues);
        const isPending = subscriber.status === 'pending';
        return created(
          isPending ? 'Confirmation email sent to the subscriber' : 'Subscriber was successfully created',
          whom(subscriber),
        );
      },
    }),
);

const reads = (['/subscribers/:id', '/lists/:list_uid/subscribers/:id'] as const).map((path) =>
  endpoint({
    method: 'GET',
    path,
    access: 'token',
    summary: 'Shows one subscriber, named by id, uid or address.',
    answers: answersBody(oneSubscriberShape),
    operation: 'Subscriber',
    variables: which,
    present: ({ subscriber }) => ok({ subscriber: presentSubscriber(subscriber) }),
  }),
);

const byEmail = endpoint({
  method: 'GET',
  path: '/subscribers/email/:email',
  access: 'token',
  summary: 'Shows the subscribers with this address: one for each list.',
  answers: answersBody(subscribersShape),
  operation: 'SubscribersByEmail',
  variables: (input) => ({ email: input.param('email'), listUid: listUid(input) }),
  present: ({ subscribersByEmail }) => ok({ subscribers: subscribersByEmail.nodes.map(presentSubscriber) }),
});

const updates = (['/subscribers/:id', '/lists/:list_uid/subscribers/:id/update'] as const).map((path) =>
  endpoint({
    method: 'PATCH',
    path,
    access: 'token',
    summary: 'Changes a subscriber: only what is given.',
    details: FIELDS_DETAILS,
    answers: answersBody(subscriberActionShape),
    operation: 'UpdateSubscriber',
    variables: (input) => ({
      input: {
        ...which(input),
        email: emailText(input),
        fieldValues: fieldValues(input),
        tags: tags(input),
        status: input.text('status'),
        ignoreUnknownFields: true,
      },
      withFields: input.others().length > 0,
    }),
    fieldName,
    refuseClassic: duplicate,
    present: ({ updateSubscriber }, _view, input) => {
      ignoreUnknownTags(input, updateSubscriber.fieldValues);
      return done('Subscriber was successfully updated', whom(updateSubscriber));
    },
  }),
);

const tagging = [
  endpoint({
    method: 'POST',
    path: '/subscribers/:id/add-tag',
    access: 'token',
    summary: 'Adds tags to a subscriber.',
    answers: answersBody(subscriberTagsShape),
    required: ['tag'],
    operation: 'TagSubscriber',
    variables: (input) => ({ ...which(input), tags: tags(input) ?? [] }),
    fieldName,
    present: ({ tagSubscriber: subscriber }) =>
      done('Tag was added successfully', { ...whom(subscriber), tags: subscriber.tags }),
  }),
  endpoint({
    method: 'POST',
    path: '/subscribers/:id/remove-tag',
    access: 'token',
    summary: 'Removes tags from a subscriber.',
    answers: answersBody(subscriberTagsShape),
    required: ['tag'],
    operation: 'UntagSubscriber',
    variables: (input) => ({ ...which(input), tags: tags(input) ?? [] }),
    fieldName,
    present: ({ untagSubscriber: subscriber }) =>
      done('Tag was removed successfully', { ...whom(subscriber), tags: subscriber.tags }),
  }),
];

const subscribes = (['/subscribers/:id/subscribe', '/lists/:list_uid/subscribers/:id/subscribe'] as const).map((path) =>
  endpoint({
    method: 'PATCH',
    path,
    access: 'token',
    summary: 'Asks a person to confirm: the state becomes pending, and a confirmation mail is sent.',
    answers: answersBody(subscriberActionShape),
    operation: 'SubscribeSubscriber',
    variables: which,
    present: ({ subscribeSubscriber }) => done('Subscriber was subscribed', whom(subscribeSubscriber)),
  }),
);

const unsubscribePaths = [
  '/subscribers/:id/unsubscribe',
  '/lists/:list_uid/subscribers/:id/unsubscribe',
  '/subscribers/email/:email/unsubscribe',
  '/lists/:list_uid/subscribers/email/:email/unsubscribe',
] as const;
const unsubscribes = unsubscribePaths.map((path) =>
  endpoint({
    method: 'PATCH',
    path,
    access: 'token',
    summary: 'Unsubscribes a person, who stays on the list and gets no more mail.',
    details: 'An address without `list_uid` is unsubscribed on every list that has it; `list_uids` names them.',
    answers: answersBody(unsubscribedShape),
    operation: 'UnsubscribeFromLists',
    variables: which,
    present: ({ unsubscribeFromLists: { subscribers } }) =>
      done('Subscriber was unsubscribed', unsubscribed(subscribers)),
  }),
);

const deletePlaces: readonly Place[] = [
  ['DELETE', '/subscribers/:id'],
  ['DELETE', '/lists/:list_uid/subscribers/:id/delete'],
];
const deletes = deletePlaces.map(([method, path]) =>
  endpoint({
    method,
    path,
    access: 'token',
    summary: 'Deletes a subscriber from the list.',
    answers: answersBody(subscriberActionShape),
    operation: 'DeleteSubscriber',
    variables: which,
    present: ({ deleteSubscriber }) => done('Deleted', whom(deleteSubscriber)),
  }),
);

export const subscriberRows = [
  ...indexes,
  ...creates,
  ...reads,
  byEmail,
  ...updates,
  ...tagging,
  ...subscribes,
  ...unsubscribes,
  ...deletes,
];

/** The subscriber that the path names, and the list if one is named (D7). */
function which(input: Input) {
  return { subscriber: input.param('id') || input.param('email'), listUid: listUid(input) };
}

/** From the path, else from the parameters; empty means none. */
function listUid(input: Input): string | undefined {
  return input.param('list_uid') || input.text('list_uid', 'mail_list_uid') || undefined;
}

function neededListUid(input: Input): string {
  const uid = listUid(input);
  if (uid === undefined) input.refuse('list_uid', 'The list uid field is required.');
  return uid ?? '';
}

/** Separated by commas, or a list of such texts. */
function tags(input: Input): string[] | undefined {
  const given = input.raw('tag');
  if (!Array.isArray(given)) {
    const text = input.text('tag');
    return text === undefined ? undefined : [text];
  }
  const texts = given.filter((tag) => typeof tag === 'string' || typeof tag === 'number');
  if (texts.length < given.length) input.refuse('tag', 'The tag must be a text.');
  return texts.map(String);
}

function fieldName(path: string): string | undefined {
  return path === 'tags' ? 'tag' : undefined;
}

/** Decision D1: the classic dialect answers a duplicate with a 403 and the bare map of errors. */
function duplicate({ code, fields }: Failure): RestError | undefined {
  if (code !== 'EMAIL_TAKEN') return undefined;
  return new RestError(403, Object.fromEntries((fields ?? []).map(({ field, messages }) => [field, messages])));
}
