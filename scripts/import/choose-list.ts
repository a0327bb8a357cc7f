/** The list for a file: the named one, the only one, or a new one. */
import { open } from 'node:fs/promises';
import { z } from 'zod';
import { detectEncoding } from '../../src/domain/audience/imports/file-encoding.ts';
import { PLAN_BYTES, planImport } from '../../src/domain/audience/imports/plan-import.ts';
import { ValidationError } from '../../src/lib/errors.ts';
import type { Client } from '../demo/client.ts';
import { DemoError } from '../demo/demo-error.ts';

export interface ChosenList {
  readonly uid: string;
  readonly name: string;
}

const LISTS = `query ImportLists { lists(first: 100) { ... on MailListConnection { nodes { uid name } } } }`;
const lists = z.object({ lists: z.object({ nodes: z.array(z.object({ uid: z.string(), name: z.string() })) }) });

/** Throws DemoError when it is not clear which list is meant. */
export async function findList(client: Client, wanted: string | undefined): Promise<ChosenList> {
  const { nodes } = (await client.run(LISTS, {}, lists)).lists;
  const named = nodes.filter(({ uid, name }) => wanted === undefined || uid === wanted || name === wanted);
  const [list, other] = named;
  if (list && !other) return list;
  const shown = nodes.map(({ uid, name }) => `  ${uid}  ${name}`).join('\n');
  if (nodes.length === 0) throw new DemoError('There is no list yet. Make one with: --new "My list"');
  throw new DemoError(`${list ? 'Which list' : 'There is no such list'}? Say --list <uid>, or --new <name>:\n${shown}`);
}

const ME = `query ImportMe { me { ... on User { email firstName lastName customer { name } } } countries { ... on CountriesSuccess { nodes { id } } } }`;
const me = z.object({
  me: z.object({
    email: z.string(),
    firstName: z.string(),
    lastName: z.string(),
    customer: z.object({ name: z.string() }).nullable(),
  }),
  countries: z.object({ nodes: z.array(z.object({ id: z.number() })) }),
});

const CREATE = `mutation ImportCreateList($input: CreateListInput!) {
  createList(input: $input) {
    __typename
    ... on MailList { uid name }
    ... on Error { message }
    ... on ValidationError { fields { field messages } }
  }
}`;
const created = z.object({ createList: z.object({ uid: z.string(), name: z.string() }) });

const ADD_FIELD = `mutation ImportAddField($input: AddListFieldInput!) {
  addListField(input: $input) { __typename ... on ListField { tag } ... on Error { message } }
}`;
const added = z.object({ addListField: z.object({ tag: z.string() }) });

/** Every list has these. */
const OWN_FIELDS = [
  { tag: 'FIRST_NAME', label: 'First name' },
  { tag: 'LAST_NAME', label: 'Last name' },
];
const TAG_MAX = 64;

/** Makes a list with a text field for every column that would be ignored otherwise. Sender and contact can be changed later. */
export async function makeList(client: Client, name: string, file: string): Promise<ChosenList> {
  const labels = await columnsWithoutField(file);
  const { me: user, countries } = await client.run(ME, {}, me);
  const fromName = user.customer?.name ?? (`${user.firstName} ${user.lastName}`.trim() || user.email);
  const contact = { company: fromName, countryId: countries.nodes[0]?.id ?? 1, email: user.email };
  const input = { name, fromEmail: user.email, fromName, defaultSubject: name, contact, briefContact: true };
  const { createList: list } = await client.run(CREATE, { input }, created);
  for (const label of labels) {
    const tag = tagOf(label);
    const field = { listUid: list.uid, type: 'text', label, tag };
    await client
      .run(ADD_FIELD, { input: field }, added)
      .catch(() => console.log(`  The column “${label}” can become no field.`));
  }
  return list;
}

async function columnsWithoutField(file: string): Promise<string[]> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(PLAN_BYTES), 0, PLAN_BYTES);
    const first = buffer.subarray(0, bytesRead);
    const text = new TextDecoder(detectEncoding({ first, beyondAscii: first })).decode(first);
    const plan = planImport({
      start: Buffer.from(text),
      isWhole: bytesRead < PLAN_BYTES,
      fields: OWN_FIELDS,
      mapping: {},
    });
    return plan.columns.flatMap(({ header, target }) => (target === null && header !== '' ? [header] : []));
  } catch (error) {
    if (error instanceof ValidationError) throw new DemoError(Object.values(error.fields).flat().join('\n'));
    throw error;
  } finally {
    await handle.close();
  }
}

/** `Shoe size (EU)` becomes SHOE_SIZE_EU; a header in another script becomes a numbered tag. */
function tagOf(label: string): string {
  const letters = label.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase();
  const tag = letters.replace(/[^A-Z0-9]+/g, '_').replace(/^_+|_+$/g, '');
  return (
    tag === ''
      ? `FIELD_${[...label].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9_973, 7)}`
      : tag
  ).slice(0, TAG_MAX);
}
