/**
 * Reads the people of a rule: how many, a page by key, a numbered page, and (for campaigns) the next thousands. A page by key
 * reads the list in ranges that grow, so that its cost depends only on the rows between its own. All this runs with a time limit,
 * few at a time per customer, and with planner settings for joins: rules may be large, and other customers must not wait for
 * them.
 */
import { empty, sql, type Queryable, type Sql } from '../../../db/database.ts';
import { createConcurrencyLimit } from '../../../lib/concurrency-limit.ts';
import type { Context } from '../../context.ts';
import { SUBSCRIBER_COLUMNS, SUBSCRIBER_ROW, withId } from '../subscriber-store.ts';
import type { Subscriber } from '../subscriber.ts';
import { answersTo, requireAnswers } from './ask-plugins.ts';
import { countOf, peopleOf, wordsOf } from './rule-read-model.ts';
import { segmentTooSlow, tooManyCounts } from './segment-errors.ts';
import type { AnswersByQuestion, SegmentRule } from './segment.ts';

/** A rule and its list. */
export interface RuleOfList {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly rule: SegmentRule;
}

export interface SegmentSize {
  readonly count: number;
  readonly asOf: Date;
}

/** How many people the rule has now: one statement. Throws `SEGMENT_TOO_SLOW`, `TOO_MANY_COUNTS`. */
export async function countPeople(ctx: Context, { rule, ...list }: RuleOfList): Promise<SegmentSize> {
  return readPeople(ctx, { rule, ...list }, async ({ db, asOf, answers }) => {
    const [row] = await db.query({ count: 'int' }, countOf(rule, { ...list, asOf, answers }));
    return { count: row?.count ?? 0, asOf };
  });
}

export interface PeopleWindow {
  readonly limit: number;
  /** Ids; the page is between them. */
  readonly after?: bigint | undefined;
  readonly before?: bigint | undefined;
  /** Take the last ones, in reverse order. */
  readonly backward?: boolean | undefined;
}

/** A page by key, in the order of ids. Throws `SEGMENT_TOO_SLOW`, `TOO_MANY_COUNTS`. */
export async function peopleByKey(
  ctx: Context,
  { rule, ...list }: RuleOfList,
  window: PeopleWindow,
): Promise<Subscriber[]> {
  return readPeople(ctx, { rule, ...list }, async ({ db, asOf, answers }) => {
    const deadline = performance.now() + READING_SECONDS_MAX * 1_000;
    const found: Subscriber[] = [];
    let { after = 0n, before = ID_MAX } = window;
    let rows = FIRST_STRETCH_ROWS;
    for (;;) {
      const stretch = await nextStretch(db, { ...list, after, before, rows, backward: window.backward });
      if (stretch.seen > 0) {
        const limit = window.limit - found.length;
        found.push(
          ...(await peopleIn(db, peopleOf(rule, { ...list, asOf, answers, ids: stretch }), {
            limit,
            backward: window.backward,
          })),
        );
      }
      if (found.length >= window.limit || stretch.seen < rows) return found;
      if (performance.now() > deadline) throw segmentTooSlow(READING_SECONDS_MAX);
      if (window.backward) before = stretch.from;
      else after = stretch.to;
      rows = Math.min(rows * STRETCH_GROWTH, STRETCH_ROWS_MAX);
    }
  });
}

/** A numbered page with the total. The rule is evaluated once for everybody: the result is kept as words of 64 bits. */
export async function peoplePage(
  ctx: Context,
  { rule, ...list }: RuleOfList,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ readonly nodes: readonly Subscriber[]; readonly total: number }> {
  return readPeople(ctx, { rule, ...list }, async ({ db, asOf, answers }) => {
    const [row] = await db.query(
      { total: 'int', ids: 'bigint[]' },
      sql`
      WITH word AS MATERIALIZED (
        ${wordsOf(rule, { ...list, asOf, answers })}
      ), placed AS (
        SELECT no, bits, people, sum(people) OVER (ORDER BY no) - people AS passed FROM word
      ), page AS (
        SELECT no, bits, passed FROM placed WHERE passed < ${offset + limit}::bigint AND passed + people > ${offset}::bigint
      )
      SELECT (SELECT coalesce(sum(people), 0)::integer FROM word) AS total,
             ARRAY(SELECT (no << 6) + place FROM page CROSS JOIN generate_series(0, 63) AS place
                    WHERE bits >> (63 - place) & 1 = 1 ORDER BY 1
                   OFFSET ${offset}::bigint - (SELECT min(passed) FROM page) LIMIT ${limit}) AS ids`,
    );
    const { total, ids } = row ?? { total: 0, ids: [] };
    if (ids.length === 0) return { nodes: [], total };
    const named = sql`FROM subscriber s WHERE s.customer_id = ${list.customerId} AND s.list_id = ${list.listId} AND s.id = ANY (${ids}::bigint[])`;
    return { nodes: await peopleIn(db, named, { limit }), total };
  });
}

