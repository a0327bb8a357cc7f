/** The captcha of public sign-ups: right, wrong, reused, expired and of another list, over REST, GraphQL and the page. */
import { solveChallenge, type Challenge } from 'altcha-lib';
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2';
import { expect, test } from 'vitest';
import { CHALLENGE_MINUTES, FLOOD_SIGN_UPS_PER_HOUR, newChallenge } from '../../src/domain/audience/sign-up-captcha.ts';
import { field, mailWorld } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp({ TRUSTED_PROXIES: '127.0.0.1' });
const owner = await app.newTenant();
const { call, newList } = mailWorld(app, owner);

async function listWith(mode?: string): Promise<string> {
  const { uid } = await newList();
  const options = { public_signup: 1, ...(mode === undefined ? {} : { signup_captcha: mode }) };
  expect((await call('PATCH', `/lists/${uid}`, options)).status).toBe(200);
  return uid;
}

async function answerTo(challenge: Challenge): Promise<string> {
  const solution = await solveChallenge({ challenge, deriveKey });
  return Buffer.from(JSON.stringify({ challenge, solution })).toString('base64');
}

const challengeOf = async (list: string): Promise<Challenge> =>
  (
    await fetch(`${app.baseUrl}/api/v1/public/lists/${list}/captcha`, { headers: { Origin: 'https://shop.example' } })
  ).json();

let visitors = 0;
/** From another network each time, so that only the captcha refuses. */
async function signUp(list: string, captcha?: string, dialect = 'standard') {
  visitors += 1;
  const headers = {
    ...{ 'Content-Type': 'application/json', 'X-Api-Dialect': dialect },
    'X-Forwarded-For': `198.51.${Math.floor(visitors / 200)}.${visitors % 200}`,
  };
  const body = JSON.stringify({ list_uid: list, EMAIL: `p${visitors}@captcha.example`, captcha });
  const answer = await fetch(`${app.baseUrl}/api/v1/public/subscribers`, { method: 'POST', headers, body });
  return { status: answer.status, errors: Object.keys(Object((await answer.json()).errors)) };
}

const REFUSED = { status: 422, errors: ['captcha'] };
const TAKEN = { status: 200, errors: [] };

test.each(['standard', 'classic'])('a list that always asks takes an answer once, %s dialect', async (dialect) => {
  const [list, other] = [await listWith('always'), await listWith('always')];
  expect(field(await call('GET', `/lists/${list}`), 'list', 'signup_captcha')).toBe('always');
  expect(await signUp(list, undefined, dialect)).toEqual(REFUSED);
  const answer = await answerTo(await challengeOf(list));
  expect(await signUp(other, answer, dialect)).toEqual(REFUSED);
  expect(await signUp(list, answer, dialect)).toEqual(TAKEN);
  expect(await signUp(list, answer, dialect)).toEqual(REFUSED);
});

test('of many sign-ups at once with the same answer, one is taken', async () => {
  const list = await listWith('always');
  const answer = await answerTo(await challengeOf(list));
  const results = await Promise.all(Array.from({ length: 5 }, () => signUp(list, answer)));
  expect(results.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(results.filter(({ status }) => status === 422)).toHaveLength(4);
});

test('an answer is good after a sign-up that failed', async () => {
  const list = await listWith('always');
  const answer = await answerTo(await challengeOf(list));
  const faulty = await fetch(`${app.baseUrl}/api/v1/public/subscribers`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ list_uid: list, EMAIL: 'nobody', captcha: answer }),
  });
  expect(faulty.status).toBe(422);
  expect(await signUp(list, answer)).toEqual(TAKEN);
});

