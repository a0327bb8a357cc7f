/** When waits end: days of the calendar in the person's zone, clocks that change, leap days, dates that have passed. */
import { describe, expect, test } from 'vitest';
import { node, type FlowNode } from '../../../src/domain/automations/flow/flow-nodes.ts';
import { dayAt, instantOf, timeAt } from '../../../src/domain/automations/flow/local-time.ts';
import { dayOfField, endOfWait, endOfWaitUntil } from '../../../src/domain/automations/flow/wake-time.ts';

const VIENNA = 'Europe/Vienna';
const at = (text: string) => Date.parse(text);
const shown = (instant: number) => new Date(instant).toISOString();

function nodeOf<Type extends FlowNode['type']>(type: Type, settings: object): Extract<FlowNode, { type: Type }> {
  const parsed = node.parse({ id: 'n', type, ...settings });
  if (parsed.type !== type) throw new Error(`It is a ${parsed.type}.`);
  return parsed as Extract<FlowNode, { type: Type }>;
}

describe('a local time', () => {
  test.each([
    ['an ordinary day', VIENNA, '2026-11-27', '09:00', '2026-11-27T08:00:00.000Z'],
    ['the gap: its end', VIENNA, '2026-03-29', '02:30', '2026-03-29T01:00:00.000Z'],
    ['the minute before the gap', VIENNA, '2026-03-29', '01:59', '2026-03-29T00:59:00.000Z'],
    ['the doubled hour: the first', VIENNA, '2026-10-25', '02:30', '2026-10-25T00:30:00.000Z'],
    ['after the doubled hour', VIENNA, '2026-10-25', '03:00', '2026-10-25T02:00:00.000Z'],
    ['a gap of half an hour', 'Australia/Lord_Howe', '2026-10-04', '02:15', '2026-10-03T15:30:00.000Z'],
    ['a gap at midnight', 'America/Santiago', '2026-09-06', '00:30', '2026-09-06T04:00:00.000Z'],
    ['a day that was left out', 'Pacific/Apia', '2011-12-30', '09:00', '2011-12-30T10:00:00.000Z'],
    ['a zone with quarter hours', 'Asia/Kathmandu', '2026-01-01', '00:00', '2025-12-31T18:15:00.000Z'],
  ])('in %s', (_name, zone, day, time, instant) => {
    expect(shown(instantOf(zone, day, time))).toBe(instant);
  });

  test('is found again from its instant, on each day of a year in many zones', () => {
    for (const zone of [VIENNA, 'America/New_York', 'Asia/Tokyo', 'Africa/Casablanca', 'Australia/Lord_Howe', 'UTC'])
      for (let day = at('2026-01-01T12:00:00Z'); day < at('2027-01-01T00:00:00Z'); day += 86_400_000) {
        const date = shown(day).slice(0, 10);
        const noon = instantOf(zone, date, '12:00');
        expect([dayAt(zone, noon), timeAt(zone, noon)]).toEqual([date, '12:00:00.000']);
      }
  });
});

describe('a wait', () => {
  const end = (settings: object, since: string, zone = VIENNA, holidays: string[] = []) =>
    shown(endOfWait(nodeOf('wait', settings), { since: at(since), zone }, holidays));

  test('of a day ends at the same time of day, with its seconds, and never in the year 10000', () => {
    expect(end({ for: { days: 1 } }, '2026-11-27T10:00:45.250Z')).toBe('2026-11-28T10:00:45.250Z');
    const yearly = nodeOf('wait_until', { field: 'ENDS', after: { days: 1_000 }, at: '09:00' });
    expect(endOfWaitUntil(yearly, { since: at('2026-11-27T10:00:00Z'), zone: 'UTC' }, '9999-12-30')).toEqual({
      at: at('9999-12-31T09:00:00Z'),
    });
    const west = { since: at('2026-11-27T10:00:00Z'), zone: 'Etc/GMT+12' };
    const placeholder = nodeOf('wait_until', { field: 'ENDS', at: '23:59' });
    expect(endOfWaitUntil(placeholder, west, '9999-12-31T23:59:59-12:00')).toEqual({
      at: at('9999-12-31T23:59:59.999Z'),
    });
  });

  test.each([
    ['90 minutes are elapsed time', { for: { minutes: 90 } }, '2026-03-29T00:30:00Z', '2026-03-29T02:00:00.000Z'],
    ['24 hours over the change of clocks', { for: { hours: 24 } }, '2026-03-28T09:00:00Z', '2026-03-29T09:00:00.000Z'],
    ['a day over it keeps the time of day', { for: { days: 1 } }, '2026-03-28T09:00:00Z', '2026-03-29T08:00:00.000Z'],
    ['two days, at nine', { for: { days: 2 }, at: '09:00' }, '2026-11-27T22:59:00Z', '2026-11-29T08:00:00.000Z'],
    [
      'past local midnight it is another day',
      { for: { days: 2 }, at: '09:00' },
      '2026-11-27T23:01:00Z',
      '2026-11-30T08:00:00.000Z',
    ],
    ['a week', { for: { weeks: 1 } }, '2026-11-27T08:00:00Z', '2026-12-04T08:00:00.000Z'],
    [
      'working days only',
      { for: { days: 1 }, at: '09:00', weekdays: [1, 2, 3, 4, 5] },
      '2026-11-27T08:00:00Z',
      '2026-11-30T08:00:00.000Z',
    ],
  ])('%s', (_name, settings, since, expected) => {
    expect(end(settings, since)).toBe(expected);
  });

  test('passes by holidays, and gives up on a year of them', () => {
    const settings = { for: { days: 1 }, at: '09:00', skipHolidays: true };
    expect(end(settings, '2026-12-24T08:00:00Z', VIENNA, ['2026-12-25', '2026-12-26'])).toBe(
      '2026-12-27T08:00:00.000Z',
    );
    const year = Array.from({ length: 500 }, (_one, no) =>
      shown(at('2026-12-01T00:00:00Z') + no * 86_400_000).slice(0, 10),
    );
    expect(end(settings, '2026-12-24T08:00:00Z', VIENNA, year) > '2027-12-01').toBe(true);
  });
});

