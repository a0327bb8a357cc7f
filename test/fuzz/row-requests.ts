/**
 * Generated requests for one row: right and wrong values in its path and parameters, carried in every way a client might
 * carry them, with right and wrong tokens. A request is generated as a plan, which knows nothing of any world, so that a
 * seed tells which one it was.
 */
import fc from 'fast-check';
import type { ParameterKind, RowParameter } from '../../src/rest-facade/row-parameters.ts';

/** A value to be found when the request is made, or one that is as it is. */
export type Planned = { readonly from: 'right' } | { readonly from: 'other tenant' } | { readonly value: unknown };

export interface RequestPlan {
  /** One per slot of the path. */
  readonly slots: readonly Planned[];
  readonly parameters: readonly (readonly [name: string, value: Planned])[];
  readonly carrier: 'query' | 'json' | 'form' | 'multipart' | 'split';
  readonly body: 'whole' | 'cut off' | 'mislabelled';
  readonly token: 'right' | 'none' | 'rubbish' | 'other tenant' | 'in the query' | 'in the body';
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly head: boolean;
}

const odd = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.constantFrom(
    '',
    ' ',
    '\0',
    '\r\n',
    '\ud800',
    '%',
    '%00',
    '../..',
    "'",
    '"',
    '\\',
    '`',
    '--',
    ';',
    '{{',
    '{%',
    '{',
    '<',
  ),
  fc.constantFrom('null', 'undefined', 'NaN', 'Infinity', '-0', '0', '1', '-1', '1e308', '0x10', '1_000', '１'),
  fc.constantFrom("' OR 1=1 --", '$1', '1; SELECT pg_sleep(5)', '{"$gt": ""}', '*)(uid=*', 'x'.repeat(300)),
  fc.constantFrom(
    '2030-02-30',
    '0000-00-00 00:00:00',
    '9999-12-31 23:59:59',
    '-271821-04-20',
    '2030-01-01T00:00:00+99:99',
  ),
  fc.constantFrom(
    'a@b',
    'a@[127.0.0.1]',
    '"a b"@example.com',
    `${'a'.repeat(64)}@${'b'.repeat(63)}.example`,
    'ä@ö.example',
  ),
  fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', 'then'),
  fc.string({ minLength: 2_000, maxLength: 5_000 }),
);
const number = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -0, -1, 2 ** 31, 2 ** 53, Number.MAX_VALUE, 5e-324, 1.5),
);
/** JSON of any kind, not deep: depth has a test of its own. */
const anything = fc.oneof(
  { weight: 6, arbitrary: odd },
  { weight: 2, arbitrary: number },
  { weight: 1, arbitrary: fc.constantFrom(null, true, false, [], {}) },
  { weight: 1, arbitrary: fc.array(fc.oneof(odd, number, fc.constant(null)), { maxLength: 5 }) },
  { weight: 1, arbitrary: fc.dictionary(fc.string({ maxLength: 10 }), fc.oneof(odd, number), { maxKeys: 5 }) },
);

const byKind: Readonly<Record<ParameterKind, fc.Arbitrary<unknown>>> = {
  text: odd,
  integer: fc.oneof(number, number.map(String)),
  flag: fc.constantFrom(0, 1, '0', '1', true, false, 'true', 'false', 'yes', 'no', 'on', 'off', 'maybe', 2),
  time: fc.oneof(
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 19).replace('T', ' ')),
    odd,
  ),
  object: anything,
  file: fc.constant('people.csv'),
  any: anything,
};

const hosts = fc.constantFrom('127.0.0.1', '', 'no such host', '169.254.169.254', '::1', 'a\r\nb', 'x'.repeat(300));
const addresses = fc.constantFrom(
  ...['http://127.0.0.1:9/a.png', 'http://169.254.169.254/latest', 'file:///etc/passwd', 'nonsense', ''],
  ...['http://[::1]/', 'ftp://127.0.0.1/x', 'http://user:secret@127.0.0.1:9/', 'data:text/plain,x'],
);

