/**
 * Asks plugins for whom their conditions of a rule hold, and stores the answers. A plugin is asked outside of transactions, with a time
 * limit, and what it answers never becomes part of a statement. Without a complete answer of every condition there is none at all.
 */
import { createConcurrencyLimit, type ConcurrencyLimit } from '../../../lib/concurrency-limit.ts';
import { assert, messageOf } from '../../../lib/errors.ts';
import { isUid, subscriberIdOf } from '../../../lib/ids.ts';
import type { ConditionPage, SegmentCondition } from '../../../plugin-api/index.ts';
import { customerUidsOf } from '../../accounts/customer-store.ts';
import type { Context } from '../../context.ts';
import type { OwnedEntry } from '../../product-hooks.ts';
import { uidOfList } from '../list-store.ts';
import {
  addToAnswer,
  completeAnswer,
  deleteAnswer,
  freshAnswer,
  holdAnswers,
  insertAnswer,
  type AnswerKey,
} from './answer-store.ts';
import { offeredCondition, questionsOf, valueFaults } from './plugin-condition.ts';
import { tooManyCounts, UnavailableConditionError, type UnavailableCause } from './segment-errors.ts';
import type { AnswersByQuestion, PluginCondition, RuleScope, SegmentRule } from './segment.ts';

const HOOK = 'segment_condition';
/** A page is in memory as a whole. */
const PAGE_UIDS_MAX = 10_000;
/** Ten million people. A plugin whose pages never end is stopped here. */
const PAGES_MAX = 1_000;
const NEXT_LENGTH_MAX = 1_000;
const SECONDS_DEFAULT = 20;
/** Somebody waits for it, and a count follows. */
const REQUEST_SECONDS_MAX = 20;
/** A page of people, its total and the next page need one answer, not three. */
const FRESH_SECONDS = 60;

export interface RuleToAnswer {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly rule: SegmentRule;
}

/** A campaign gets answers of its own. */
export interface AskingCampaign {
  readonly campaignId: bigint;
  readonly asOf: Date;
  /** Fires when the process must stop. */
  readonly signal: AbortSignal;
}

/** Requests of one customer must not keep all plugins busy. */
const asking = createConcurrencyLimit({
  ...{ runningMax: 8, runningPerKeyMax: 4, waitingPerKeyMax: 20 },
  waitMsMax: REQUEST_SECONDS_MAX * 1_000,
  refuse: tooManyCounts,
});

/** As many as for requests: flows of all customers ask, and what a plugin answers is in memory. */
const FLOWS_PER_CONDITION_MAX = 8;

/** Flows that ask one condition delay no flow that asks another one. */
const askingForFlows = createConcurrencyLimit({
  ...{ runningMax: Infinity, runningPerKeyMax: FLOWS_PER_CONDITION_MAX, waitingPerKeyMax: 0 },
  refuse: tooManyCounts,
});

const NO_ANSWERS: AnswersByQuestion = new Map();

/**
 * The answers to all questions of the rule. Those to a request are used for a minute. Throws UnavailableConditionError, and for a request
 * `TOO_MANY_COUNTS`.
 */
export async function answersTo(
  ctx: Context,
  { rule, customerId, listId }: RuleToAnswer,
  campaign?: AskingCampaign,
): Promise<AnswersByQuestion> {
  const questions = await placedQuestions(ctx, { rule, customerId, listId }, campaign);
  const answers = questions.map(async (question) => [question.key, await answerTo(ctx, question)] as const);
  return questions.length > 0 ? new Map(await Promise.all(answers)) : NO_ANSWERS;
}

/**
 * The answers of the last minute; undefined: there is none to some question, and `askForFlow` asks. Throws UnavailableConditionError when the
 * plugin is not there.
 */
