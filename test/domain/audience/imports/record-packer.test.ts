/** The short way of a record and the long one say the same of everybody; and a batch finds whom it has. */
import { fc } from '../../../support/property.ts';
import { describe, expect, test } from 'vitest';
import { CsvScanner } from '../../../../src/domain/audience/imports/csv-scanner.ts';
import { ImportBatch } from '../../../../src/domain/audience/imports/import-batch.ts';
import { PackedPeople } from '../../../../src/domain/audience/imports/packed-people.ts';
import { createPersonReader, type Person } from '../../../../src/domain/audience/imports/person.ts';
import { RecordPacker } from '../../../../src/domain/audience/imports/record-packer.ts';

const reader = createPersonReader({
  columns: [
    { header: 'a', target: 'TEXT' },
    { header: 'b', target: 'EMAIL' },
    { header: 'c', target: 'NUMBER' },
    { header: 'd', target: 'DATE' },
    { header: 'e', target: null },
    { header: 'f', target: 'STATUS' },
  ],
  fields: [
    { tag: 'TEXT', type: 'text' },
    { tag: 'NUMBER', type: 'number' },
    { tag: 'DATE', type: 'datetime' },
  ],
  tag: 'of "all" \\',
});
const frame = { prefix: '7\t8\timport:x\t', commonTags: reader.commonTags };
const packer = new RecordPacker(reader);

function scannerOf(line: string | Buffer): CsvScanner {
  const scanner = new CsvScanner({ separator: ',' });
  scanner.push(Buffer.from(line), true);
  scanner.advance();
  return scanner;
}

const letters = fc.constantFrom(
  'a',
  'Z',
  '0',
  '9',
  '-',
  '_',
  '+',
  '.',
  '@',
  ' ',
  "'",
  '=',
  '"',
  '\\',
  '\t',
  '\n',
  '\r',
  '\u0000',
  '\u007f',
  '\u0085',
  '\u00a0',
  'é',
  'Ж',
  '李',
  '😀',
  '\ufffd',
  '\u3000',
  '\u200b',
  'x',
  '--',
  ':',
);
const text = fc.array(letters, { maxLength: 12 }).map((parts) => parts.join(''));
const label = fc
  .array(fc.constantFrom('a', 'B', '1', '-', 'x', 'n', '.'), { minLength: 1, maxLength: 8 })
  .map((parts) => parts.join(''));
const address = fc.oneof(
  fc
    .tuple(label, label, fc.constantFrom('com', 'c', 'c0m', 'COM', 'xn--p1ai', 'рф'))
    .map(([a, b, c]) => `${a}@${b}.${c}`),
  text,
  fc.constantFrom(
    'a@b',
    `${'a'.repeat(65)}@b.co`,
    `a@${'b'.repeat(64)}.co`,
    `a@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.${'e'.repeat(60)}.${'f'.repeat(20)}.com`,
  ),
);
const number = fc.oneof(
  fc.double().map(String),
  fc.integer().map(String),
  fc.constantFrom('1.', '.5', '-', '+1', '1e5', '1,5', '--1', '1.2.3', '007', '-.5', ''),
  text,
);
const date = fc.oneof(
  fc
    .tuple(
      fc.integer({ min: 0, max: 2100 }),
      fc.integer({ min: 0, max: 13 }),
      fc.integer({ min: 0, max: 32 }),
      fc.integer({ min: 0, max: 25 }),
      fc.integer({ min: 0, max: 61 }),
      fc.boolean(),
    )
    .map(([y, mo, d, h, mi, hasTime]) => {
      const two = (value: number) => String(value).padStart(2, '0');
      return `${String(y).padStart(4, '0')}-${two(mo)}-${two(d)}${hasTime ? ` ${two(h)}:${two(mi)}:${two(mi)}` : ''}`;
    }),
  text,
);
const quoted = (value: string) => `"${value.replaceAll('"', '""')}"`;

