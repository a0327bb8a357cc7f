/**
 * Reads subscribers page by page: by number (REST, decision D2) and by key (GraphQL connections). Totals come from counters. The
 * blocks of ids of a numbered page are found by counts per block (hot.subscriber_block, hot.list_activity_block), so that any
 * page of a long list costs as much as the first one. The order is by list and id, and never changes.
 */
import { sql, empty, preparedName, row, typed, type Queryable, type Sql, type RowOf } from '../../db/database.ts';
import type { Context } from '../context.ts';
import type { MailList } from './list-fields.ts';
import type { VerificationWord } from './segments/segment.ts';
import type { Subscriber } from './subscriber.ts';

/** The people: of one list or of all lists of the customer; by what they ever did with a campaign, and by what a verifier has said. */
export interface SubscriberFilter {
  readonly customerId: bigint;
  readonly list?: Pick<MailList, 'id'> | undefined;
  readonly opened?: boolean | undefined;
  readonly clicked?: boolean | undefined;
  /** One of these results; absent: any. */
  readonly verification?: readonly VerificationWord[] | undefined;
}

/** The filter inside a statement, where the list may also be a column. */
type Place = Omit<SubscriberFilter, 'list'> & { readonly list?: { readonly id: bigint | Sql } | undefined };

const PEOPLE_COUNT_ROW = row({
  everybody: 'int',
  openers: 'int',
  clickers: 'int',
});
/** How many people: all, those who ever opened, those who ever clicked. */
export type PeopleCount = RowOf<typeof PEOPLE_COUNT_ROW>;

export interface SubscriberWindow {
  readonly offset: number;
  readonly limit: number;
}

/** A row's position in the order. */
export interface SubscriberPosition {
  readonly listId: bigint;
  readonly id: bigint;
}

/** Ids per block are 2 to this power: the same number as in the triggers that count. */
const BLOCK_BITS = 11;
/** Up to this offset an index scan is faster than reading the counts per block. */
const NEAR_OFFSET = 500;

/** How many people the filter has, from counters: those given, or read here; with both filters from the blocks. */
export async function countSubscribers(ctx: Context, filter: SubscriberFilter, known?: PeopleCount): Promise<number> {
  const { opened, clicked } = filter;
  if (filter.verification) return countByKeys(ctx.db, filter);
  const { everybody, openers, clickers } = known ?? (await countPeople(ctx.db, filter));
  if (opened !== undefined && clicked !== undefined) return countInBlocks(ctx.db, filter);
  if (opened !== undefined) return opened ? openers : everybody - openers;
  if (clicked !== undefined) return clicked ? clickers : everybody - clickers;
  return everybody;
}

/** No counter knows results: their index is counted. */
async function countByKeys(db: Queryable, filter: SubscriberFilter): Promise<number> {
  const statement = sql`SELECT count(*)::int AS people FROM (${keysOf(filter, { direction: 'forward', limit: 0, offset: 0 })}) k`;
  const [row] = await db.query({ people: 'int' }, statement, preparedName('audience.count_verified', statement));
  return row?.people ?? 0;
}

async function countPeople(db: Queryable, filter: SubscriberFilter): Promise<PeopleCount> {
  const statement = sql`
    SELECT coalesce(sum(subscribed + unsubscribed + unconfirmed + pending), 0)::int AS everybody,
           coalesce(sum(openers), 0)::int AS openers, coalesce(sum(clickers), 0)::int AS clickers
      FROM hot.list_counter c WHERE c.customer_id = ${filter.customerId} ${onList(sql`c`, filter)}`;
  const [row] = await db.query(PEOPLE_COUNT_ROW, statement, preparedName('audience.count', statement));
  return row ?? { everybody: 0, openers: 0, clickers: 0 };
}