describe('a wait until a date', () => {
  const until = (settings: object, since: string, value?: string) => {
    const answer = endOfWaitUntil(
      nodeOf('wait_until', { at: '09:00', ...settings }),
      { since: at(since), zone: VIENNA },
      value,
    );
    return 'at' in answer ? shown(answer.at) : answer.port;
  };

  test.each<[string, object, string, string | undefined, string]>([
    ['comes', { date: '2026-12-24' }, '2026-11-27T10:00:00Z', undefined, '2026-12-24T08:00:00.000Z'],
    ['is a little late: now', { date: '2026-11-27' }, '2026-11-28T07:59:00Z', undefined, '2026-11-27T08:00:00.000Z'],
    ['is more than a day late', { date: '2026-11-27' }, '2026-11-28T08:01:00Z', undefined, 'late'],
    [
      'of a field, before',
      { field: 'ENDS', before: { days: 3 } },
      '2026-11-27T10:00:00Z',
      '2026-12-10',
      '2026-12-07T08:00:00.000Z',
    ],
    [
      'of a field, after',
      { field: 'ENDS', after: { weeks: 1 } },
      '2026-11-27T10:00:00Z',
      '2026-12-10',
      '2026-12-17T08:00:00.000Z',
    ],
    [
      'of a field with a time, on the person’s day',
      { field: 'ENDS' },
      '2026-11-27T10:00:00Z',
      '2026-12-10T23:30:00Z',
      '2026-12-11T08:00:00.000Z',
    ],
    ['of a field that is empty', { field: 'ENDS' }, '2026-11-27T10:00:00Z', '', 'no_date'],
    ['of a field that nobody filled', { field: 'ENDS' }, '2026-11-27T10:00:00Z', undefined, 'no_date'],
    ['of a field with no date', { field: 'ENDS' }, '2026-11-27T10:00:00Z', 'soon', 'no_date'],
    ['of a field with 30 February', { field: 'ENDS' }, '2026-11-27T10:00:00Z', '2026-02-30', 'no_date'],
    [
      'every year, still to come',
      { field: 'BORN', yearly: true },
      '2026-11-27T10:00:00Z',
      '1980-12-24',
      '2026-12-24T08:00:00.000Z',
    ],
    [
      'every year, next year',
      { field: 'BORN', yearly: true },
      '2026-12-25T10:00:00Z',
      '1980-12-24',
      '2027-12-24T08:00:00.000Z',
    ],
    [
      '29 February in other years',
      { field: 'BORN', yearly: true },
      '2026-11-27T10:00:00Z',
      '1980-02-29',
      '2027-02-28T08:00:00.000Z',
    ],
    [
      '29 February in its year',
      { field: 'BORN', yearly: true },
      '2027-11-27T10:00:00Z',
      '1980-02-29',
      '2028-02-29T08:00:00.000Z',
    ],
    [
      'days before 1 January',
      { field: 'BORN', yearly: true, before: { days: 3 } },
      '2026-11-27T10:00:00Z',
      '1980-01-01',
      '2026-12-29T08:00:00.000Z',
    ],
    ['the next Tuesday', { weekdays: [2] }, '2026-11-27T10:00:00Z', undefined, '2026-12-01T08:00:00.000Z'],
    ['today, later', { weekdays: [5] }, '2026-11-27T07:59:00Z', undefined, '2026-11-27T08:00:00.000Z'],
    ['today, but it has just been', { weekdays: [5] }, '2026-11-27T08:00:00Z', undefined, '2026-12-04T08:00:00.000Z'],
  ])('%s', (_name, settings, since, value, expected) => {
    expect(until(settings, since, value)).toBe(expected);
  });

  test.each([
    ['2026-12-31', '2026-12-31'],
    ['2026-12-31 23:30', '2026-12-31'],
    ['2026-12-31T23:30:00Z', '2027-01-01'],
    ['2026-12-31 23:30:00 UTC', '2027-01-01'],
    ['2026-12-31 23:30:00 +0100', '2026-12-31'],
    ['2026-02-29', undefined],
    ['2026-1-1', undefined],
    ['31.12.2026', undefined],
  ])('reads the day of %s', (value, day) => {
    expect(dayOfField(value, VIENNA)).toBe(day);
  });
});
