/** The CSV reader in every cut of the bytes, and on what people really upload. */
import { fc } from '../../../support/property.ts';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { CsvReader, RECORD_BYTES_MAX, type CsvRecord } from '../../../../src/domain/audience/imports/csv-reader.ts';
import { csvLine } from '../../../../src/lib/csv.ts';

/** Of a file, as an import reads it; each byte may be looked at so often. */
const PIECE_BYTES = 64 * 1024;
const READ_FACTOR_MAX = 6;

function read(text: string | Buffer, { separator = ',', pieceBytes = 1 << 20 } = {}): CsvRecord[] {
  const bytes = Buffer.from(text);
  const reader = new CsvReader({ separator });
  const records: CsvRecord[] = [];
  for (let at = 0; at < Math.max(1, bytes.length); at += pieceBytes)
    records.push(...reader.push(bytes.subarray(at, at + pieceBytes), at + pieceBytes >= bytes.length));
  return records;
}

const cellsOf = (text: string, options = {}) => read(text, options).map(({ cells }) => cells);

// Letters of one, two, three and four bytes, and everything that has a meaning.
const piece = fc.constantFrom(
  'a',
  'B',
  '7',
  'é',
  'Ж',
  '李',
  '😀',
  ' ',
  '"',
  ',',
  ';',
  '\n',
  '\r\n',
  '\r',
  '\t',
  "'",
  '=',
);
const cell = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
const table = fc
  .integer({ min: 1, max: 5 })
  .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 8 }));
const quoted = (value: string) => `"${value.replaceAll('"', '""')}"`;

