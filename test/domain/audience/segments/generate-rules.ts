/** Generators of people and rules for the property test of segments: values that collide, and those that break things. */
import fc from 'fast-check';
import {
  DID_KINDS,
  VERIFICATION_WORDS,
  type Condition,
  type SegmentRule,
} from '../../../../src/domain/audience/segments/segment.ts';
import type { Person, PersonActivity, RecordedEvent } from './evaluate-rule.ts';

const DAY = 86_400_000;

/** Texts that differ by case, composition, wildcards or quotes only, so that rules hit them and nearly hit them. */
const TEXTS = [
  ...['anna', 'ANNA', 'Anna-Lena', 'an', 'na', 'Zürich', 'ZU\u0308RICH', 'zürich', 'zurich', 'İstanbul', 'istanbul'],
  ...[
    'ΑΣ',
    'ας',
    'ασ',
    'straße',
    'STRASSE',
    'STRAẞE',
    '%',
    '_',
    'a%a',
    'a_a',
    '\\',
    '\\%',
    "'",
    '"',
    "'; --",
    '{}',
    ' ',
  ],
  ...['😀x', 'x😀', '😀', 'e\u0301', 'é', 'É', 'ﬁ', '0', '1', '2026-03-01', 'null', 'true', '${1}', '$1', ':a', '?'],
];
const texts = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }).filter(isStorable),
);

function isStorable(text: string): boolean {
  // eslint-disable-next-line no-control-regex
  return text.isWellFormed() && !/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(text);
}

const NUMBERS = [
  '0',
  '-0',
  '1',
  '1.0',
  '01',
  '1e3',
  '1000',
  '0.1',
  '.1',
  '5.',
  '+7',
  '-7.5',
  '1e999',
  '1E-5',
  '0.30000000000000004',
];
const numberTexts = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc.constantFrom('', 'abc', '1,5', '0x10', 'NaN', 'Infinity', '１'),
);
const numbers = fc.oneof(
  fc.constantFrom(0, 1, -7.5, 0.1, 1000, 7, 5, 1e-5, 0.30000000000000004),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

const days = fc.constantFrom(0, 1, 7, 30, 365, 36_500);
/** Exactly so many days from now, and a millisecond beside it. */
const timesAround = (asOf: number) =>
  fc
    .tuple(fc.constantFrom(-36_500, -365, -30, -7, -1, 0, 1, 7, 30), fc.constantFrom(-1, 0, 1))
    .map(([no, ms]) => asOf + no * DAY + ms);
const isoTimes = (asOf: number) => timesAround(asOf).map((at) => new Date(at).toISOString());
const isoDays = (asOf: number) => isoTimes(asOf).map((at) => at.slice(0, 10));

const dateTexts = (asOf: number) =>
  fc.oneof(
    isoTimes(asOf),
    isoTimes(asOf).map((at) => at.replace('Z', '+02:00')),
    isoTimes(asOf).map((at) => at.slice(0, 19).replace('T', ' ')),
    isoDays(asOf),
    fc.constantFrom(
      '1990-02-29',
      '1992-02-29',
      '1990-02-28',
      '2000-03-01',
      '0000-01-01',
      '0001-01-01',
      '2026-02-30',
      '2026-04-31',
    ),
    fc.constantFrom(
      '',
      'soon',
      '2026-03-01 24:00',
      '2026-03-01 12:00:60',
      '2026-03-01t12:00z',
      '2026-03-01 12:00 utc',
      '2026-03-01T12:00+1559',
    ),
    fc.constantFrom('2026-03-01T12:00+16:00', '2026-3-1', ' 2026-03-01', '2026-03-01\n', '12/31/2026'),
  );

const TAGS = ['vip', 'VIP', 'é', 'E\u0301', 'new', 'ΑΣ', '%', "o'x"];
const tags = fc.constantFrom(...TAGS);
const STATUSES = ['subscribed', 'unsubscribed', 'unconfirmed', 'pending'] as const;
const URLS = ['https://shop.example/A?b=%', 'https://shop.example/sale', 'https://other.example/ÄÖ'];
const EMAILS = [
  'anna@example.org',
  'anna@mail.example.org',
  'bob@xn--mnchen-3ya.example',
  "o'neil@example.org",
  'an_na@example.com',
  'a%b@example.com',
];

/** People whose numbers at the end of the address keep them apart. */
export function people(asOf: number, campaigns: readonly string[]): fc.Arbitrary<Person[]> {
  return fc.array(person(asOf, campaigns), { minLength: 5, maxLength: 25 });
}

function person(asOf: number, campaigns: readonly string[]): fc.Arbitrary<Person> {
  const at = timesAround(asOf);
  const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 2 });
  return fc.record({
    emailKey: fc.constantFrom(...EMAILS),
    fields: fc.record({ NAME: texts, AGE: numberTexts, BORN: dateTexts(asOf) }, { requiredKeys: [] }),
    tags: fc.uniqueArray(tags, { maxLength: 3 }),
    status: fc.constantFrom(...STATUSES),
    source: maybe(fc.constantFrom('api', 'form', 'import:0123456789abc')),
    ...{ createdAt: at, updatedAt: at, confirmedAt: maybe(at) },
    ...{
      verification: maybe(fc.constantFrom('deliverable', 'undeliverable', 'risky', 'unknown')),
      verifiedAt: maybe(at),
    },
    ...{ everOpened: fc.boolean(), everClicked: fc.boolean() },
    events: fc.array(event(asOf), { maxLength: 6 }),
    activity: fc
      .tuple(...campaigns.map((campaign) => maybe(activity(asOf, campaign))))
      .map((all) => all.filter((one) => one !== null)),
  });
}

