/** An outage does not fill the log: of the same fault one line a second, with the number of those left out. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLog } from '../../src/lib/log.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open() {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({ level: 'info', format: 'json', write: (line) => void lines.push(JSON.parse(line)) });
  return { log, lines };
}

test('one fault, many times', () => {
  const { log, lines } = open();
  // 140 in 14 seconds, from as many requests.
  for (let no = 0; no < 140; no++) {
    log.with({ requestId: `r${no}` }).error('inbox.store_failed', { message: 'no space left', tries: no });
    vi.advanceTimersByTime(100);
  }
  vi.advanceTimersByTime(5_000);
  expect(lines.length).toBeLessThanOrEqual(16);
  const leftOut = lines.reduce((sum, line) => sum + Number(line['leftOut'] ?? 0), 0);
  expect(lines.length + leftOut).toBe(140);
  expect(lines[0]).toMatchObject({ event: 'inbox.store_failed', message: 'no space left', requestId: 'r0' });
  expect(lines.at(-1)).toMatchObject({ requestId: 'r139', tries: 139 });
});

test('once is once, and twice is twice', () => {
  const { log, lines } = open();
  log.warn('a.fault', { error: new Error('gone') });
  vi.advanceTimersByTime(3_000);
  log.warn('a.fault', { error: new Error('gone') });
  log.warn('a.fault', { error: new Error('gone') });
  expect(lines).toHaveLength(2);
  vi.advanceTimersByTime(3_000);
  expect(lines).toHaveLength(3);
  expect(lines.every((line) => !('leftOut' in line))).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test('other faults, and what is none, have lines of their own', () => {
  const { log, lines } = open();
  for (let no = 0; no < 50; no++) {
    log.warn('server.unavailable', { server: `s${no}`, message: 'refused' });
    log.warn('campaign.overdue', { campaign: 'c', reason: 'overdue' });
    log.info('request', { message: 'GET /' });
    log.error(`fault.${no}`, { message: 'x' });
  }
  expect(lines).toHaveLength(200);
});
