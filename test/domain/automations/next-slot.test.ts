/** Local times of dates and timetables, written out by hand for zones whose clocks change, leap days and ends of months. */
import { expect, test } from 'vitest';
import { trigger as triggerSchema } from '../../../src/domain/automations/flow/flow-triggers.ts';
import { nextSlot } from '../../../src/domain/automations/triggers/next-slot.ts';
import { isWatched, type TimedTrigger } from '../../../src/domain/automations/triggers/watched-trigger.ts';

function timed(settings: object): TimedTrigger {
  const parsed = triggerSchema.parse(settings);
  if (!isWatched(parsed) || !('at' in parsed)) throw new Error('It fires at no time.');
  return parsed;
}

/** The next slots, each after the one before. */
function slots(
  trigger: TimedTrigger,
  zone: string,
  from: string,
  { count = 1, value }: { count?: number; value?: string } = {},
) {
  const found: string[] = [];
  let [after, firedOn] = [Date.parse(from), null as string | null];
  for (let no = 0; no < count; no++) {
    const slot = nextSlot(trigger, { zone, value, after, firedOn });
    if (!slot) break;
    found.push(`${slot.day} = ${new Date(slot.at).toISOString().replace(':00.000Z', 'Z')}`);
    [after, firedOn] = [slot.at, slot.day];
  }
  return found;
}

const sunday = (at: string) => timed({ type: 'weekly', weekdays: [7], at });

test.each([
  // Vienna goes from 02:00 to 03:00 on 29 March 2026, and back from 03:00 to 02:00 on 25 October.
  [
    'Europe/Vienna',
    '02:30',
    '2026-03-21T00:00Z',
    ['2026-03-22 = 2026-03-22T01:30Z', '2026-03-29 = 2026-03-29T01:00Z', '2026-04-05 = 2026-04-05T00:30Z'],
  ],
  [
    'Europe/Vienna',
    '02:30',
    '2026-10-17T00:00Z',
    ['2026-10-18 = 2026-10-18T00:30Z', '2026-10-25 = 2026-10-25T00:30Z', '2026-11-01 = 2026-11-01T01:30Z'],
  ],
  // New York: 8 March and 1 November 2026.
  [
    'America/New_York',
    '02:15',
    '2026-03-01T12:00Z',
    ['2026-03-08 = 2026-03-08T07:00Z', '2026-03-15 = 2026-03-15T06:15Z'],
  ],
  [
    'America/New_York',
    '01:15',
    '2026-10-26T00:00Z',
    ['2026-11-01 = 2026-11-01T05:15Z', '2026-11-08 = 2026-11-08T06:15Z'],
  ],
  // Half an hour: Lord Howe, 4 October 2026 from 02:00 to 02:30.
  [
    'Australia/Lord_Howe',
    '02:15',
    '2026-09-28T00:00Z',
    ['2026-10-04 = 2026-10-03T15:30Z', '2026-10-11 = 2026-10-10T15:15Z'],
  ],
  // The gap is at midnight: Santiago, 6 September 2026.
  [
    'America/Santiago',
    '00:00',
    '2026-08-31T12:00Z',
    ['2026-09-06 = 2026-09-06T04:00Z', '2026-09-13 = 2026-09-13T03:00Z'],
  ],
  // No changes, quarter hours; and the far east of the calendar.
  [
    'Asia/Kathmandu',
    '09:00',
    '2026-06-01T00:00Z',
    ['2026-06-07 = 2026-06-07T03:15Z', '2026-06-14 = 2026-06-14T03:15Z'],
  ],
  [
    'Pacific/Kiritimati',
    '09:00',
    '2026-06-01T00:00Z',
    ['2026-06-07 = 2026-06-06T19:00Z', '2026-06-14 = 2026-06-13T19:00Z'],
  ],
])('Sundays in %s at %s', (zone, at, from, expected) => {
  expect(slots(sunday(at), zone, from, { count: expected.length })).toEqual(expected);
});

test('several weekdays come in their order, and none that has just been', () => {
  const trigger = timed({ type: 'weekly', weekdays: [5, 1], at: '09:00' });
  expect(slots(trigger, 'Europe/Vienna', '2026-11-27T08:00Z', { count: 3 })).toEqual([
    ...['2026-11-30 = 2026-11-30T08:00Z', '2026-12-04 = 2026-12-04T08:00Z', '2026-12-07 = 2026-12-07T08:00Z'],
  ]);
});

test('a month that is shorter has its last day', () => {
  const trigger = timed({ type: 'monthly', day: 31, at: '00:30' });
  expect(slots(trigger, 'America/New_York', '2027-12-31T05:30Z', { count: 4 })).toEqual([
    '2028-01-31 = 2028-01-31T05:30Z',
    '2028-02-29 = 2028-02-29T05:30Z',
    '2028-03-31 = 2028-03-31T04:30Z',
    '2028-04-30 = 2028-04-30T04:30Z',
  ]);
});