function activity(asOf: number, campaign: string): fc.Arbitrary<PersonActivity> {
  const count = fc.constantFrom(0, 1, 2, 5);
  return fc.record({
    campaign: fc.constant(campaign),
    ...{ opens: count, clicks: count, humanOpens: fc.constantFrom(0, 1), humanClicks: fc.constantFrom(0, 1) },
    ...{ lastOpenAt: fc.option(timesAround(asOf)), lastClickAt: fc.option(timesAround(asOf)) },
    links: fc.subarray(URLS),
    state: fc.constantFrom('queued', 'sent', 'sent', 'failed', 'skipped', 'suppressed', 'unknown'),
  });
}

const EVENT_NAMES = ['order_placed', 'order.paid', 'acme/shop:order_placed'];

function event(asOf: number): fc.Arbitrary<RecordedEvent> {
  const at = timesAround(asOf);
  const given = fc.uniqueArray(tags, { minLength: 1, maxLength: 2 });
  return fc.oneof(
    fc.record({ kind: fc.constant('event'), name: fc.constantFrom(...EVENT_NAMES), at }),
    fc.record({ kind: fc.constantFrom('added', 'confirmed', 'unsubscribed', 'bounced'), at }),
    fc.record({ kind: fc.constantFrom('added', 'tagged', 'untagged'), tags: given, at }),
    fc.record({ kind: fc.constant('changed'), fields: fc.subarray(['NAME', 'AGE', 'EMAIL'], { minLength: 1 }), at }),
  );
}

/** Rules of every kind and operator, several levels deep. */
export function rules(asOf: number, campaigns: readonly string[]): fc.Arbitrary<SegmentRule> {
  const condition = conditions(asOf, campaigns);
  const { rule } = fc.letrec<{ rule: SegmentRule }>((tie) => ({
    rule: fc.oneof(
      { maxDepth: 4, depthIdentifier: 'rule' },
      condition,
      ...(['all', 'any', 'none'] as const).map((name) =>
        fc
          .array(tie('rule'), { minLength: 1, maxLength: 3, depthIdentifier: 'rule' })
          .map((inner) => ({ [name]: inner }) as unknown as SegmentRule),
      ),
    ),
  }));
  return rule;
}