describe('well-formed files', () => {
  test('read as csv-parse reads them, however the bytes are cut', () => {
    fc.assert(
      fc.property(
        table,
        fc.constantFrom(',', ';', '\t', '|'),
        fc.constantFrom('\n', '\r\n'),
        fc.integer({ min: 1, max: 40 }),
        (rows, separator, lineEnd, pieceBytes) => {
          const text = rows.map((row) => row.map(quoted).join(separator)).join(lineEnd);
          const wanted = parse(text, { delimiter: separator, record_delimiter: lineEnd, skip_empty_lines: false });
          expect(cellsOf(text, { separator, pieceBytes })).toEqual(wanted);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('give back what csvLine wrote', () => {
    fc.assert(
      fc.property(table, fc.integer({ min: 1, max: 40 }), (rows, pieceBytes) => {
        const read = cellsOf(rows.map(csvLine).join(''), { pieceBytes });
        const unguarded = read.map((row) =>
          row.map((value) => (/^'+[=+\-@\t\r]/.test(value) ? value.slice(1) : value)),
        );
        expect(unguarded).toEqual(rows);
      }),
      { numRuns: 500 },
    );
  });
});

test('any bytes at all: every byte belongs to exactly one record, and cuts change nothing', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), fc.integer({ min: 1, max: 7 }), (pieces, pieceBytes) => {
      const text = pieces.join('');
      const whole = read(text);
      expect(read(text, { pieceBytes })).toEqual(whole);
      expect(whole.at(-1)?.end ?? 0).toBe(Buffer.byteLength(text));
      const ends = whole.map(({ end }) => end);
      expect(ends).toEqual([...new Set(ends)].toSorted((a, b) => a - b));
      // Read on from any record's end, the rest is the same.
      for (const [index, { end, line, lines }] of whole.entries()) {
        const reader = new CsvReader({ separator: ',', offset: end, line: line + lines });
        expect(reader.push(Buffer.from(text).subarray(end), true).next().value).toEqual(whole[index + 1]);
      }
    }),
    { numRuns: 500 },
  );
});

describe('what people upload', () => {
  test('line ends of every system, and none at the end', () => {
    expect(cellsOf('a,b\r\nc,d\re,f\ng,h')).toEqual([
      ['a', 'b'],
      ['c', 'd'],
      ['e', 'f'],
      ['g', 'h'],
    ]);
  });

  test('blanks of every kind before a quoted cell go, wherever the bytes are cut', () => {
    const blanks = Array.from({ length: 0x10000 }, (_none, code) => String.fromCharCode(code)).filter(
      (character) => character.trim() === '' && !'\n\r'.includes(character),
    );
    expect(blanks.length).toBeGreaterThan(20);
    for (const blank of blanks)
      for (const pieceBytes of [1, 2, 3, 100])
        expect(cellsOf(`a,${blank}${blank}"b, c"${blank},d\n`, { pieceBytes }), blank).toEqual([['a', 'b, c', 'd']]);
  });
  test('blanks around cells go, inside quotes they stay', () => {
    expect(cellsOf(' a , "b, c" ,"  d "\n')).toEqual([['a', 'b, c', '  d ']]);
  });

  test('quotes in the middle of a cell are letters', () => {
    expect(cellsOf('5" disk,a"b"c\n')).toEqual([['5" disk', 'a"b"c']]);
  });

  test('what follows a closing quote belongs to the cell', () => {
    expect(cellsOf('"Anna" Berg,"a""b" c,x\n')).toEqual([['Anna Berg', 'a"b c', 'x']]);
  });

  test('a quote that stays open spoils its line only', () => {
    const [broken, next] = read('"open,a@x.com\nb@x.com,B\n');
    expect(broken).toMatchObject({ isBroken: true, line: 1 });
    expect(next).toMatchObject({ isBroken: false, line: 2, cells: ['b@x.com', 'B'] });
  });

  test('so does one in a file larger than memory should hold', () => {
    const lines = 'person@example.com,Name\n'.repeat(RECORD_BYTES_MAX / 12);
    const records = read(`"open\n${lines}`, { pieceBytes: 100_000 });
    expect(records[0]).toMatchObject({ isBroken: true, cells: ['"open'] });
    expect(records).toHaveLength(1 + lines.length / 24);
    expect(records.at(-1)).toMatchObject({ cells: ['person@example.com', 'Name'], line: records.length });
  });

  test.each([
    ['every line closes a quote and opens one', `email,name\nb@x.com,B\n${'a","\n'.repeat(50_000)}`, 50_002],
    ['every line opens a quote', 'a@x.com,"Bob\n'.repeat(20_000), 20_000],
    ['no quote after the first', `"a\n${'b\n'.repeat(1_000_000)}`, 1_000_001],
    ['two ways through the lines', 'a,"" ""\n,"\n'.repeat(200_000), undefined],
  ])('no byte is read over and over: %s', (_, text, count) => {
    const bytes = Buffer.from(text);
    const reader = new CsvReader({ separator: ',' });
    let records = 0;
    for (let at = 0; at < bytes.length; at += PIECE_BYTES)
      records += [...reader.push(bytes.subarray(at, at + PIECE_BYTES), at + PIECE_BYTES >= bytes.length)].length;
    if (count !== undefined) expect(records).toBe(count);
    expect(reader.bytesRead).toBeLessThan(READ_FACTOR_MAX * bytes.length);
  });

  test('records are made one by one, when they are asked for', () => {
    const reader = new CsvReader({ separator: ',' });
    const records = reader.push(Buffer.from('a@x.com,"Bob\n'.repeat(20_000)), true);
    expect(records.next().value).toMatchObject({ isBroken: true, cells: ['a@x.com,"Bob'] });
    expect(reader.bytesRead).toBeLessThan(200);
  });

  test('lines are counted through line breaks in cells', () => {
    expect(read('a,"b\nc\r\nd"\ne,f\n').map(({ line, lines }) => [line, lines])).toEqual([
      [1, 3],
      [4, 1],
    ]);
  });

  test('an empty file has no records, an empty line has one empty cell', () => {
    expect(read('')).toEqual([]);
    expect(cellsOf('\n\n')).toEqual([[''], ['']]);
  });
});
