/** Nodes that choose the way: conditions, judged once on arrival with fresh data (D78), and random splits. */
import { createHash } from 'node:crypto';
import { readValues, type ReadValues } from '../../audience/segments/read-values-read-model.ts';
import { peopleAmong } from '../../audience/segments/segment-read-model.ts';
import type { FlowCondition, FlowQuestion } from '../flow/flow-condition.ts';
import { questionsOf } from '../flow/flow-condition.ts';
import { isTrueOf, valueAt } from '../flow/flow-payload.ts';
import { answerAboutMail } from './mail-acts.ts';
import type { NodeWork, Outcome, PresentRun } from './node-work.ts';

/** Whether a question is true for a run. */
type Answers = ReadonlyMap<FlowQuestion, (run: PresentRun) => boolean>;
/** What a question read of each person. */
type Values = ReadonlyMap<FlowQuestion, ReadonlyMap<bigint, ReadValues>>;

const UINT32 = 2 ** 32;
const PERCENT = 100;

export async function chooseByCondition(work: NodeWork<'condition'>): Promise<readonly Outcome[]> {
  const questions = questionsOf(work.node.if);
  const answers = new Map<FlowQuestion, (run: PresentRun) => boolean>();
  // One after the other: the transaction has one connection.
  for (const question of questions) answers.set(question, await answerTo(question, work));
  const values = await valuesOf(questions, work);
  return work.runs.map((run) => {
    const details = detailsOf(questions, { answers, values }, run);
    return { go: isTrue(work.node.if, answers, run) ? 'yes' : 'no', details };
  });
}

async function answerTo(question: FlowQuestion, work: NodeWork<'condition'>): Promise<(run: PresentRun) => boolean> {
  if ('payload' in question) return ({ payload }) => isTrueOf(payload, question.payload);
  if ('person' in question) {
    const { ctx, live, runs, now, answers } = work;
    const list = { customerId: live.key.customerId, listId: live.listId, rule: question.person };
    const ids = runs.map(({ personId }) => personId);
    const people = await peopleAmong(ctx.db, list, { ids, asOf: now, answers });
    return ({ personId }) => people.has(personId);
  }
  return answerAboutMail(question, work);
}

function isTrue(condition: FlowCondition, answers: Answers, run: PresentRun): boolean {
  if ('all' in condition) return condition.all.every((one) => isTrue(one, answers, run));
  if ('any' in condition) return condition.any.some((one) => isTrue(one, answers, run));
  if ('none' in condition) return !condition.none.some((one) => isTrue(one, answers, run));
  return answers.get(condition)?.(run) ?? false;
}

/**
 * The history of a run keeps so many answers of one condition, of the person so many values for all of them together, and of a value so many
 * characters: thousands may ask for a large one, and a batch has a thousand runs.
 */
const ANSWERS_KEPT_MAX = 100;
const VALUES_KEPT_MAX = 100;
const VALUE_LENGTH_MAX = 200;

/** What the first questions read of the people. */
async function valuesOf(
  questions: readonly FlowQuestion[],
  { ctx, live, runs }: NodeWork<'condition'>,
): Promise<Values> {
  const values = new Map<FlowQuestion, ReadonlyMap<bigint, ReadValues>>();
  const ids = runs.map(({ personId }) => personId);
  let left = VALUES_KEPT_MAX;
  for (const question of questions.slice(0, ANSWERS_KEPT_MAX)) {
    if (!('person' in question)) continue;
    if (left === 0) break;
    const list = { customerId: live.key.customerId, listId: live.listId, rule: question.person };
    const read = await readValues(ctx.db, list, { ids, max: left });
    const [first = {}] = read.values();
    left -= Object.keys(first).length;
    values.set(question, read);
  }
  return values;
}

/** The answers to the first questions, and the values of the payload and of the person that they read. */
function detailsOf(
  questions: readonly FlowQuestion[],
  { answers, values }: { readonly answers: Answers; readonly values: Values },
  run: PresentRun,
) {
  return {
    answers: questions.slice(0, ANSWERS_KEPT_MAX).map((question) => {
      const read = values.get(question)?.get(run.personId);
      return {
        is: answers.get(question)?.(run) ?? false,
        ...('payload' in question ? { value: keptValue(valueAt(run.payload, question.payload.path)) } : {}),
        ...(read ? { values: keptValues(read) } : {}),
      };
    }),
  };
}

function keptValues(read: ReadValues): ReadValues {
  return Object.fromEntries(Object.entries(read).map(([name, value]) => [name, keptValue(value)]));
}

/** Of an object nothing is cut off: names of secrets in it would not be seen any more. */
function keptValue(value: unknown = null): unknown {
  if (typeof value !== 'string') return JSON.stringify(value).length <= VALUE_LENGTH_MAX ? value : '…';
  return value.length <= VALUE_LENGTH_MAX ? value : `${value.slice(0, VALUE_LENGTH_MAX).toWellFormed()}…`;
}

/** By a digest of run, node and pass: the same if it is repeated, and even over many people. */
export async function split({ node, runs }: NodeWork<'split'>): Promise<readonly Outcome[]> {
  return runs.map((run) => {
    const digest = createHash('sha256')
      .update(`${run.id} ${node.id} ${run.passes?.[node.id] ?? 1}`)
      .digest();
    let share = (digest.readUInt32BE(0) / UINT32) * PERCENT;
    for (const { name, percent } of node.variants) {
      if (share < percent) return { go: `variant:${name}` };
      share -= percent;
    }
    // Rounding: the last one.
    return { go: `variant:${node.variants.at(-1)?.name ?? ''}` };
  });
}
