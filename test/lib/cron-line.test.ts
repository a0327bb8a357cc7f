/** Lines of a timetable: what they mean, and which are refused. */
import { expect, test } from 'vitest';
import { latestSlot, parseCronLine } from '../../src/lib/cron-line.ts';

test.for([
  ['* * * * *', '2026-03-01T10:07:30Z', '2026-03-01T10:07:00.000Z'],
  ['*/15 * * * *', '2026-03-01T10:14:59Z', '2026-03-01T10:00:00.000Z'],
  ['5,35 8-18 * * *', '2026-03-01T07:59:00Z', '2026-02-28T18:35:00.000Z'],
  ['0 3 * * 1', '2026-03-01T12:00:00Z', '2026-02-23T03:00:00.000Z'],
  ['0 3 * * 7', '2026-03-01T12:00:00Z', '2026-03-01T03:00:00.000Z'],
  ['0 0 29 2 *', '2026-03-01T12:00:00Z', undefined],
  ['0 0 1 1 *', '2026-03-01T12:00:00Z', '2026-01-01T00:00:00.000Z'],
  // Both days given: either of them, as in cron. 2026-02-27 is a Friday.
  ['0 0 1 * 5', '2026-02-28T12:00:00Z', '2026-02-27T00:00:00.000Z'],
  ['0 0 28 * 5', '2026-02-28T12:00:00Z', '2026-02-28T00:00:00.000Z'],
  ['10/20 * * * *', '2026-03-01T10:31:00Z', '2026-03-01T10:30:00.000Z'],
] as const)('the latest time of %s before %s', ([line, upTo, slot]) => {
  const found = latestSlot(parseCronLine(line), { after: new Date('2025-01-01T00:00:00Z'), upTo: new Date(upTo) });
  expect(found?.toISOString()).toBe(slot);
});

test('a time that has come before is not answered again', () => {
  const slot = new Date('2026-03-01T10:00:00Z');
  const hourly = parseCronLine('0 * * * *');
  expect(latestSlot(hourly, { after: slot, upTo: new Date('2026-03-01T10:59:59Z') })).toBeUndefined();
  expect(latestSlot(hourly, { after: slot, upTo: new Date('2026-03-01T11:00:00Z') })).toEqual(
    new Date('2026-03-01T11:00:00Z'),
  );
});

test.for([
  '',
  '* * * *',
  '60 * * * *',
  '* 24 * * *',
  '* * 0 * *',
  '* * * 13 *',
  '* * * * 8',
  '5-1 * * * *',
  '*/0 * * * *',
])('the line "%s" is refused', (line) => {
  expect(() => parseCronLine(line)).toThrow(/five fields|is no /);
});

test('words and other signs are refused with the field that they are in', () => {
  expect(() => parseCronLine('0 3 * * monday')).toThrow('"monday" is no day of the week: use * or numbers from 0 to 7');
});
