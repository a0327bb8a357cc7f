/** Mails of the first priority before campaigns where processor time is short. */
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Precedence } from '../../../src/domain/delivery/precedence.ts';

function work(ms: number): void {
  for (const endsAt = performance.now() + ms; performance.now() < endsAt;);
}

/** Whether a campaign may begin with its next messages at once. */
async function mayAtOnce(precedence: Precedence): Promise<boolean> {
  let may = false;
  void precedence.untilCampaignsMay().then(() => (may = true));
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  return may;
}

test('a campaign waits while a mail is under way and the process is busy', async () => {
  const precedence = new Precedence();
  work(60);
  expect(await mayAtOnce(precedence)).toBe(true);
  precedence.begin();
  work(60);
  expect(await mayAtOnce(precedence)).toBe(false);
  precedence.end();
  work(60);
  expect(await mayAtOnce(precedence)).toBe(true);
});

test('a campaign does not wait for a mail that waits for its server', async () => {
  const precedence = new Precedence();
  precedence.begin();
  work(1_100);
  expect(await mayAtOnce(precedence)).toBe(true);
});

test('a campaign goes on although mails come without end and the process is always busy', async () => {
  const precedence = new Precedence();
  let isOver = false;
  const busy = (async () => {
    for (; !isOver; await setImmediate()) {
      precedence.begin();
      work(5);
      precedence.end();
      precedence.begin();
    }
  })();
  await precedence.untilCampaignsMay();
  isOver = true;
  await busy;
});
