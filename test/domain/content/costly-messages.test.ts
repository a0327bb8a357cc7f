/** Html that takes long to read: the process goes on meanwhile, and what takes too long is stopped and said. */
import { describe, expect, test } from 'vitest';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import { MessagePlanner } from '../../../src/domain/content/plan-thread.ts';
import { messageSource, recipient } from './message-factory.ts';

const END = '{UNSUBSCRIBE_URL}';
const lines = (count: number): string => '<br>w'.repeat(count);

describe('a message', () => {
  test.each([
    ['200 KB of line breaks', lines(40_000)],
    ['200 KB of cells', '<table><tr><td>w</td></tr></table>'.repeat(6_000)],
    ['200 KB of paragraphs', '<p>w</p>'.repeat(25_000)],
    ['5,000 open tags and 200 KB that closes others', `${'<div>'.repeat(4_900)}${'</b>'.repeat(50_000)}`],
  ])('of %s is read while the process goes on', async (_what, html) => {
    const state = { isDone: false };
    const compiled = compileMessage(messageSource({ html: html + END })).finally(() => (state.isDone = true));
    // Read on this thread, it would be done after a turn or two; beside it, there are as many turns as there is time.
    let turns = 0;
    for (; !state.isDone; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(turns).toBeGreaterThan(20);
    expect((await compiled).showsUnsubscribe).toBe(true);
  });

  test.each([
    ['spaces before a word', `<pre>${' '.repeat(200_000)}x`, 1],
    ['a web address and 200,000 dots', `http://a.b/${'.'.repeat(200_000)}a`, 200_012],
    ['900 quotations', `${'<blockquote>'.repeat(900)}${lines(10_000)}`, 10_000 * 26],
    ['600 lists', `${'<ul><li>'.repeat(600)}${lines(10_000)}`, 10_000 * 40],
    ['900 links in each other', `${'<a href="http://a.b/">'.repeat(900)}${'word '.repeat(10_000)}`, 60_000],
  ])('of %s has a plain text no longer than its words', async (_what, html, lengthMax) => {
    const message = await compileMessage(messageSource({ html: html + END, trackClicks: false }));
    expect((await message.texts(recipient())).plain.length).toBeLessThan(lengthMax + 100_000);
  });

  test('with too many links in it is refused with the limit', async () => {
    const html = '<a href="https://a.test/">x</a>'.repeat(10_001);
    await expect(compileMessage(messageSource({ html }))).rejects.toThrow(
      expect.objectContaining({ fields: { html: ['A message may have at most links in 10000 places.'] } }),
    );
  });
});

describe('a message that takes too long to read', () => {
  const costly = messageSource({ html: `${'<div>'.repeat(4_900)}${'</b>'.repeat(240_000)}` });
  const stopped = expect.objectContaining({
    code: 'TEMPLATE_RUNAWAY',
    fields: { html: [expect.stringMatching(/^It cannot be prepared for sending: it takes too long\. Use fewer/)] },
  });

  test('is stopped, its author hears it, and the messages of all others are read', async () => {
    // The costly one takes two seconds, the others some hundredths.
    const planner = new MessagePlanner({ cpuMsMax: 300 });
    const others = [1, 2, 3].map((no) => messageSource({ customerUid: `c${no}`, subject: `no ${no}` }));
    const work = [others[0], costly, ...others.slice(1)].map((source) => planner.plan(source ?? costly));
    const [first, bad, ...rest] = await Promise.allSettled(work);
    expect(bad).toMatchObject({ status: 'rejected', reason: stopped });
    for (const result of [first, ...rest]) expect(result).toMatchObject({ status: 'fulfilled' });
    // Asked for again, it costs no second thread.
    await expect(planner.plan(costly)).rejects.toThrow(stopped);
  });

  test('makes its own customer wait first', async () => {
    const planner = new MessagePlanner({ cpuMsMax: 5_000 });
    const order: string[] = [];
    const plan = async (customerUid: string, name: string) => {
      await planner.plan(messageSource({ customerUid, html: `<p>${name}</p>` }));
      order.push(name);
    };
    await Promise.all([plan('a', 'a1'), plan('a', 'a2'), plan('a', 'a3'), plan('b', 'b1'), plan('c', 'c1')]);
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3']);
  });
});