/** One numbered page; `total` comes from `countSubscribers`. */
export async function subscriberPage(
  ctx: Context,
  filter: SubscriberFilter,
  window: SubscriberWindow & { total: number },
): Promise<Subscriber[]> {
  const { offset, limit, total } = window;
  if (offset >= total) return [];
  if (isNearStart(filter, offset)) return rowsInOrder(ctx.db, filter, { direction: 'forward', limit, offset });
  const [{ listIds, blocks, passed } = NOWHERE] = await ctx.db.query(
    { passed: 'int?', listIds: 'bigint[]', blocks: 'bigint[]' },
    ...prepared('audience.page_place', placeOfPage(filter, window)),
  );
  if (passed === null) return [];
  const within = { listIds, blocks };
  return rowsInOrder(ctx.db, filter, { direction: 'forward', limit, offset: offset - passed, within });
}

/**
 * Whether the page is read by an index scan from the start. People who never opened or clicked may be few and far apart. By results there is no
 * other way.
 */
export function isNearStart(
  { opened, clicked, verification }: Omit<SubscriberFilter, 'customerId'>,
  offset: number,
): boolean {
  return verification !== undefined || (offset <= NEAR_OFFSET && opened !== false && clicked !== false);
}

/** The blocks of a page. */
interface Blocks {
  readonly listIds: readonly bigint[];
  readonly blocks: readonly bigint[];
}

interface PlaceOfPage extends Blocks, Record<string, unknown> {
  /** How many people the filter has before the first of the blocks; null when there is no block. */
  readonly passed: number | null;
}

const NOWHERE: PlaceOfPage = { listIds: [], blocks: [], passed: null };

function placeOfPage(filter: SubscriberFilter, { offset, limit }: SubscriberWindow): Sql {
  return sql`
    SELECT coalesce(array_agg(list_id ORDER BY list_id, block), '{}') AS "listIds",
           coalesce(array_agg(block ORDER BY list_id, block), '{}') AS blocks, min(passed)::int AS passed
      FROM (SELECT list_id, block, people, sum(people) OVER (ORDER BY list_id, block) - people AS passed
              FROM (${peopleInBlocks(filter)}) counted) running
     WHERE passed < ${offset + limit} AND passed + people > ${offset}`;
}

async function countInBlocks(db: Queryable, filter: SubscriberFilter): Promise<number> {
  const [row] = await db.query(
    { people: 'int' },
    sql`SELECT coalesce(sum(people), 0)::int AS people FROM (${peopleInBlocks(filter)}) counted`,
  );
  return row?.people ?? 0;
}

/** How many people the filter has in each block. */
function peopleInBlocks(filter: SubscriberFilter): Sql {
  return sql`SELECT b.list_id, b.block, ${peopleInBlock(filter)} AS people
      FROM hot.subscriber_block b
      LEFT JOIN hot.list_activity_block a ON a.customer_id = b.customer_id AND a.list_id = b.list_id AND a.block = b.block
     WHERE b.customer_id = ${filter.customerId} ${onList(sql`b`, filter)}`;
}

/** By the bits of people who ever opened or clicked; people without a row in the block did neither. */
function peopleInBlock({ opened, clicked }: SubscriberFilter): Sql {
  const both = (bits: Sql) => sql`coalesce(bit_count(${bits}), 0)`;
  if (opened === undefined && clicked === undefined) return sql`b.members::bigint`;
  if (opened !== true && clicked !== true) {
    const did =
      opened === undefined ? sql`a.clicked` : clicked === undefined ? sql`a.opened` : sql`a.opened | a.clicked`;
    return sql`b.members - ${both(did)}`;
  }
  if (clicked === undefined) return both(sql`a.opened`);
  if (opened === undefined) return both(sql`a.clicked`);
  return both(sql`${opened ? empty : sql`~`}a.opened & ${clicked ? empty : sql`~`}a.clicked`);
}

/** A statement put together from few parts, and the name under which it is prepared. */
function prepared(prefix: string, statement: Sql): [Sql, string | undefined] {
  return [statement, preparedName(prefix, statement)];
}

export interface KeyWindow {
  readonly limit: number;
  readonly after?: SubscriberPosition | undefined;
  readonly before?: SubscriberPosition | undefined;
  /** Take the last ones of the range, in reverse order. */
  readonly backward?: boolean | undefined;
}

