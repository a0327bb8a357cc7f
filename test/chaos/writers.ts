/**
 * Writers of people on one list over HTTP, all at the same time and after the same few addresses: additions, other
 * addresses, consent given and withdrawn, tags, deletions, erasures, suppressions, and imports that update.
 */
import pg from 'pg';
import { uploadImport, untilImported } from '../../bench/support/rest-import.ts';
import { BENCH_TOKEN, type Product } from '../../bench/support/product.ts';
import type { Random } from './random.ts';

export interface Writing {
  readonly product: Product;
  readonly listUid: string;
  /** How many addresses all of them are after. */
  readonly people: number;
  readonly random: Random;
  readonly isOver: () => boolean;
}

/** How often each kind of request was answered with each status; `imports` that ended. */
export type Answers = Map<string, number>;

const STATUSES = ['subscribed', 'unsubscribed', 'unconfirmed'] as const;
/** Of an import that is not ended by others it is the only thing that can go wrong here. */
const IMPORT_FAULT = 'import 500';

/** Runs all writers until `isOver`, and answers what they were told. */
export async function playWriters(writing: Writing): Promise<Answers> {
  const answers: Answers = new Map();
  const writers = [changeAddress, changeAddress, changeConsent, changeTags, replace, erase, suppress];
  await Promise.all([
    ...writers.map(async (write) => {
      while (!writing.isOver()) await write(writing, answers);
    }),
    importAgain(writing, answers),
  ]);
  return answers;
}

/** How many answers said that something went wrong on the server's side. */
export function faultsIn(answers: Answers): [string, number][] {
  return [...answers].filter(([name]) => / 5\d\d$/.test(name));
}

/** Counters of the list beside what its rows say; one element each. */
export async function countersAndRows(databaseUrl: string): Promise<readonly unknown[]> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    const { rows } = await client.query(`
      SELECT c.list_id, c.subscribed, c.unsubscribed, c.unconfirmed, c.pending,
             (SELECT coalesce(sum(members), 0)::int FROM hot.subscriber_block b WHERE b.list_id = c.list_id) AS members
        FROM hot.list_counter c ORDER BY 1`);
    const { rows: counted } = await client.query(`
      SELECT c.list_id, count(*) FILTER (WHERE status = 'subscribed')::int AS subscribed,
             count(*) FILTER (WHERE status = 'unsubscribed')::int AS unsubscribed,
             count(*) FILTER (WHERE status = 'unconfirmed')::int AS unconfirmed,
             count(*) FILTER (WHERE status = 'pending')::int AS pending, count(s.id)::int AS members
        FROM hot.list_counter c LEFT JOIN subscriber s ON s.list_id = c.list_id GROUP BY 1 ORDER BY 1`);
    return [rows, counted];
  } finally {
    await client.end();
  }
}

type Write = (writing: Writing, answers: Answers) => Promise<void>;

const anyone = ({ random, people }: Writing): string => `p${random.below(people)}@example.test`;
/** Every third is nobody's in the imports, and seldom taken. */
const newAddress = ({ random, people }: Writing): string => `p${random.below(people + people / 2)}@example.test`;

const changeAddress: Write = async (writing, answers) => {
  const uid = await uidOf(writing, anyone(writing), answers);
  if (uid)
    await send(writing, answers, {
      name: 'address',
      method: 'PATCH',
      path: `/subscribers/${uid}`,
      body: { EMAIL: newAddress(writing) },
    });
};

const changeConsent: Write = async (writing, answers) => {
  const uid = await uidOf(writing, anyone(writing), answers);
  const act = writing.random.pick(['subscribe', 'unsubscribe']);
  if (uid) await send(writing, answers, { name: act, method: 'PATCH', path: `/subscribers/${uid}/${act}`, body: {} });
};

const changeTags: Write = async (writing, answers) => {
  const uid = await uidOf(writing, anyone(writing), answers);
  const tag = `t${writing.random.below(20)}`;
  if (uid)
    await send(writing, answers, { name: 'tag', method: 'POST', path: `/subscribers/${uid}/add-tag`, body: { tag } });
};

/** Deletes somebody and adds somebody. */
const replace: Write = async (writing, answers) => {
  const uid = await uidOf(writing, anyone(writing), answers);
  if (uid) await send(writing, answers, { name: 'delete', method: 'DELETE', path: `/subscribers/${uid}` });
  const body = { list_uid: writing.listUid, EMAIL: anyone(writing), tag: 'added' };
  await send(writing, answers, { name: 'add', method: 'POST', path: '/subscribers', body });
};

/** Of addresses of their own, since they never come back; in between, the others'. */
const erase: Write = async (writing, answers) => {
  const email = `gone-${crypto.randomUUID()}@example.test`;
  const body = { list_uid: writing.listUid, EMAIL: email };
  await send(writing, answers, { name: 'add', method: 'POST', path: '/subscribers', body });
  await send(writing, answers, { name: 'erase', method: 'POST', path: '/subscribers/erase', body: { email } });
};

const suppress: Write = async (writing, answers) => {
  const email = anyone(writing);
  await send(writing, answers, { name: 'suppress', method: 'POST', path: '/suppressions', body: { email } });
  await send(writing, answers, { name: 'unsuppress', method: 'DELETE', path: `/suppressions/${email}` });
};

/** One import after the other: every address with another status and a tag, in another order each time. */
async function importAgain(writing: Writing, answers: Answers): Promise<void> {
  const { product, listUid, people, random } = writing;
  while (!writing.isOver()) {
    const order = Array.from({ length: people }, (_, n) => ({ n, at: random.below(people) })).sort(
      (a, b) => a.at - b.at,
    );
    const lines = order.map(({ n }) => `p${n}@example.test,${random.pick(STATUSES)},t${random.below(20)}\n`);
    const uid = await uploadImport(product, { listUid, file: ['email,status,tags\n', ...lines] });
    const name = await untilImported(product, listUid, uid).then(
      () => 'import 200',
      () => IMPORT_FAULT,
    );
    count(answers, name);
  }
}

async function uidOf(writing: Writing, email: string, answers: Answers): Promise<string | undefined> {
  const answer = await send(writing, answers, { name: 'find', method: 'GET', path: `/subscribers/email/${email}` });
  return /"(?:uid|id)":\s*"([0-9a-f]{13})"/.exec(answer)?.[1];
}

interface Sent {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

async function send({ product }: Writing, answers: Answers, { name, method, path, body }: Sent): Promise<string> {
  const answer = await fetch(`${product.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${BENCH_TOKEN}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  count(answers, `${name} ${answer.status}`);
  return answer.text();
}

function count(answers: Answers, name: string): void {
  answers.set(name, (answers.get(name) ?? 0) + 1);
}
