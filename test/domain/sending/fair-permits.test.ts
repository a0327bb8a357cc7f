import { describe, expect, it } from 'vitest';
import { FairPermits, type Permits } from '../../../src/domain/sending/fair-permits.ts';

/** Takes one whenever it may and keeps it until `steps` others were taken by anybody: a loop with slow messages. */
async function takeFrom(permits: Permits, log: string[], { name, count }: { name: string; count: number }) {
  for (let left = count; left > 0; left -= 1) {
    while (permits.tryTake(1) === 0) await permits.whenFree();
    log.push(name);
    setImmediate(() => permits.give(1));
  }
}

describe('permits of a server that several customers use', () => {
  it('are all a single customer’s', () => {
    const permits = new FairPermits(10).of(1n);
    expect(permits.tryTake(25)).toBe(10);
    expect(permits.tryTake(1)).toBe(0);
    permits.give(3);
    expect(permits.tryTake(5)).toBe(3);
  });

  it('come free for the newcomer until both have equal parts', async () => {
    const all = new FairPermits(10);
    const [first, second] = [all.of(1n), all.of(2n)];
    first.tryTake(10);
    expect(second.tryTake(10)).toBe(0);
    let isCalled = false;
    void second.whenFree().then(() => (isCalled = true));
    first.give(1);
    // The first asks before the second has woken up.
    expect(first.tryTake(10)).toBe(0);
    await Promise.resolve();
    expect(isCalled).toBe(true);
    expect(second.tryTake(10)).toBe(1);
    void second.whenFree();
    first.give(6);
    expect(first.tryTake(10)).toBe(2);
    expect(second.tryTake(10)).toBe(4);
  });

  it('let nobody wait for long behind those who have much to send', async () => {
    const all = new FairPermits(4);
    const log: string[] = [];
    const crowd = Array.from({ length: 8 }, () => takeFrom(all.of(1n), log, { name: 'a', count: 250 }));
    await new Promise((resolve) => setTimeout(resolve, 1));
    const before = log.length;
    await takeFrom(all.of(2n), log, { name: 'b', count: 10 });
    // Two of four at a time are the newcomer's: about as many of the others go meanwhile, not hundreds.
    expect(log.length - before).toBeLessThan(60);
    await Promise.all(crowd);
    expect(log).toHaveLength(2_010);
  });

  it('are not kept for somebody who went home', async () => {
    const all = new FairPermits(2);
    const [first, second] = [all.of(1n), all.of(2n)];
    first.tryTake(2);
    void second.whenFree();
    first.give(2);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(first.tryTake(2)).toBe(2);
  });
});