test('a date fires once, so many days before or after it', () => {
  const date = { type: 'specific_date', date: '2026-12-24', at: '18:00' };
  expect(slots(timed(date), 'Asia/Kathmandu', '2026-12-24T12:14Z', { count: 2 })).toEqual([
    '2026-12-24 = 2026-12-24T12:15Z',
  ]);
  expect(slots(timed(date), 'Asia/Kathmandu', '2026-12-24T12:15Z')).toEqual([]);
  const before = timed({ type: 'date_field', field: 'ENDS', before: { weeks: 1 }, at: '09:00' });
  expect(slots(before, 'Europe/Vienna', '2026-01-01T00:00Z', { value: '2026-03-29', count: 2 })).toEqual([
    '2026-03-22 = 2026-03-22T08:00Z',
  ]);
  const after = timed({ type: 'date_field', field: 'ENDS', after: { days: 30 }, at: '09:00' });
  expect(slots(after, 'Europe/Vienna', '2026-01-01T00:00Z', { value: '2026-03-01 23:30' })).toEqual([
    '2026-03-31 = 2026-03-31T07:00Z',
  ]);
  for (const value of [undefined, '', 'soon', '2026-02-30'])
    expect(slots(after, 'Europe/Vienna', '2026-01-01T00:00Z', value === undefined ? {} : { value }), value).toEqual([]);
});

test('a birthday comes each year, on 28 February when there is no 29th, and not before the date itself', () => {
  const birthday = { type: 'date_field', field: 'BORN', yearly: true, at: '08:00' };
  expect(slots(timed(birthday), 'Europe/Vienna', '2026-03-01T00:00Z', { value: '1992-02-29', count: 3 })).toEqual([
    ...['2027-02-28 = 2027-02-28T07:00Z', '2028-02-29 = 2028-02-29T07:00Z', '2029-02-28 = 2029-02-28T07:00Z'],
  ]);
  expect(slots(timed(birthday), 'Europe/Vienna', '2026-03-01T00:00Z', { value: '2030-05-01' })).toEqual([
    '2030-05-01 = 2030-05-01T06:00Z',
  ]);
  const later = timed({ ...birthday, notInFirstYear: true });
  expect(slots(later, 'Europe/Vienna', '2026-03-01T00:00Z', { value: '2026-05-01' })).toEqual([
    '2027-05-01 = 2027-05-01T06:00Z',
  ]);
  const long = timed({ ...birthday, after: { days: 800 } });
  expect(slots(long, 'Europe/Vienna', '2026-03-01T00:00Z', { value: '2025-01-01', count: 2 })).toEqual([
    ...['2027-03-12 = 2027-03-12T07:00Z', '2028-03-11 = 2028-03-11T07:00Z'],
  ]);
  const eve = timed({ ...birthday, before: { days: 1 } });
  expect(slots(eve, 'Europe/Vienna', '2026-12-01T00:00Z', { value: '1990-01-01', count: 2 })).toEqual([
    ...['2026-12-31 = 2026-12-31T07:00Z', '2027-12-31 = 2027-12-31T07:00Z'],
  ]);
});

test('a day that has fired does not fire again in another zone', () => {
  const of = { value: undefined, after: Date.parse('2026-11-29T09:00Z'), firedOn: '2026-11-29' };
  expect(nextSlot(sunday('09:00'), { zone: 'America/New_York', ...of })?.day).toBe('2026-12-06');
  expect(nextSlot(sunday('09:00'), { zone: 'America/New_York', ...of, firedOn: null })?.day).toBe('2026-11-29');
});

test('placeholders at the ends of the calendar have a slot or none, in each zone, and stop nothing', () => {
  const born = { type: 'date_field', field: 'BORN', yearly: true, at: '23:59' };
  const triggers = [
    born,
    { ...born, notInFirstYear: true },
    { ...born, after: { days: 300 } },
    { ...born, before: { days: 300 } },
  ].map(timed);
  const once = timed({ type: 'date_field', field: 'BORN', after: { days: 3 }, at: '23:59' });
  for (const value of [
    '9997-05-05',
    '9999-12-31',
    '9999-12-31T23:59:59-12:00',
    '0001-01-01',
    '0001-01-01T00:00:00+14:00',
  ])
    for (const zone of ['Pacific/Kiritimati', 'Etc/GMT+12', 'Europe/Vienna'])
      for (const trigger of [...triggers, once]) {
        const slot = nextSlot(trigger, { zone, value, after: Date.parse('2026-11-27T09:00Z'), firedOn: null });
        // What the database and JSON read: four digits of a year.
        if (slot) expect(new Date(slot.at).toISOString(), `${value} ${zone}`).toMatch(/^\d{4}-/);
      }
  expect(slots(timed(born), 'UTC', '2026-01-01T00:00Z', { value: '9998-05-05', count: 3 })).toEqual([
    ...['9998-05-05 = 9998-05-05T23:59Z', '9999-05-05 = 9999-05-05T23:59Z'],
  ]);
});