export interface AudienceSlice {
  /** The last id that was checked, or null when there was none. */
  readonly lastId: bigint | null;
  /** No people are left after it. */
  readonly isLast: boolean;
  /** Those of them who belong to the rule, with any status. */
  readonly ids: readonly bigint[];
}

export interface AudienceQuestion extends RuleOfList {
  readonly asOf: Date;
  /** Of conditions of plugins; all slices of an audience use the same. */
  readonly answers: AnswersByQuestion;
  /** Absent: all campaigns count. */
  readonly exceptCampaignId?: bigint;
  readonly afterId: bigint;
  /** The most people to return. */
  readonly rows: number;
  /** Check at most `rows` people. */
  readonly isOneStretch?: boolean;
}

/** How long a slice searches: its transaction holds the campaign's lock. */
const SLICE_SECONDS_MAX = 0.25;

/**
 * The next people of the rule: so many, or those among so many checked, and of further ranges while there is time. Each person is
 * checked once. Runs in the transaction that writes the audience. Throws UnavailableConditionError
 * when a condition of a plugin has no complete answer.
 */
export async function audienceSlice(db: Queryable, question: AudienceQuestion): Promise<AudienceSlice> {
  const { rule, afterId, rows: wanted, isOneStretch = false, ...scope } = question;
  const deadline = performance.now() + SLICE_SECONDS_MAX * 1_000;
  const ids: bigint[] = [];
  let [after, rows, looked] = [afterId, wanted, 0];
  await requireAnswers(db, rule, scope);
  await joinByPasses(db);
  for (;;) {
    const stretch = await nextStretch(db, { ...scope, after, before: ID_MAX, rows });
    const limit = wanted - ids.length;
    const people =
      stretch.seen === 0
        ? []
        : await db.query(
            { id: 'bigint' },
            sql`SELECT s.id ${peopleOf(rule, { ...scope, ids: stretch })} ORDER BY s.id LIMIT ${limit}`,
          );
    ids.push(...people.map(({ id }) => id));
    const isFull = ids.length === wanted;
    // People after the last returned one are checked again by the next slice.
    if (stretch.seen > 0) after = (isFull ? ids.at(-1) : undefined) ?? stretch.to;
    const isLast = stretch.seen < rows && (!isFull || after === stretch.to);
    if (isFull || isLast || isOneStretch || performance.now() > deadline) {
      await joinAsUsual(db);
      return { lastId: after === afterId ? null : after, isLast, ids };
    }
    looked += stretch.seen;
    // As many as will be enough, by the share so far: people checked beyond that are checked again by the next slice.
    const enough = Math.ceil(((wanted - ids.length) * looked) / Math.max(1, ids.length));
    rows = Math.min(rows * STRETCH_GROWTH, STRETCH_ROWS_MAX, Math.max(enough, FIRST_STRETCH_ROWS));
  }
}

/** Beyond all ids (they are below 2^52). */
const ID_MAX = 2n ** 62n;
const FIRST_STRETCH_ROWS = 1_000;
const STRETCH_GROWTH = 4;
const STRETCH_ROWS_MAX = 256_000;

interface Stretch {
  /** People in it. */
  readonly seen: number;
  readonly from: bigint;
  readonly to: bigint;
}

interface StretchInput {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly after: bigint;
  readonly before: bigint;
  readonly rows: number;
  readonly backward?: boolean | undefined;
}

/** The next so many people between two ids, as a range of ids. */
async function nextStretch(db: Queryable, input: StretchInput): Promise<Stretch> {
  const [row] = await db.query(
    { seen: 'int', from: 'bigint?', to: 'bigint?' },
    sql`
    SELECT count(*)::int AS seen, min(id) AS "from", max(id) AS "to"
      FROM (SELECT id FROM subscriber
             WHERE customer_id = ${input.customerId} AND list_id = ${input.listId} AND id > ${input.after} AND id < ${input.before}
             ORDER BY id ${input.backward ? sql`DESC` : empty} LIMIT ${input.rows}) stretch`,
  );
  return { seen: row?.seen ?? 0, from: row?.from ?? 0n, to: row?.to ?? 0n };
}

interface RowsWanted {
  readonly offset?: number;
  readonly limit: number;
  readonly backward?: boolean | undefined;
}

function peopleIn(db: Queryable, people: Sql, { offset = 0, limit, backward }: RowsWanted): Promise<Subscriber[]> {
  return db.query(
    SUBSCRIBER_ROW,
    sql`SELECT ${SUBSCRIBER_COLUMNS} ${people} ORDER BY s.id ${backward ? sql`DESC` : empty} OFFSET ${offset} LIMIT ${limit}`,
  );
}

/** Most rules over a million people take a second or some (decision record 0071); callers do not wait longer. */
export const READING_SECONDS_MAX = 20;
/** SQLSTATE query_canceled: the time limit. */
const QUERY_CANCELED = '57014';

const reading = createConcurrencyLimit({
  runningMax: 4,
  runningPerKeyMax: 2,
  waitingPerKeyMax: 20,
  refuse: tooManyCounts,
});