/**
 * Names that would be looked up far away: a resolver that does not answer is no fault of the row. So these get values that
 * are decided here.
 */
const nearby: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  settings: fc.oneof(
    fc.record({ host: hosts, port: fc.oneof(fc.constant(9), number), encryption: odd }, { requiredKeys: [] }),
    fc.record({
      host: hosts,
      port: fc.constant('9'),
      encryption: fc.constantFrom('none', 'tls', 'starttls'),
      username: odd,
    }),
    fc.constantFrom('x', [], null, 5, {}),
  ),
  files: fc.oneof(
    fc.array(fc.record({ url: addresses, subdirectory: odd }, { requiredKeys: ['url'] }), { maxLength: 3 }),
    fc.array(fc.record({ url: addresses }), { maxLength: 3 }).map((files) => JSON.stringify(files)),
    fc.constantFrom('x', '[', [], null, 5, {}, [null], ['x'], '[1]', '{"url":1}'),
  ),
  url: addresses,
};

const slot: fc.Arbitrary<Planned> = fc.oneof(
  { weight: 7, arbitrary: fc.constant<Planned>({ from: 'right' }) },
  { weight: 1, arbitrary: fc.constant<Planned>({ from: 'other tenant' }) },
  { weight: 2, arbitrary: odd.map((value): Planned => ({ value })) },
);

/** Plans for a row with these slots and parameters. */
export function requestPlans(slotCount: number, parameters: readonly RowParameter[]): fc.Arbitrary<RequestPlan> {
  const values = parameters.map(({ names, kind }) =>
    fc.tuple(
      fc.constantFrom(...names),
      fc.oneof(
        { weight: 4, arbitrary: fc.constant<Planned | undefined>({ from: 'right' }) },
        { weight: 2, arbitrary: fc.constant<Planned | undefined>(undefined) },
        {
          weight: 3,
          arbitrary: (nearby[names[0] ?? ''] ?? byKind[kind]).map((value): Planned | undefined => ({ value })),
        },
        {
          weight: 1,
          arbitrary: (nearby[names[0] ?? ''] ?? anything).map((value): Planned | undefined => ({ value })),
        },
      ),
    ),
  );
  const unknown = fc.array(
    fc.tuple(
      odd,
      anything.map((value): Planned => ({ value })),
    ),
    { maxLength: 2 },
  );
  return fc.record({
    slots: fc.array(slot, { minLength: slotCount, maxLength: slotCount }),
    parameters: fc
      .tuple(fc.tuple(...values), fc.option(unknown, { freq: 5, nil: [] }))
      .map(([known, more]) => [
        ...known.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
        ...more,
      ]),
    carrier: fc.constantFrom('query', 'json', 'json', 'form', 'multipart', 'split'),
    body: mostly('whole', 'cut off', 'mislabelled'),
    token: mostly('right', 'none', 'rubbish', 'other tenant', 'in the query', 'in the body'),
    headers: fc.array(header, { maxLength: 3 }),
    head: fc.integer({ min: 0, max: 19 }).map((no) => no === 0),
  });
}

const header = fc.constantFrom<readonly [string, string]>(
  ...([
    ['X-Api-Dialect', 'classic'],
    ['X-Api-Dialect', 'standard'],
    ['X-Api-Dialect', 'x'],
    ['Accept', 'text/html'],
    ['Accept-Language', 'xx'],
    ['Idempotency-Key', 'one'],
    ['Idempotency-Key', '"two"'],
    ['Idempotency-Key', 'x'.repeat(300)],
    ['Content-Encoding', 'gzip'],
    ['X-Forwarded-For', '1.2.3.4, x'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['Range', 'bytes=0-1'],
    ['If-None-Match', '*'],
    ['Cookie', 'session=x; mailwright_session=x'],
    ['Origin', 'https://evil.example'],
  ] as const),
);

/** The first of them nine times of ten. */
function mostly<Name extends string>(usual: Name, ...others: readonly Name[]): fc.Arbitrary<Name> {
  return fc.oneof(
    { weight: 9, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(usual, ...others) },
  );
}