/** A page by key: the rows after (and before) given positions. */
export function subscribersByKey(ctx: Context, filter: SubscriberFilter, window: KeyWindow): Promise<Subscriber[]> {
  const { limit, after, before, backward } = window;
  return rowsInOrder(ctx.db, filter, { direction: backward ? 'backward' : 'forward', limit, offset: 0, after, before });
}

/** The same page of each of several lists, in the order asked for. */
export async function subscribersOfListsByKey(
  ctx: Context,
  filter: Omit<SubscriberFilter, 'list'> & { readonly listIds: readonly bigint[] },
  { limit, after, before, backward }: KeyWindow,
): Promise<Subscriber[][]> {
  const { listIds, ...everywhere } = filter;
  const place = { ...everywhere, list: { id: sql`l.id` } };
  const reading: Reading = { direction: backward ? 'backward' : 'forward', limit, offset: 0, after, before };
  const statement = sql`SELECT l.id, ${peopleAsJson(place, reading)} AS people FROM unnest(${[...listIds]}::bigint[]) AS l (id)`;
  const rows = await ctx.db.query(
    { id: 'bigint', people: typed<PersonJson[]>('json') },
    statement,
    preparedName('audience.pages', statement),
  );
  const byList = new Map(rows.map(({ id, people }) => [id, people]));
  return listIds.map((id) => (byList.get(id) ?? []).map((person) => personOf(filter.customerId, person)));
}

export interface Reading {
  readonly direction: 'forward' | 'backward';
  readonly limit: number;
  readonly offset: number;
  readonly after?: SubscriberPosition | undefined;
  readonly before?: SubscriberPosition | undefined;
  /** Only people in these blocks. */
  readonly within?: Blocks | undefined;
}

/** Finds the page's keys by an index only, then its rows. */
async function rowsInOrder(db: Queryable, filter: SubscriberFilter, reading: Reading): Promise<Subscriber[]> {
  const statement = sql`SELECT ${peopleAsJson(filter, reading)} AS people`;
  const [row] = await db.query(
    { people: typed<PersonJson[]>('json') },
    statement,
    preparedName('audience.page', statement),
  );
  return (row?.people ?? []).map((person) => personOf(filter.customerId, person));
}

/** A page in the form in which it comes from the database: one JSON text is read in a third of the time of rows. */
export interface PersonJson extends Omit<
  Subscriber,
  'customerId' | 'listId' | 'id' | 'createdAt' | 'updatedAt' | 'pendingUntil'
> {
  readonly listId: string;
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly pendingUntil: number | null;
}

/** The page as an SQL expression: the people in order as JSON. The list may be given by a column. */
export function peopleAsJson(filter: Place, reading: Reading): Sql {
  const order = reading.direction === 'forward' ? sql`ASC` : sql`DESC`;
  return sql`(
    SELECT coalesce(json_agg(json_build_object(
             'listId', s.list_id::text, 'id', s.id::text, 'email', s.email, 'status', s.status, 'source', s.source,
             'ipAddress', s.ip_address, 'fields', s.fields, 'tags', s.tags,
             'createdAt', ${milliseconds(sql`s.created_at`)}, 'updatedAt', ${milliseconds(sql`s.updated_at`)},
             'pendingUntil', ${milliseconds(sql`s.pending_until`)}) ORDER BY s.list_id ${order}, s.id ${order}), '[]')
      FROM (${keysOf(filter, reading)} ORDER BY k.list_id ${order}, k.id ${order}
            OFFSET ${reading.offset} LIMIT ${reading.limit}) page
      JOIN subscriber s ON s.customer_id = ${filter.customerId} AND s.list_id = page.list_id AND s.id = page.id)`;
}

export function personOf(customerId: bigint, person: PersonJson): Subscriber {
  const { listId, id, createdAt, updatedAt, pendingUntil } = person;
  return {
    ...person,
    customerId,
    listId: BigInt(listId),
    id: BigInt(id),
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
    pendingUntil: pendingUntil === null ? null : new Date(pendingUntil),
  };
}

function milliseconds(column: Sql): Sql {
  return sql`(extract(epoch FROM ${column}) * 1000)::bigint`;
}

