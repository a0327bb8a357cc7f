/** The rights of a person (an extension of the specification), and public sign-up (decision D10). */
import { z } from 'zod';
import type { RestErasureFragment } from '../../generated/operations.ts';
import { done, ok, stream } from '../answer.ts';
import { customEndpoint, endpoint } from '../endpoint.ts';
import { neededName } from '../input.ts';
import type { DataOf } from '../operations.ts';
import type { Call } from '../row.ts';
import { emailText, fieldValues } from '../shared/field-values.ts';
import { actionShape, answersBody, answersStream, countShape, timeShape, uidShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

type PersonalData = DataOf<'PersonalData'>['personalData'];

const erasureShape = z
  .strictObject({
    uid: uidShape,
    status: z.enum(['running', 'done']),
    people: countShape,
    requested_at: timeShape,
    finished_at: timeShape.nullable(),
  })
  .meta({ id: 'Erasure' });

/** A field of the form that people do not see. */
const TRAP = 'homepage';

const challengeShape = z.strictObject({
  parameters: z.record(z.string(), z.unknown()),
  signature: z.string(),
});

export const personalDataRows = [
  customEndpoint({
    method: 'GET',
    path: '/subscribers/export',
    access: 'token',
    summary: 'Downloads everything that is stored about one person.',
    answers: answersStream('application/json'),
    required: ['email'],
    operations: ['PersonalData'],
    async run(call) {
      const email = call.input.text('email', 'EMAIL') ?? '';
      call.input.check();
      const first = (await call.execute('PersonalData', { email })).personalData;
      return stream({
        contentType: 'application/json; charset=utf-8',
        fileName: 'personal-data.json',
        pieces: personalJson(call, email, first),
      });
    },
  }),
  endpoint({
    method: 'POST',
    path: '/subscribers/erase',
    access: 'token',
    summary: 'Erases one person from all lists and from the records of mails and clicks.',
    answers: answersBody(actionShape({ erasure_uid: uidShape, erasure: erasureShape })),
    required: ['email'],
    operation: 'ErasePerson',
    variables: (input) => ({ email: input.text('email', 'EMAIL') ?? '', everywhere: input.flag('everywhere') }),
    present: ({ erasePerson }) =>
      done('The person is being erased', { erasure_uid: erasePerson.uid, erasure: presentErasure(erasePerson) }),
  }),
  endpoint({
    method: 'GET',
    path: '/erasures/:uid',
    access: 'token',
    summary: 'Shows how far the erasing of a person is.',
    answers: answersBody(z.strictObject({ erasure: erasureShape })),
    operation: 'Erasure',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ erasure }) => ok({ erasure: presentErasure(erasure) }),
  }),
  endpoint({
    method: 'POST',
    path: '/public/subscribers',
    access: 'public',
    summary: 'Signs a person up for a list that accepts sign-ups; sends a confirmation mail.',
    answers: answersBody(actionShape({})),
    required: ['list_uid', 'EMAIL'],
    operation: 'SignUp',
    variables: (input) => ({
      input: {
        listUid: neededName(input, 'list_uid', 'mail_list_uid'),
        email: emailText(input) ?? '',
        fieldValues: fieldValues(input),
        trap: input.text(TRAP),
        captcha: input.text('captcha', 'altcha'),
      },
    }),
    present({ signUp: { message, ignoredFields } }, _view, input) {
      input.ignore(...ignoredFields);
      return done(message);
    },
  }),
  endpoint({
    method: 'GET',
    path: '/public/lists/:list_uid/captcha',
    access: 'public',
    summary: 'Makes a challenge for one sign-up, which the ALTCHA widget answers.',
    details:
      'Its answer is the `captcha` of `POST /public/subscribers`. `signup_captcha` of the list says when one is needed.',
    answers: answersBody(challengeShape),
    operation: 'SignUpChallenge',
    variables: (input) => ({ listUid: input.param('list_uid') }),
    present: ({ signUpChallenge }) => ok(challengeShape.parse(signUpChallenge.challenge)),
  }),
];

function presentErasure({ uid, status, people, requestedAt, finishedAt }: RestErasureFragment) {
  return { uid, status, people, requested_at: restTime(requestedAt), finished_at: restTime(finishedAt) };
}

/** `{"email": …, "tables": {"subscriber": [row, …], …}}`; rows come table by table. */
async function* personalJson(call: Call, email: string, first: PersonalData): AsyncGenerator<string> {
  yield `{"email":${JSON.stringify(email.trim())},"tables":{`;
  let table: string | undefined;
  for (let page = first; ;) {
    for (const node of page.nodes) {
      const row = JSON.stringify(node.row);
      if (node.table === table) yield `,${row}`;
      else yield `${table === undefined ? '' : '],'}${JSON.stringify(node.table)}:[${row}`;
      ({ table } = node);
    }
    if (page.next === null) break;
    page = (await call.execute('PersonalData', { email, after: page.next })).personalData;
  }
  yield `${table === undefined ? '' : ']'}}}`;
}
