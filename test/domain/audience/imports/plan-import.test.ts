/** How a file is understood: encoding, separator, header, columns; and files that cannot be taken. */
import { describe, expect, test } from 'vitest';
import { detectEncoding } from '../../../../src/domain/audience/imports/file-encoding.ts';
import { reportText } from '../../../../src/domain/audience/imports/import-report.ts';
import { planImport } from '../../../../src/domain/audience/imports/plan-import.ts';
import type { ColumnMapping } from '../../../../src/domain/audience/imports/list-import.ts';
import { ValidationError } from '../../../../src/lib/errors.ts';

const fields = [
  { tag: 'FIRST_NAME', label: 'First name' },
  { tag: 'LAST_NAME', label: 'Last name' },
  { tag: 'CITY', label: 'Town of residence' },
];

/** The plan, with its notices as they are shown. */
function plan(text: string | Buffer, mapping: ColumnMapping = {}) {
  const made = planImport({ start: Buffer.from(text), isWhole: true, fields, mapping });
  return { ...made, notices: made.notices.map(reportText) };
}
const targets = (text: string, mapping?: ColumnMapping) => plan(text, mapping).columns.map(({ target }) => target);

function faultOf(work: () => unknown): ValidationError['fields'] {
  try {
    work();
  } catch (error) {
    if (error instanceof ValidationError) return error.fields;
    throw error;
  }
  throw new Error('Nothing was refused.');
}

describe('encoding', () => {
  const text = 'email,name\nélodie@example.com,Élodie Çağlar – “naïve” façade, déjà vu à Genève\n';
  const detect = (bytes: Uint8Array) => detectEncoding({ first: bytes, beyondAscii: bytes });
  test('UTF-8 with and without a mark, and cut in the middle of letters', () => {
    expect(detect(Buffer.from(text))).toBe('utf-8');
    expect(detect(Buffer.from(`\ufeff${text}`))).toBe('utf-8');
    const cut = Buffer.from('é李😀'.repeat(50));
    for (let start = 0; start < 4; start++)
      for (let end = 0; end < 4; end++) expect(detect(cut.subarray(start, cut.length - end))).toBe('utf-8');
  });
  test('UTF-16 in both orders, with and without a mark', () => {
    const little = Buffer.from(text, 'utf16le');
    const big = Buffer.from(little).swap16();
    expect(detect(little)).toBe('utf-16le');
    expect(detect(big)).toBe('utf-16be');
    expect(detect(Buffer.concat([Buffer.from([0xff, 0xfe]), little]))).toBe('utf-16le');
    expect(detect(Buffer.concat([Buffer.from([0xfe, 0xff]), big]))).toBe('utf-16be');
  });
  test('what spreadsheets of the West write', () => {
    expect(detect(Buffer.from('email;prénom\na@b.fr;Hélène\nc@d.fr;François\n', 'latin1'))).toBe('windows-1252');
  });
  test('Cyrillic and Japanese by their letters', () => {
    const russian = [
      0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2, 0x2c, 0x20, 0xec, 0xe8, 0xf0, 0x20, 0xea, 0xe0, 0xea, 0x20, 0xe4, 0xe5, 0xeb,
      0xe0, 0x3f, 0x0a,
    ];
    expect(detect(Buffer.from(Array.from({ length: 20 }, () => russian).flat()))).toBe('windows-1251');
    const japanese = [
      0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea, 0x82, 0xcc, 0x83, 0x74, 0x83, 0x40, 0x83, 0x43, 0x83, 0x8b, 0x0a,
    ];
    expect(detect(Buffer.from(Array.from({ length: 20 }, () => japanese).flat()))).toBe('shift_jis');
  });
  test('plain ASCII is UTF-8', () => {
    expect(detectEncoding({ first: Buffer.from('email\na@b.co\n'), beyondAscii: undefined })).toBe('utf-8');
  });
});

describe('separator', () => {
  test.each([',', ';', '\t', '|'])('%j', (separator) => {
    const text =
      ['email', 'first name', 'city', 'note'].join(separator) +
      '\n' +
      ['a@x.com', 'Anna', '"Berg, am"', 'a;b']
        .map((cell) => (cell.includes(separator) ? `"${cell.replaceAll('"', '')}"` : cell))
        .join(separator) +
      '\n';
    expect(plan(text)).toMatchObject({ separator, hasHeader: true });
  });
  test('one column has none', () => {
    expect(plan('email\na@x.com\nb@x.com\n')).toMatchObject({
      separator: ',',
      columns: [{ header: 'email', target: 'EMAIL' }],
    });
  });
  test('a file may announce its own', () => {
    expect(plan('sep=;\r\nemail;first name\r\na@x.com;A,B\r\n')).toMatchObject({
      separator: ';',
      bytesProcessed: 25,
      linesProcessed: 2,
    });
  });
  test('commas in text do not win over semicolons between cells', () => {
    expect(plan('email;city\na@x.com;Bath, UK\nb@x.com;York, UK\n').separator).toBe(';');
  });
});