function keysOf(filter: Place, { after, before, within }: Reading): Sql {
  const drivenByActivity = filter.opened === true || filter.clicked === true;
  const source = drivenByActivity
    ? sql`(SELECT customer_id, list_id, subscriber_id AS id, opened_at, clicked_at FROM hot.subscriber_activity)`
    : sql`subscriber`;
  const from = after ? sql`AND ${comparison(filter, after, sql`>`)}` : empty;
  const to = before ? sql`AND ${comparison(filter, before, sql`<`)}` : empty;
  const did = sql`${drivenByActivity ? didInRow(filter) : didNot(filter)} ${verifiedAs(filter, drivenByActivity)}`;
  if (within)
    return sql`SELECT k.list_id, k.id FROM unnest(${[...within.listIds]}::bigint[], ${[...within.blocks]}::bigint[]) AS p (list_id, block)
      CROSS JOIN LATERAL (
        SELECT k.list_id, k.id FROM ${source} k
         WHERE k.customer_id = ${filter.customerId} AND k.list_id = p.list_id
           AND k.id BETWEEN p.block << ${BLOCK_BITS} AND (p.block << ${BLOCK_BITS}) + ${(1 << BLOCK_BITS) - 1} ${did}
        OFFSET 0) k`;
  return sql`SELECT k.list_id, k.id FROM ${source} k WHERE k.customer_id = ${filter.customerId} ${onList(sql`k`, filter)} ${from} ${to} ${did}`;
}

/** On one list by the id alone: besides `list_id = …` a row comparison would be scanned instead of searched. */
function comparison({ list }: Place, { listId, id }: SubscriberPosition, operator: Sql): Sql {
  return list ? sql`k.id ${operator} ${id}` : sql`(k.list_id, k.id) ${operator} (${listId}, ${id})`;
}

/** Conditions on the row of hot.subscriber_activity. */
function didInRow({ opened, clicked }: Place): Sql {
  const open = opened === undefined ? empty : opened ? sql`AND k.opened_at IS NOT NULL` : sql`AND k.opened_at IS NULL`;
  const click =
    clicked === undefined ? empty : clicked ? sql`AND k.clicked_at IS NOT NULL` : sql`AND k.clicked_at IS NULL`;
  return sql`${open} ${click}`;
}

/** People who did nothing have no row, or one without the time in question. */
function didNot({ opened, clicked }: Place): Sql {
  if (opened === undefined && clicked === undefined) return empty;
  const open = opened === undefined ? sql`false` : sql`a.opened_at IS NOT NULL`;
  const click = clicked === undefined ? sql`false` : sql`a.clicked_at IS NOT NULL`;
  return sql`AND NOT EXISTS (SELECT 1 FROM hot.subscriber_activity a
    WHERE a.customer_id = k.customer_id AND a.list_id = k.list_id AND a.subscriber_id = k.id AND (${open} OR ${click})
    -- Keeps it a look-up. As a join it may read everybody who ever did something on the list, for one block.
    OFFSET 0)`;
}

function verifiedAs({ verification }: Place, drivenByActivity: boolean): Sql {
  if (!verification) return empty;
  const words = verification.filter((word) => word !== 'unverified');
  const said = (row: Sql) => {
    const isWord =
      words.length === 1 ? sql`${row}.verification = ${words[0]}` : sql`${row}.verification = ANY (${words}::text[])`;
    if (words.length === verification.length) return isWord;
    return words.length === 0 ? sql`${row}.verification IS NULL` : sql`(${row}.verification IS NULL OR ${isWord})`;
  };
  if (!drivenByActivity) return sql`AND ${said(sql`k`)}`;
  return sql`AND EXISTS (SELECT 1 FROM subscriber v
    WHERE v.customer_id = k.customer_id AND v.list_id = k.list_id AND v.id = k.id AND ${said(sql`v`)} OFFSET 0)`;
}

function onList(alias: Sql, { list }: Place): Sql {
  return list ? sql`AND ${alias}.list_id = ${list.id}` : empty;
}
