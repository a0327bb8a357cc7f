/** A subscriber's life over GraphQL: what the REST rows do, asked for directly, and by those who may not. */
import { expect, test } from 'vitest';
import { startGraphqlApp } from '../support/graphql-app.ts';

const app = await startGraphqlApp();
const owner = await app.newCustomer();
const other = await app.newCustomer();
const reader = await app.newCustomer(['lists:read', 'subscribers:read']);

const CONTACT =
  '{ company: "A", address1: "1", city: "B", state: "C", zip: "1", phone: "1", countryId: 1, email: "o@x.co" }';

async function newList(token: string): Promise<string> {
  const { data } = await app.run(
    `mutation { createList(input: { name: "L", fromEmail: "a@b.example", fromName: "A", defaultSubject: "S", publicSignup: true, contact: ${CONTACT} }) { ... on MailList { uid } ... on Error { message } } }`,
    {},
    token,
  );
  return (data['createList'] as { uid: string }).uid;
}

const CHANGE =
  'mutation ($input: ChangeListMailInput!) { result: changeListMail(input: $input) { __typename ... on ListMail { kind subject changedAt } ... on Error { code } ... on ValidationError { fields { field } } } }';

test('the mails of a list are its owner’s alone', async () => {
  const listUid = await newList(owner.token);
  const input = { listUid, kind: 'welcome', subject: 'Hi {FIRST_NAME}' };
  const mine = await app.run(CHANGE, { input }, owner.token);
  expect(mine.data['result']).toMatchObject({ __typename: 'ListMail', kind: 'welcome', subject: 'Hi {FIRST_NAME}' });
  expect((await app.run(CHANGE, { input }, other.token)).data['result']).toMatchObject({ code: 'LIST_NOT_FOUND' });
  expect((await app.run(CHANGE, { input }, reader.token)).data['result']).toMatchObject({ code: 'FORBIDDEN' });
  const wrong = await app.run(
    CHANGE,
    { input: { listUid, kind: 'confirmation', html: '<p>no link</p>' } },
    owner.token,
  );
  expect(wrong.data['result']).toMatchObject({ code: 'CONFIRM_URL_MISSING', fields: [{ field: 'html' }] });
  const mails = '{ lists(first: 10) { ... on MailListConnection { nodes { uid mails { kind subject } } } } }';
  const read = await app.run(mails, {}, owner.token);
  expect(JSON.stringify(read.data)).toContain('Hi {FIRST_NAME}');
  expect(JSON.stringify((await app.run(mails, {}, other.token)).data)).not.toContain('Hi {FIRST_NAME}');
  const reset =
    'mutation ($listUid: String!) { resetListMail(listUid: $listUid, kind: "welcome") { ... on ListMail { changedAt } } }';
  expect((await app.run(reset, { listUid }, owner.token)).data).toEqual({ resetListMail: { changedAt: null } });
});

test('signing up needs no token, and runs once a request', async () => {
  const listUid = await newList(owner.token);
  const field = (alias: string) =>
    `${alias}: signUp(input: { listUid: "${listUid}", email: "${alias}@person.example" }) { __typename ... on SignUp { message } ... on Error { code } }`;
  expect((await app.run(`mutation { ${field('a')} }`, {}, null)).data['a']).toMatchObject({ __typename: 'SignUp' });
  const twice = await app.run(`mutation { ${field('b')} ${field('c')} }`, {}, null);
  expect(JSON.stringify(twice)).not.toMatch(/"b".*SignUp.*"c".*SignUp/);
});

test('suppressing, exporting and erasing, by those who may', async () => {
  const suppress =
    'mutation ($everywhere: Boolean) { result: suppressAddresses(input: { emails: ["x@person.example"], everywhere: $everywhere }) { __typename ... on SuppressedAddresses { added } ... on Error { code } } }';
  expect((await app.run(suppress, {}, owner.token)).data['result']).toMatchObject({ added: 1 });
  expect((await app.run(suppress, {}, owner.token)).data['result']).toMatchObject({ added: 0 });
  expect((await app.run(suppress, { everywhere: true }, owner.token)).data['result']).toMatchObject({
    code: 'FORBIDDEN',
  });
  expect((await app.run(suppress, {}, reader.token)).data['result']).toMatchObject({ code: 'FORBIDDEN' });
  const page = '{ suppressionsPage { ... on SuppressionPage { total nodes { email } } } }';
  expect((await app.run(page, {}, other.token)).data).toEqual({ suppressionsPage: { total: 0, nodes: [] } });
  const data = '{ personalData(email: "x@person.example") { ... on PersonalDataPage { nodes { table } next } } }';
  expect((await app.run(data, {}, owner.token)).data).toEqual({
    personalData: { nodes: [{ table: 'suppression' }], next: null },
  });
  expect((await app.run(data, {}, other.token)).data).toEqual({ personalData: { nodes: [], next: null } });
  const erase =
    'mutation ($everywhere: Boolean) { result: erasePerson(email: "x@person.example", everywhere: $everywhere) { __typename ... on Erasure { uid people } ... on Error { code } } }';
  expect((await app.run(erase, {}, reader.token)).data['result']).toMatchObject({ code: 'FORBIDDEN' });
  expect((await app.run(erase, { everywhere: true }, owner.token)).data['result']).toMatchObject({ code: 'FORBIDDEN' });
  const { uid } = (await app.run(erase, {}, owner.token)).data['result'] as { uid: string };
  const seen = `{ erasure(uid: "${uid}") { __typename ... on Erasure { status } ... on Error { code } } }`;
  expect((await app.run(seen, {}, owner.token)).data).toMatchObject({ erasure: { status: 'running' } });
  expect((await app.run(seen, {}, other.token)).data).toMatchObject({ erasure: { code: 'ERASURE_NOT_FOUND' } });
  expect((await app.run(erase, { everywhere: true }, app.admin.token)).data['result']).toMatchObject({
    __typename: 'Erasure',
  });
});
