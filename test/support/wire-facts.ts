/**
 * What clients that were written years ago send and read: each numbered line of the wire facts (requests 1 to 12, answers 1 to
 * 14), divided into what it says one by one. A session marks what it has played; the others are left over.
 */
import { expect } from 'vitest';

const REQUESTS = [
  ...['1 token as bearer', '1 token in the query', '1 token in a JSON body', '1 token in an urlencoded body'],
  ...[
    '1 token in a multipart body',
    '1 token sent twice',
    '1 all in a JSON body on GET',
    '1 all in a JSON body on POST',
  ],
  ...['1 all in a JSON body on PATCH', '1 all in a JSON body on DELETE'],
  ...['2 empty JSON on GET', '2 empty JSON on POST', '2 empty JSON on PATCH', '2 empty JSON on DELETE'],
  ...['2 empty form on POST', '2 empty form on PATCH', '2 {} labelled urlencoded', '2 multipart on PATCH'],
  ...['3 contact[...] in the query', '3 contact[...] in an urlencoded body', '3 contact[...] in a multipart body'],
  ...['3 contact as a JSON object', '3 JSON keys with brackets'],
  ...['4 a bare string', '5 html in the query', '5 64 KiB of request line'],
  ...['6 flags in every spelling', '6 numbers as texts', '6 empty tag and LAST_NAME'],
  ...['7 raw address', '7 encoded address', '7 number', '7 uid'],
  ...['8 page=0 and page=1', '8 per_page=1000', '8 pages until an empty answer: subscribers'],
  ...[
    '8 pages until an empty answer: plans',
    '8 pages until an empty answer: customers',
    '8 subscribers without list_uid',
  ],
  ...['9 unknown parameters', '9 unknown headers', '9 list_uid beside an address'],
  ...['10 mail_list_uid', '10 list_uid', '10 options, plain, reply_to', '10 run_at'],
  ...['11 more fields of a customer', '11 more fields of assign-plan', '11 files as JSON text'],
  ...['12 logs as CSV', '12 logs as JSON'],
] as const;

/** The messages that clients compare. */
export const MESSAGES = [
  ...['Subscriber was successfully created', 'Confirmation email sent to the subscriber'],
  ...['Subscriber was successfully updated', 'Tag was added successfully', 'Tag was removed successfully'],
  ...['Subscriber was subscribed', 'Subscriber was unsubscribed', 'List was successfully created'],
  ...["List's field was created", 'Campaign was successfully created', 'Campaign was successfully updated'],
  ...['The campaign was launched', 'The campaign was paused', 'The campaign was resumed'],
  ...['Customer was successfully created', 'Customer was enabled', 'Customer was disabled'],
  ...['Customer was assigned to plan', 'Customer was changed to new plan', 'Plan was successfully created'],
  ...['File uploaded', 'Deleted'],
] as const;
export type Message = (typeof MESSAGES)[number];

const ANSWERS = [
  ...['1 bare arrays with uid and name', '1 empty arrays', '2 1 for a create', '2 1 for an update', '2 1 for a delete'],
  ...['2 1 for a tag', '2 success for run', '2 success for pause', '2 success for resume'],
  ...['3 a list', '3 a field', '3 a subscriber', '3 a campaign', '3 a customer', '3 a plan'],
  ...MESSAGES.map((message) => `4 ${message}` as const),
  ...['5 both names of a subscriber', '5 uid and id', '5 tags after add-tag', '5 tags after remove-tag'],
  ...['6 items', '6 list', '6 contact', '6 statistics', '6 fields', '7 items', '7 by email'],
  ...['8 items', '8 campaign', '8 statistics', '8 uid of a create', '9 plans'],
  ...['10 read', '10 change', '10 enable', '10 disable', '10 delete', '10 items', '11 subscriptions'],
  ...['12 rows', '12 a failure is 0', '13 login-token', '13 login', '14 message'],
] as const;

const facts = new Set([
  ...REQUESTS.map((fact) => `requests ${fact}` as const),
  ...ANSWERS.map((fact) => `answers ${fact}` as const),
]);
export type WireFact = typeof facts extends Set<infer Fact> ? Fact : never;

export interface WireFactsPlayed {
  /** Call it after what the fact says was asserted; the step is the test that is running. */
  played(...facts: readonly WireFact[]): void;
  /** The steps that played a number of the document: `requests 1`. */
  stepsOf(number: string): readonly string[];
  /** What no step played. */
  left(): readonly WireFact[];
}

export function wireFactsPlayed(): WireFactsPlayed {
  const steps = new Map<WireFact, string>();
  return {
    played(...names) {
      for (const name of names) steps.set(name, expect.getState().currentTestName ?? '');
    },
    stepsOf: (number) => [
      ...new Set([...steps].filter(([fact]) => fact.startsWith(`${number} `)).map(([, step]) => step)),
    ],
    left: () => [...facts].filter((fact) => !steps.has(fact)),
  };
}