export async function freshAnswers(ctx: Context, asked: RuleToAnswer): Promise<AnswersByQuestion | undefined> {
  const found = new Map<string, bigint>();
  for (const question of await placedQuestions(ctx, asked)) {
    requireEntry(ctx, question);
    const fresh = await freshAnswer(ctx.db, question, { question: question.key, secondsMax: FRESH_SECONDS });
    if (fresh === undefined) return undefined;
    found.set(question.key, fresh);
  }
  return found;
}

/**
 * Asks what has no answer of the last minute. Throws UnavailableConditionError, and `TOO_MANY_COUNTS` at once when a condition is being asked
 * for other flows.
 */
export async function askForFlow(ctx: Context, asked: RuleToAnswer): Promise<void> {
  const questions = await placedQuestions(ctx, asked);
  const limit = askingForFlows;
  await Promise.all(
    questions.map((question) => {
      const { plugin, name } = question.condition;
      return askOnce(ctx, question, { limit, place: `${plugin} ${name}` });
    }),
  );
}

/** With what plugins get to know about the list. */
async function placedQuestions(
  ctx: Context,
  { rule, customerId, listId }: RuleToAnswer,
  campaign?: AskingCampaign,
): Promise<readonly Question[]> {
  const questions = [...questionsOf(rule)];
  if (questions.length === 0) return [];
  assert(!ctx.tx, 'plugins are asked outside of transactions');
  const [customer] = await customerUidsOf(ctx.db, [customerId]);
  const listUid = (await uidOfList(ctx.db, { customerId, id: listId })) ?? '';
  const about = { customerId, listId, customerUid: customer?.uid ?? '', listUid, campaign };
  return questions.map(([key, condition]) => ({ ...about, key, condition }));
}

/** For whoever reads with answers: each question of the rule has a complete one, which stays until the transaction ends. */
export async function requireAnswers(
  db: Context['db'],
  rule: SegmentRule,
  scope: Omit<RuleScope, 'asOf'>,
): Promise<void> {
  const questions = [...questionsOf(rule)];
  const [first] = questions;
  if (!first) return;
  const ids = questions.flatMap(([key]) => scope.answers?.get(key) ?? []);
  if (ids.length === questions.length && (await holdAnswers(db, scope, ids))) return;
  throw new UnavailableConditionError({ plugin: first[1].plugin, condition: first[1].name, cause: 'lost' });
}

interface Question {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly customerUid: string;
  readonly listUid: string;
  readonly key: string;
  readonly condition: PluginCondition;
  readonly campaign: AskingCampaign | undefined;
}

/** Questions that are being asked for requests in this process: who asks the same gets the same answer. */
const underWay = new Map<string, Promise<bigint>>();

async function answerTo(ctx: Context, question: Question): Promise<bigint> {
  if (question.campaign) return ask(ctx, question);
  requireEntry(ctx, question);
  return askOnce(ctx, question, { limit: asking, place: String(question.customerId) });
}

/** An answer of the last minute, or one that is under way by the same limit, or else a new one. */
async function askOnce(
  ctx: Context,
  question: Question,
  { limit, place }: { readonly limit: ConcurrencyLimit; readonly place: string },
): Promise<bigint> {
  const { customerId, listId, key } = question;
  const fresh = await freshAnswer(ctx.db, { customerId, listId }, { question: key, secondsMax: FRESH_SECONDS });
  if (fresh !== undefined) return fresh;
  const name = `${limit === asking ? 'request' : 'flow'} ${customerId} ${listId} ${key}`;
  const same = underWay.get(name);
  if (same) return same;
  const answer = limit.run(() => ask(ctx, question), place).finally(() => void underWay.delete(name));
  underWay.set(name, answer);
  return answer;
}

/** Throws UnavailableConditionError when no plugin can be asked now. */
function requireEntry(ctx: Context, { customerUid, condition }: Question): Entry {
  const entry = offeredCondition(ctx.hooks, customerUid, condition);
  if (!entry) throw unavailable(condition, 'inactive');
  if (Object.keys(valueFaults(entry.value.parameters, condition.values)).length > 0)
    throw unavailable(condition, 'values');
  return entry;
}