describe('the short way', () => {
  test('takes nobody whom the long way refuses, and says the same of everybody it takes', () => {
    let taken = 0;
    const mostly = (usual: fc.Arbitrary<string>, other: fc.Arbitrary<string>) =>
      fc.oneof({ arbitrary: usual, weight: 6 }, { arbitrary: other, weight: 1 });
    const cells = fc.tuple(
      mostly(
        fc
          .array(fc.constantFrom('Anna', 'é', 'Ж', '李', '😀', ' ', '-', '/'), { minLength: 1, maxLength: 4 })
          .map((parts) => parts.join('')),
        text,
      ),
      mostly(
        label.map((local) => `${local}@x-1.co.uk`),
        address,
      ),
      mostly(
        fc.oneof(
          fc.integer().map(String),
          fc.integer({ min: 0, max: 999 }).map((n) => `${n}.5`),
        ),
        number,
      ),
      mostly(fc.constantFrom('2026-02-28', '1999-12-01 23:59:59', '2024-02-29'), date),
      text,
      mostly(fc.constant(''), fc.constantFrom('subscribed', ' ')),
    );
    fc.assert(
      fc.property(cells, fc.boolean(), fc.integer({ min: 2, max: 6 }), (values, isQuoted, width) => {
        const line = values
          .slice(0, width)
          .map((value) => (isQuoted || /[",\r\n]/.test(value) ? quoted(value) : value))
          .join(',');
        const scanner = scannerOf(line);
        const people = new PackedPeople(frame, 4);
        if (!packer.pack(scanner, people)) return;
        taken++;
        const person = reader.read(scanner.record());
        expect(typeof person).toBe('object');
        expect(people.unpack(0)).toEqual(person);
        // What is written is what would be written of the same person the long way.
        const long = new PackedPeople(frame, 4);
        long.put({ ...(person as Person), status: undefined });
        expect(copied(people)).toBe(copied(long));
      }),
      { numRuns: 3_000 },
    );
    expect(taken).toBeGreaterThan(300);
  });

  test('leaves bytes that are no letters to the long way', () => {
    const broken = Buffer.concat([Buffer.from('na'), Buffer.from([0xff]), Buffer.from('me,a@x.com,1,2026-01-01,,')]);
    expect(packer.pack(scannerOf(broken), new PackedPeople(frame, 1))).toBe(false);
    expect(packer.pack(scannerOf('name,a@x.com,1,2026-01-01,,'), new PackedPeople(frame, 1))).toBe(true);
  });
});

function copied(people: PackedPeople): string {
  return Buffer.concat([...people.copyPieces(() => false)]).toString();
}

test('a batch keeps of every person what all lines together said', () => {
  const line = fc.record({
    n: fc.integer({ min: 0, max: 5 }),
    text: fc.constantFrom('', 'A', 'b"c', '\\', 'Ж'),
    upper: fc.boolean(),
    status: fc.constantFrom('', 'unsubscribed', 'subscribed'),
  });
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
      const batch = new ImportBatch({ reader, frame, updateExisting: true, members: undefined, linesMax: 20 });
      batch.begin(0);
      const wanted = new Map<string, { text: string | undefined; status: string | undefined }>();
      for (const { n, text, upper, status } of lines) {
        const key = `p${n}@x.com`;
        batch.add(scannerOf(`${quoted(text)},${upper ? key.toUpperCase() : key},,,,${status}`));
        const known = wanted.get(key);
        wanted.set(key, {
          text: text || known?.text,
          status: known?.status === 'unsubscribed' ? known.status : status || known?.status,
        });
      }
      expect(batch.processed).toBe(lines.length);
      const found = [...batch.people.rows()].map((row) => batch.people.unpack(row));
      expect(new Map(found.map(({ key, fields, status }) => [key, { text: fields['TEXT'], status }]))).toEqual(wanted);
      expect(found).toHaveLength(wanted.size);
      for (const key of wanted.keys()) expect(batch.people.find(key)).toBeDefined();
      expect(batch.people.find('nobody@x.com')).toBeUndefined();
      expect(copied(batch.people).split('\n')).toHaveLength(wanted.size + 1);
    }),
    { numRuns: 300 },
  );
});