describe('columns', () => {
  test.each([
    'E-mail',
    'EMAIL',
    'email_address',
    'Email Address',
    'E-Mail-Adresse',
    'Courriel',
    'メールアドレス',
    'Correo electrónico',
  ])('%s is the address', (name) => {
    expect(targets(`${name},x\na@x.com,1\n`)).toEqual(['EMAIL', null]);
  });
  test('fields by tag, label and usual names', () => {
    expect(targets('mail,First Name,surname,Town of Residence,other\na@x.com,A,B,C,D\n')).toEqual([
      'EMAIL',
      'FIRST_NAME',
      'LAST_NAME',
      'CITY',
      null,
    ]);
    expect(targets('mail,Prénom,Nachname,city,STATUS,tags\na@x.com,A,B,C,subscribed,x\n')).toEqual([
      'EMAIL',
      'FIRST_NAME',
      'LAST_NAME',
      'CITY',
      'STATUS',
      'TAGS',
    ]);
  });
  test('our own names go before a label of that spelling, and the mapping before both', () => {
    const labelled = fields.map((field) => (field.tag === 'CITY' ? { ...field, label: 'Status' } : field));
    const read = (mapping: ColumnMapping) =>
      planImport({ start: Buffer.from('email,status\na@x.com,x\n'), isWhole: true, fields: labelled, mapping }).columns;
    expect(read({}).map(({ target }) => target)).toEqual(['EMAIL', 'STATUS']);
    expect(read({ status: 'CITY' }).map(({ target }) => target)).toEqual(['EMAIL', 'CITY']);
  });
  test('what is not taken is said', () => {
    expect(plan('email,Shoe size\na@x.com,44\n').notices).toEqual([
      'Not imported, because no field of the list has their name: “Shoe size”.',
    ]);
  });
  test('the first of two columns of one name wins', () => {
    expect(targets('email,first name,FIRST_NAME\na@x.com,A,B\n')).toEqual(['EMAIL', 'FIRST_NAME', null]);
  });
  test('the uploader decides: by header without case, by number, and nothing', () => {
    const text = 'email,first name,Ort,x\na@x.com,A,B,C\n';
    expect(targets(text, { ORT: 'CITY', '4': 'LAST_NAME', 'First Name': null })).toEqual([
      'EMAIL',
      null,
      'CITY',
      'LAST_NAME',
    ]);
    expect(faultOf(() => plan(text, { Nope: 'CITY', ort: 'SHOE' }))).toEqual({
      'mapping.Nope': ['The file has no such column.'],
      'mapping.ort': ['The list has no field with the tag SHOE.'],
    });
  });
  test('an address column without a name is found by what stands in it', () => {
    expect(plan('who,where\na@x.com,Bath\nb@x.com,York\n')).toMatchObject({
      columns: [{ target: 'EMAIL' }, { target: null }],
      notices: ['The addresses are taken from column “who”.', expect.stringContaining('“where”')],
    });
  });
  test('without a header the first line is a person', () => {
    expect(plan('Anna,a@x.com\nBen,b@x.com\n')).toMatchObject({
      ...{ hasHeader: false, bytesProcessed: 0, linesProcessed: 0, columns: [{ target: null }, { target: 'EMAIL' }] },
      notices: expect.arrayContaining(['The file has no header line: its first line is a person.']),
    });
    expect(targets('Anna,a@x.com\n', { 1: 'FIRST_NAME' })).toEqual(['FIRST_NAME', 'EMAIL']);
  });
  test('people begin behind mark, empty lines and header', () => {
    expect(plan('\ufeff\nemail\r\na@x.com\r\n')).toMatchObject({ bytesProcessed: 11, linesProcessed: 2 });
  });
});

test.each([
  ['closes a quote and opens one', 'a","\n'],
  ['opens a quote', 'a@x.com,"Bob\n'],
])('a file of which each line %s is planned at once', (_, line) => {
  const { columns } = plan(`email,name\nb@x.com,B\n${line.repeat(250_000 / line.length)}`);
  expect(columns).toMatchObject([{ target: 'EMAIL' }, { target: null }]);
});

describe('files that cannot be taken', () => {
  test.each([
    ['nothing', Buffer.alloc(0), 'empty'],
    ['blank lines', Buffer.from('\n\n  \n'), 'empty'],
    ['a spreadsheet', Buffer.from('PK\u0003\u0004xlsx'), 'Save it as CSV'],
    ['a picture', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 0]), 'no text file'],
    ['no addresses', Buffer.from('name,city\nAnna,Bath\n'), 'No column contains email addresses'],
  ])('%s', (_, bytes, words) => {
    expect(faultOf(() => plan(bytes))['file']?.[0]).toContain(words);
  });
});