type Entry = OwnedEntry<SegmentCondition>;

async function ask(ctx: Context, question: Question): Promise<bigint> {
  const entry = requireEntry(ctx, question);
  const { customerId, listId, key, campaign } = question;
  const list = { customerId, listId };
  const campaignId = campaign?.campaignId ?? null;
  const answer = { ...list, id: await insertAnswer(ctx.db, list, { question: key, campaignId }) };
  try {
    await readPages(ctx, { ...question, answer }, entry);
    if (!(await completeAnswer(ctx.db, answer))) throw unavailable(question.condition, 'lost');
    return answer.id;
  } catch (error) {
    // An answer that is not complete is never used, and is deleted within the hour if this fails.
    await deleteAnswer(ctx.db, answer).catch((fault: unknown) =>
      ctx.log.warn('segments.answer_left', { message: messageOf(fault) }),
    );
    throw error;
  }
}

async function readPages(
  ctx: Context,
  question: Question & { readonly answer: AnswerKey },
  entry: Entry,
): Promise<void> {
  const { customerUid, listUid, condition, campaign, answer } = question;
  const { plugin, value } = entry;
  const seconds = Math.min(value.secondsMax ?? SECONDS_DEFAULT, campaign ? Infinity : REQUEST_SECONDS_MAX);
  const deadline = performance.now() + seconds * 1_000;
  const over = new AbortController();
  const signal = campaign ? AbortSignal.any([over.signal, campaign.signal]) : over.signal;
  const asOf = campaign?.asOf ?? ctx.clock.now();
  let after: string | null = null;
  let cause: UnavailableCause = 'failed';
  try {
    for (let no = 1; ; no++) {
      const asked = { customerUid, listUid, values: { ...condition.values }, asOf: new Date(asOf), after, signal };
      const next = await ctx.hooks.contained
        .run(
          { plugin, hook: HOOK },
          async () => {
            const page = readPage(await value.find(asked));
            if (page.next === null || no < PAGES_MAX) return page;
            cause = 'too_large';
            throw new TypeError(`The answer has more than ${PAGES_MAX} pages.`);
          },
          { timeoutMs: Math.max(1, deadline - performance.now()) },
        )
        // It is logged and counted already.
        .catch((error: unknown) => {
          throw unavailable(condition, isLate(error) ? 'late' : cause);
        });
      await addToAnswer(ctx.db, answer, next.ids);
      if (next.next === null) return;
      after = next.next;
    }
  } finally {
    over.abort();
  }
}

interface ReadPage {
  readonly ids: readonly bigint[];
  readonly next: string | null;
}

/** Throws TypeError when it is no page. A text that is no uid of a subscriber is nobody. */
function readPage(returned: ConditionPage): ReadPage {
  const page: unknown = returned;
  const uids: unknown = typeof page === 'object' && page !== null && 'uids' in page ? page.uids : undefined;
  const next: unknown = typeof page === 'object' && page !== null && 'next' in page ? page.next : undefined;
  if (!Array.isArray(uids) || uids.length > PAGE_UIDS_MAX)
    throw new TypeError(`"uids" of a page must be a list of at most ${PAGE_UIDS_MAX} texts.`);
  if (next !== null && (typeof next !== 'string' || next.length > NEXT_LENGTH_MAX))
    throw new TypeError(`"next" of a page must be null, or a text of at most ${NEXT_LENGTH_MAX} characters.`);
  const ids = uids.map((uid: unknown) => {
    if (typeof uid !== 'string') throw new TypeError('"uids" of a page must be texts.');
    return isUid(uid) ? [subscriberIdOf(uid)] : [];
  });
  return { ids: ids.flat(), next };
}

function unavailable({ plugin, name }: PluginCondition, cause: UnavailableCause): UnavailableConditionError {
  return new UnavailableConditionError({ plugin, condition: name, cause });
}

function isLate(error: unknown): boolean {
  return error instanceof Error && 'isLate' in error && error.isLate === true;
}
