/**
 * Flows against a reference: random flows, people and histories (time zones, changes of clocks, deaths of the worker between any two
 * statements, new versions with and without moves of people, pauses and late people, bulk acts, failed nodes, people who are taken out, flows that
 * start others, API calls, webhooks, quiet hours, caps of lists and of customers; mails, opens, clicks, events, changed dates, other lists) take
 * each person the same way at the same times in the product and in a short interpreter that shares no code with it. Not in them: plugins,
 * notifications. `FUZZ_RUNS=5000` plays as many histories.
 */
import { expect, test } from 'vitest';
import { drawn, SEED } from '../support/property.ts';
import { calledHistories } from './called-histories.ts';
import { differenceOf } from './compare.ts';
import type { HistoryData } from './flow-data.ts';
import { movedHistories } from './moved-histories.ts';
import { pausedHistories } from './paused-histories.ts';
import { startPlayer, type Played } from './played-history.ts';
import { randomHistory } from './random-history.ts';
import { RULES, type Rules } from './rules.ts';
import { seldomHistories } from './seldom-histories.ts';
import { startedHistories } from './started-histories.ts';
import { WRONG_RULES } from './wrong-rules.ts';

const HISTORIES = drawn(80);
/** Of flows that change while people are inside. */
const CHANGED = drawn(50);
const HISTORY_MS_MAX = 20_000;
const play = await startPlayer();
const all: (readonly [HistoryData, Played])[] = [];

test(
  'everybody goes the way that the reference goes',
  { timeout: (HISTORIES + CHANGED) * HISTORY_MS_MAX },
  async () => {
    const drawnOnes = Array.from({ length: HISTORIES }, (_, no) => randomHistory(SEED + no));
    const changedOnes = Array.from({ length: CHANGED }, (_, no) => randomHistory(SEED + no, { moves: true }));
    const fixed = [
      ...seldomHistories(),
      ...movedHistories(),
      ...pausedHistories(),
      ...startedHistories(),
      ...calledHistories(),
    ];
    for (const [no, history] of [...fixed, ...drawnOnes, ...changedOnes].entries()) {
      const played = await play(history).catch((error: unknown) => {
        throw new Error(`History ${no} could not be played: ${JSON.stringify(history)}`, { cause: error });
      });
      all.push([history, played]);
      expect(differenceOf(history, played), `history ${no}: ${JSON.stringify(history)}`).toBeUndefined();
    }
  },
);

test.each(Object.entries(WRONG_RULES))('histories notice a wrong rule: %s', (_name, wrong) => {
  const rules = { ...RULES, ...wrong };
  expect(all.some(([history, played]) => isNoticed(history, played, rules))).toBe(true);
});

test('each rule is made wrong', () => {
  const wrong = new Set(Object.values(WRONG_RULES).flatMap((rules) => Object.keys(rules)));
  expect(Object.keys(RULES).filter((name) => !wrong.has(name))).toEqual([]);
});

function isNoticed(history: HistoryData, played: Played, rules: Rules): boolean {
  try {
    return differenceOf(history, played, rules) !== undefined;
  } catch {
    // The wrong rule leads to a node that is not there.
    return true;
  }
}