function conditions(asOf: number, campaigns: readonly string[]): fc.Arbitrary<Condition> {
  const one = <T>(shape: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<T> =>
    fc.oneof(...Object.entries(shape).map(([name, value]) => value.map((given) => ({ [name]: given }) as T)));
  const several = (value: fc.Arbitrary<string>) => fc.array(value, { minLength: 1, maxLength: 3 });
  const isEmpty = fc.boolean();
  const text = one<object>({
    ...{ is: texts, isNot: texts, contains: texts, notContains: texts, startsWith: texts, endsWith: texts },
    ...{ in: several(texts), notIn: several(texts), isEmpty },
  });
  const address = fc.constantFrom(...EMAILS);
  const part = fc.constantFrom('a', 'ANNA', '_', '%', "'", '@', 'example', '.org', 'ü');
  const email = one<object>({
    ...{ is: address, isNot: address, contains: part, notContains: part, startsWith: part, endsWith: part },
    ...{
      domain: fc.constantFrom('example.org', 'example.com', 'xn--mnchen-3ya.example'),
      in: several(address),
      notIn: several(address),
    },
  });
  const ordered = <T extends number | string>(value: fc.Arbitrary<T>) =>
    fc.tuple(value, value).map(([a, b]) => (a <= b ? { from: a, to: b } : { from: b, to: a }));
  const number = one<object>({
    ...{ is: numbers, isNot: numbers, lt: numbers, lte: numbers, gt: numbers, gte: numbers },
    ...{ between: ordered(numbers), isEmpty },
  });
  const iso = isoTimes(asOf);
  const time = one<object>({
    ...{ before: iso, after: iso, on: isoDays(asOf), between: ordered(iso), inLastDays: days, inNextDays: days },
    ...{
      moreThanDaysAgo: days,
      moreThanDaysAhead: days,
      anniversaryWithinDays: fc.constantFrom(0, 1, 7, 365),
      isEmpty,
    },
  });
  const choice = one<object>({
    uids: fc.uniqueArray(fc.constantFrom(...campaigns, 'ffffffffffff0'), { minLength: 1, maxLength: 3 }),
    last: fc.constantFrom(1, 2, 10),
    startedInLastDays: days,
  });
  const atLeast = fc.constantFrom(1, 2, 3, 6);
  const did = fc.oneof(
    fc.record({ campaigns: choice, inLastDays: days }, { requiredKeys: [] }),
    fc.record({ campaigns: choice, atLeast, peopleOnly: fc.boolean() }, { requiredKeys: [] }),
  );
  const link = fc.record(
    { campaigns: choice, linkContains: fc.constantFrom('SHOP', 'sale', '%', 'äö', 'x') },
    { requiredKeys: ['linkContains'] },
  );
  const often = { inLastDays: days, atLeast: fc.constantFrom(1, 2, 3) };
  const happened = fc.oneof(
    fc.record({ event: fc.constantFrom(...EVENT_NAMES, 'never'), ...often }, { requiredKeys: ['event'] }),
    fc.record({ kind: fc.constantFrom(...DID_KINDS), ...often }, { requiredKeys: ['kind'] }),
    fc.record({ kind: fc.constantFrom('tagged', 'untagged'), tag: tags, ...often }, { requiredKeys: ['kind', 'tag'] }),
    fc.record(
      { kind: fc.constant('changed'), field: fc.constantFrom('NAME', 'AGE'), ...often },
      { requiredKeys: ['kind', 'field'] },
    ),
  );
  const field = fc.oneof(
    text.map((inner) => ({ tag: 'NAME', text: inner })),
    number.map((inner) => ({ tag: 'AGE', number: inner })),
    time.map((inner) => ({ tag: 'BORN', datetime: inner })),
    text.map((inner) => ({ tag: 'AGE', text: inner })),
    number.map((inner) => ({ tag: 'NAME', number: inner })),
    time.map((inner) => ({ tag: 'NAME', datetime: inner })),
    text.map((inner) => ({ tag: 'GONE', text: inner })),
  );
  return one<Condition>({
    ...{ email, field, source: text, createdAt: time, updatedAt: time, confirmedAt: time },
    tags: one<object>({ hasAny: several(tags), hasAll: several(tags), hasNone: several(tags) }),
    status: fc.uniqueArray(fc.constantFrom(...STATUSES), { minLength: 1 }),
    verification: fc.uniqueArray(fc.constantFrom(...VERIFICATION_WORDS), { minLength: 1 }),
    verifiedAt: time,
    ...{
      opened: did,
      clicked: fc.oneof(did, link),
      received: fc.record({ campaigns: choice, atLeast }, { requiredKeys: [] }),
    },
    ...{ did: happened, didNot: happened },
  });
}
