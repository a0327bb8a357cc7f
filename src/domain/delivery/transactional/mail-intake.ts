/**
 * Accepts calls of one customer that come at the same time together: a transaction for each would take several times as much of the
 * database. Every call has its own answer, and a fault of one does not touch the others.
 */
import type { Database } from '../../../db/database.ts';
import { createConcurrencyLimit } from '../../../lib/concurrency-limit.ts';
import { messageOf } from '../../../lib/errors.ts';
import { createGroupCommit, type GroupCommit } from '../../../lib/group-commit.ts';
import { isUnavailable } from '../../../lib/is-unavailable.ts';
import { inTransaction, viewerOf, type Context } from '../../context.ts';
import { acceptMails, type Acceptance } from './accept-mails.ts';
import type { CheckedMail } from './check-mail.ts';
import { SharedMailReads } from './mail-reads.ts';
import { tooManyCalls } from './transactional-errors.ts';
import type { AcceptedMail } from './transactional.ts';

/** Of a customer, in this process: some seconds of work. Further calls are told to come again soon. */
const CALLS_OF_A_CUSTOMER_MAX = 1_000;
/** Of all customers. One has no more than places are free: however many customers have many calls, another one always finds a place. */
const CALLS_MAX = 2_000;
/** Calls with one recipient, without files and large texts: together they have some 30 MB at most. */
const TOGETHER_MAX = 100;
/** Of html and plain text, in characters. Whole mails have as much at most; 100 of the largest that are allowed would have 450 MB. */
const TEXTS_MAX = 262_144;
/** Under load a transaction has the calls of so long, and of the time in which the one before it was written. */
const REST_MS = 5;
/** Transactions at once, of all customers, so that other requests find connections: of calls that go together, and of larger ones. */
const TOGETHER_WRITERS_MAX = 3;
/** Of a customer one, so that its many or slow ones do not hold up those of others. */
const LARGE_WRITERS = { runningMax: 2, runningPerKeyMax: 1 };

interface Writing {
  readonly ctx: Context;
  readonly mail: CheckedMail;
  acceptance?: Acceptance;
}

/** The calls of one customer. */
export class CustomerIntake {
  readonly reads = new SharedMailReads();
  readonly #commits: GroupCommit<Writing>;
  calls = 0;

  constructor() {
    this.#commits = createGroupCommit<Writing>({
      ...{ batchMax: TOGETHER_MAX, waitMs: 0, restMs: REST_MS, waitingMax: CALLS_OF_A_CUSTOMER_MAX },
      write: (batch) => together.run(() => writeTogether(batch)),
    });
  }

  /** Resolves when the mail is committed. Throws NotFoundError `TEMPLATE_NOT_FOUND`, and what the database throws. */
  async accept(ctx: Context, mail: CheckedMail): Promise<readonly AcceptedMail[]> {
    const writing: Writing = { ctx, mail };
    if (mayGoTogether(ctx, mail)) await this.#commits.add(writing);
    else await large.run(() => writeAlone(writing), String(viewerOf(ctx).customerId));
    return answerOf(writing);
  }
}

const together = createConcurrencyLimit({ runningMax: TOGETHER_WRITERS_MAX });
const large = createConcurrencyLimit(LARGE_WRITERS);

/** A call that only checks, or is part of another change, has a transaction of its own; so has one that writes much. */
function mayGoTogether({ tx, checksOnly = false }: Context, { input, files, content }: CheckedMail): boolean {
  const { html = '', plain = '' } = content.texts ?? {};
  const isSmall = html.length + plain.length <= TEXTS_MAX;
  return !tx && !checksOnly && input.to.length === 1 && files.length === 0 && isSmall && !input.upsertSubscriber;
}

async function writeTogether(batch: readonly Writing[]): Promise<void> {
  try {
    await writeAll(batch);
  } catch (error) {
    const [{ ctx } = {}] = batch;
    if (batch.length === 1 || isUnavailable(error)) throw error;
    ctx?.log.warn('transactional.accept_singly', { message: messageOf(error), calls: batch.length });
    for (const one of batch) {
      await writeAlone(one).catch((fault: unknown) => {
        one.acceptance = { fault };
      });
    }
  }
}

const writeAlone = (one: Writing): Promise<void> => writeAll([one]);

async function writeAll(batch: readonly Writing[]): Promise<void> {
  const [first] = batch;
  if (!first) return;
  const { customerId } = viewerOf(first.ctx);
  const mails = batch.map(({ mail }) => mail);
  const acceptances = await inTransaction(first.ctx, (tx) => acceptMails(tx, customerId, mails));
  for (const [no, one] of batch.entries()) {
    const acceptance = acceptances[no];
    if (acceptance) one.acceptance = acceptance;
  }
}

function answerOf({ acceptance }: Writing): readonly AcceptedMail[] {
  if (!acceptance) throw new Error('Assertion failed: a call that was written has an answer');
  if ('fault' in acceptance) throw acceptance.fault;
  return acceptance.mails;
}

interface Intakes {
  readonly byCustomer: Map<bigint, CustomerIntake>;
  calls: number;
}

/** By database: a process may run several installations (tests do). */
const intakes = new WeakMap<Database, Intakes>();

/** Runs a call with the intake of its customer. Throws RateLimitedError `TOO_MANY_CALLS` when too many are under way. */
export async function withIntake<Answer>(
  ctx: Context,
  work: (intake: CustomerIntake) => Promise<Answer>,
): Promise<Answer> {
  const { customerId } = viewerOf(ctx);
  const all = intakes.get(ctx.database) ?? { byCustomer: new Map<bigint, CustomerIntake>(), calls: 0 };
  intakes.set(ctx.database, all);
  const intake = all.byCustomer.get(customerId) ?? new CustomerIntake();
  if (intake.calls >= Math.min(CALLS_OF_A_CUSTOMER_MAX, CALLS_MAX - all.calls)) throw tooManyCalls();
  all.byCustomer.set(customerId, intake);
  all.calls += 1;
  intake.calls += 1;
  try {
    return await work(intake);
  } finally {
    all.calls -= 1;
    intake.calls -= 1;
    if (intake.calls === 0) all.byCustomer.delete(customerId);
  }
}