test('a wrong, changed or expired answer is refused', async () => {
  const list = await listWith('always');
  const challenge = await challengeOf(list);
  const solution = await solveChallenge({ challenge, deriveKey });
  const packed = (changed: object) =>
    Buffer.from(JSON.stringify({ challenge, solution, ...changed })).toString('base64');
  const { parameters } = challenge;
  for (const wrong of [
    'x',
    packed({ solution: { ...solution, derivedKey: '00'.repeat(32) } }),
    packed({ challenge: { ...challenge, parameters: { ...parameters, expiresAt: (parameters.expiresAt ?? 0) + 1 } } }),
    packed({ challenge: { ...challenge, parameters: { ...parameters, cost: 1 } } }),
    packed({ solution: null }),
    'A'.repeat(5_000),
  ])
    expect(await signUp(list, wrong)).toEqual(REFUSED);
  const past = { now: () => new Date(Date.now() - (CHALLENGE_MINUTES + 1) * 60_000) };
  const expired = await newChallenge({ ...app.ctx, clock: past }, { listUid: list });
  expect(await signUp(list, await answerTo(expired))).toEqual(REFUSED);
  expect(await signUp(list, packed({}))).toEqual(TAKEN);
});

test('GraphQL gives challenges, takes answers, and sets when one is needed', async () => {
  const list = await listWith('always');
  const run = async (query: string, variables: object): Promise<Record<string, never>> => {
    const answer = await fetch(`${app.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': '203.0.113.7' },
      body: JSON.stringify({ query, variables }),
    });
    return (await answer.json()).data;
  };
  const query = 'query ($list: String!) { signUpChallenge(listUid: $list) { ... on SignUpChallenge { challenge } } }';
  const { signUpChallenge } = await run(query, { list });
  const mutation =
    'mutation ($input: SignUpInput!) { signUp(input: $input) { __typename ... on ValidationError { code } } }';
  const input = { listUid: list, email: 'ann@graphql.example' };
  expect(await run(mutation, { input })).toEqual({
    signUp: { __typename: 'ValidationError', code: 'CAPTCHA_REQUIRED' },
  });
  const captcha = await answerTo(Object(signUpChallenge).challenge);
  expect(await run(mutation, { input: { ...input, captcha } })).toEqual({ signUp: { __typename: 'SignUp' } });
});

test('a list asks only in a flood unless it is told otherwise, and never if it is told so', async () => {
  const [list, open] = [await listWith(), await listWith('never')];
  expect(field(await call('GET', `/lists/${list}`), 'list', 'signup_captcha')).toBe('flood');
  for (let count = 0; count < FLOOD_SIGN_UPS_PER_HOUR; count += 1) expect(await signUp(list)).toEqual(TAKEN);
  const flooded = [await signUp(list), await signUp(list)];
  expect(flooded).toContainEqual(REFUSED);
  expect(await signUp(list, await answerTo(await challengeOf(list)))).toEqual(TAKEN);
  for (let count = 0; count <= FLOOD_SIGN_UPS_PER_HOUR; count += 1) expect(await signUp(open)).toEqual(TAKEN);
});

test('a form on another site without the captcha ends on our page, which asks and keeps what was filled in', async () => {
  const list = await listWith('always');
  const send = (fields: Record<string, string>) =>
    fetch(`${app.baseUrl}/signup/${list}`, { method: 'POST', body: new URLSearchParams(fields) });
  const asked = await send({ EMAIL: 'bea@form.example' });
  const page = await asked.text();
  expect(asked.status).toBe(422);
  expect(page).toContain('value="bea@form.example"');
  expect(page).toContain(`challenge="/api/v1/public/lists/${list}/captcha"`);
  expect(page).toMatch(/<p id="needs-script">[^<]+JavaScript/);
  expect(asked.headers.get('content-security-policy')).toContain("script-src 'self'; connect-src 'self'");
  const taken = await send({ EMAIL: 'bea@form.example', altcha: await answerTo(await challengeOf(list)) });
  expect(taken.status).toBe(200);
});

test('challenges are for every site, and for lists that accept sign-ups', async () => {
  const list = await listWith('always');
  const address = (uid: string) => `${app.baseUrl}/api/v1/public/lists/${uid}/captcha`;
  const answer = await fetch(address(list), { headers: { Origin: 'https://shop.example' } });
  expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  expect((await fetch(address((await newList()).uid))).status).toBe(404);
});