/** A set of a million people is grouped in memory; a campaign's slice needs a hundredth of it. */
const SET_MEMORY_KB = 32_768;
/** For all sets of one statement: a rule with a hundred sets must not take the memory of the machine. */
const STATEMENT_MEMORY_KB = 524_288;

/** The memory of each of so many sets (`work_mem`). */
function setMemoryKb(sets: number): number {
  return Math.min(SET_MEMORY_KB, Math.floor(STATEMENT_MEMORY_KB / Math.max(1, sets)));
}

interface Reading {
  readonly db: Queryable;
  /** The time from which days are counted: the database's now. */
  readonly asOf: Date;
  /** Of conditions of plugins. */
  readonly answers: AnswersByQuestion;
}

/**
 * Asks the plugins of the rule, then runs `read` in its own transaction. Throws ValidationError `SEGMENT_TOO_SLOW` or
 * `SEGMENT_CONDITION_UNAVAILABLE`, RateLimitedError `TOO_MANY_COUNTS`.
 */
export async function readPeople<T>(
  ctx: Context,
  asked: RuleOfList,
  read: (reading: Reading) => Promise<T>,
): Promise<T> {
  const answers = await answersTo(ctx, asked);
  return reading.run(() => readWithLimits(ctx, { ...asked, answers }, read), String(asked.customerId));
}

async function readWithLimits<T>(
  ctx: Context,
  asked: RuleOfList & Pick<Reading, 'answers'>,
  read: (reading: Reading) => Promise<T>,
): Promise<T> {
  try {
    return await ctx.database.transaction(async (db) => {
      const [row] = await db.query(
        { asOf: 'timestamptz', set_config: 'text' },
        sql`SELECT set_config('statement_timeout', ${String(READING_SECONDS_MAX * 1_000)}, true), now() AS "asOf"`,
      );
      await requireAnswers(db, asked.rule, asked);
      await joinByPasses(db, conditionsOf(asked.rule));
      return read({ db, asOf: row?.asOf ?? ctx.clock.now(), answers: asked.answers });
    });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === QUERY_CANCELED)
      throw segmentTooSlow(READING_SECONDS_MAX);
    throw error;
  }
}

/** Each condition is one set at most. */
function conditionsOf(rule: SegmentRule): number {
  const inner = 'all' in rule ? rule.all : 'any' in rule ? rule.any : 'none' in rule ? rule.none : undefined;
  return inner ? inner.reduce((sum, one) => sum + conditionsOf(one), 0) : 1;
}

/**
 * Until the transaction ends, sets are joined in one pass each. Statistics lag behind tables that grow so fast: a plan that
 * expects a tiny set would read all of it again for every person. Every set has the same people, so the order of joins does not
 * matter, and the search for a better one would take half a second for twenty of them; compiling such statements to machine code
 * costs more than it saves.
 */
async function joinByPasses(db: Queryable, sets = 1): Promise<void> {
  await db.execute(
    sql`SELECT set_config('enable_nestloop', 'off', true), set_config('join_collapse_limit', '1', true), set_config('jit', 'off', true),
               set_config('work_mem', ${`${setMemoryKb(sets)}kB`}, true),
               set_config('timezone', 'UTC', true)`,
  );
}

/** Ends the effect of `joinByPasses` in a transaction with further work. */
async function joinAsUsual(db: Queryable): Promise<void> {
  await db.execute(sql`SET LOCAL enable_nestloop TO DEFAULT`);
  await db.execute(sql`SET LOCAL join_collapse_limit TO DEFAULT`);
  await db.execute(sql`SET LOCAL work_mem TO DEFAULT`);
}

/** People who are spread so far are looked up one by one; else all of their range is read. */
const SPREAD_MIN = 16;

/** Which of these people a rule picks at `asOf`: for steps of flows, a thousand at once. `answers`: to its plugins' conditions. */
export async function peopleAmong(
  db: Queryable,
  { rule, ...list }: RuleOfList,
  { ids, asOf, answers }: { readonly ids: readonly bigint[]; readonly asOf: Date; readonly answers: AnswersByQuestion },
): Promise<ReadonlySet<bigint>> {
  const [first = 0n] = ids;
  const range = ids.reduce(({ from, to }, id) => ({ from: id < from ? id : from, to: id > to ? id : to }), {
    from: first,
    to: first,
  });
  const areFew = range.to - range.from > BigInt(ids.length * SPREAD_MIN);
  // Whichever index is taken, nobody else is read.
  const keys = sql`ARRAY(SELECT s.email_key FROM unnest(${[...ids]}::bigint[]) AS k (id)
                          CROSS JOIN LATERAL (SELECT s.email_key FROM subscriber s WHERE ${withId({ ...list, id: sql`k.id` })}) s)`;
  const rows = await db.query(
    { id: 'bigint' },
    sql`SELECT s.id ${peopleOf(rule, { ...list, asOf, answers, ids: range, among: areFew ? ids : undefined })}
           AND s.id = ANY (${[...ids]}::bigint[]) AND s.email_key = ANY (${keys})`,
  );
  return new Set(rows.map(({ id }) => id));
}
