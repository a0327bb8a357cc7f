/** Archives that would write outside of their folder, or fill the disk (hard cases F11, F12): all are refused before the first write. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';
import zlib from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { ArchiveError, type ArchiveLimits } from '../../../src/lib/archive/archive-rules.ts';
import { unpackArchive } from '../../../src/lib/archive/unpack-archive.ts';
import { afterFile } from '../../support/after-file.ts';
import { paxOf, tarOf, tgzOf, zipOf, type Packed } from '../../support/archives.ts';

const place = mkdtempSync(path.join(os.tmpdir(), 'mailwright-archives-'));
afterFile(() => rmSync(place, { recursive: true, force: true }));
const folder = path.join(place, 'unpacked');
const LIMITS: ArchiveLimits = { entriesMax: 2_000, bytesMax: 200_000_000, fileBytesMax: 50_000_000 };
/** It stands before the fault in each archive: a reader that writes at once would have written it. */
const GOOD: Packed = { name: 'package.json', content: '{}' };

const unpack = (archive: Buffer) => unpackArchive(archive, { folder, limits: LIMITS, root: '' });

/** A second is promised on an idle machine; ten gigabytes would take ten times this. */
const PROCESSOR_MICROSECONDS_MAX = 3_000_000;

async function refused(archive: Buffer): Promise<string> {
  const before = process.cpuUsage();
  // Where no folder can be made: whoever writes before all was checked fails there, with another error.
  const nowhere = path.join(place, 'missing', 'unpacked');
  const error = await unpackArchive(archive, { folder: nowhere, limits: LIMITS, root: '' }).then(
    () => expect.fail('The archive was unpacked.'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ArchiveError);
  expect(readdirSync(place)).toEqual([]);
  const { user, system } = process.cpuUsage(before);
  expect(user + system).toBeLessThan(PROCESSOR_MICROSECONDS_MAX);
  return error instanceof Error ? error.message : '';
}

const NAMES = [
  ...[
    '../out',
    'a/../../out',
    '..',
    'a/..',
    './../out',
    '/etc/passwd',
    '//host/share',
    '\\out',
    'a\\..\\..\\out',
    '..\\out',
  ],
  ...[
    'C:/out',
    'c:out',
    'a/./b',
    'a//b',
    'a\0b',
    'a\nb',
    'a\u202eb',
    'a\u2028b',
    'a*',
    'a?',
    'a|b',
    'a"b',
    'a<b',
    '.. /out',
  ],
  ...['...', 'a/...', 'end.', 'end ', 'a/ ', 'x'.repeat(256), `${'long/'.repeat(90)}x`, `${'d/'.repeat(40)}x`],
];

describe.each([
  ['zip', zipOf],
  ['tgz', tgzOf],
] as const)('%s', (kind, pack) => {
  test.for(NAMES.filter((name) => kind === 'zip' || !name.includes('\0')))('the name %j is refused', async (name) => {
    expect(await refused(pack([GOOD, { name, content: 'x' }]))).toMatch(/name/);
  });

  test('names that are not UTF-8 are refused', async () => {
    const archive = pack([GOOD, { name: 'NAME', content: 'x', method: 0 }]);
    const tar = kind === 'zip' ? archive : zlib.gunzipSync(archive);
    for (let at = tar.indexOf('NAME'); at >= 0; at = tar.indexOf('NAME', at + 1)) tar[at] = 0xff;
    if (kind === 'zip') expect(await refused(tar)).toContain('UTF-8');
    // Its checksum is then wrong as well.
    else await refused(zlib.gzipSync(tar));
  });

  test.for([
    ['the same name twice', ['a', 'a']],
    ['names that differ in case', ['a/B', 'a/b']],
    ['folders that differ in case', ['A/x', 'a/y']],
    ['names that differ in how an accent is written', ['caf\u00e9', 'cafe\u0301']],
    ['a file that is also a folder', ['a', 'a/b']],
    ['a folder that is also a file', ['a/b', 'a']],
  ] as const)('%s: refused', async ([, names]) => {
    expect(await refused(pack([GOOD, ...names.map((name) => ({ name, content: name }))]))).toMatch(/twice|one file/);
  });

  test('more than 2,000 entries are refused', async () => {
    const many = Array.from({ length: 2_001 }, (_, no) => ({ name: `f${no}`, content: `${Math.random()}` }));
    expect(await refused(pack(many))).toContain('more than 2000');
  });

  test('a bomb is cut: much more than it is packed', async () => {
    expect(await refused(pack([GOOD, { name: 'zeros', content: Buffer.alloc(40_000_000) }]))).toContain('100 to one');
  });

  test('more than 200 MB in all, and a file of more than 50 MB, are refused', async () => {
    const quarter = Buffer.alloc(45_000_000, Buffer.from('0123456789abcdefghijklmnopqrstuvwxyz'.repeat(7)));
    const wide = await unpackArchive(pack([{ name: 'one', content: Buffer.concat([quarter, quarter]) }]), {
      ...{ folder, root: '', limits: { ...LIMITS, bytesMax: 60_000_000, fileBytesMax: 60_000_000 } },
    }).catch((error: Error) => error.message);
    expect(wide).toMatch(/larger than 60|more than 60|100 to one/);
    expect(existsSync(folder)).toBe(false);
  });

  test('an archive within the archive stays a file', async () => {
    const inner = zipOf([{ name: '../out', content: 'x' }]);
    await unpack(pack([GOOD, { name: 'inner.zip', content: inner }]));
    expect(readFileSync(path.join(folder, 'inner.zip'))).toEqual(inner);
    expect(readdirSync(place)).toEqual(['unpacked']);
    rmSync(folder, { recursive: true });
  });

  test('one that is cut short at any place is refused', async () => {
    const whole = pack([GOOD, { name: 'a/b.ts', content: 'export const b = 1;\n'.repeat(40) }]);
    for (let length = 0; length < whole.length; length += Math.ceil(whole.length / 60))
      await refused(whole.subarray(0, length));
  });

  test('a usual one is written as it is, with its folders', async () => {
    const long = `src/${'deep-folder-with-a-name/'.repeat(5)}file.ts`;
    await unpack(pack([GOOD, { name: 'src/index.ts', content: 'x' }, { name: 'empty' }, { name: long, content: 'é' }]));
    expect(readFileSync(path.join(folder, long), 'utf8')).toBe('é');
    expect(readFileSync(path.join(folder, 'empty'), 'utf8')).toBe('');
    rmSync(folder, { recursive: true });
  });
});

describe('tgz', () => {
  test.for([
    ['a hard link', '1'],
    ['a symbolic link', '2'],
    ['a character device', '3'],
    ['a block device', '4'],
    ['a pipe', '6'],
    ['a contiguous file', '7'],
    ['a sparse file of GNU', 'S'],
    ['a long link of GNU', 'K'],
    ['an unknown type', 'Z'],
  ] as const)('%s is refused', async ([, type]) => {
    expect(await refused(tgzOf([GOOD, { name: 'a', type, link: '/etc/passwd' }]))).toContain('link');
  });

  test.for([
    ['a size', 'x', paxOf('size', '1')],
    ['a link', 'x', paxOf('linkpath', '/etc/passwd')],
    ['holes', 'x', paxOf('GNU.sparse.major', '1')],
    ['a name for all files', 'g', paxOf('path', 'b')],
  ] as const)('%s in attributes is refused', async ([, type, content]) => {
    expect(await refused(tgzOf([GOOD, { name: 'pax', type, content }, { name: 'a' }]))).toContain('attributes');
  });

  test.for([
    ['a name in attributes', { name: 'pax', type: 'x', content: paxOf('path', '../out') }],
    ['a long name of GNU', { name: 'long', type: 'L', content: '../out\0' }],
  ] as const)('%s is checked, too', async ([, record]) => {
    expect(await refused(tgzOf([GOOD, record, { name: 'a', content: 'x' }]))).toContain('not allowed');
  });

  test('a wrong checksum, something after the end, a size that lies: refused', async () => {
    const tar = tarOf([GOOD, { name: 'a', content: 'x' }]);
    const broken = Buffer.from(tar);
    broken[5] = 65;
    await refused(zlib.gzipSync(broken));
    await refused(zlib.gzipSync(Buffer.concat([tar, tarOf([{ name: '../late', content: 'x' }])])));
    await refused(tgzOf([GOOD, { name: 'a', content: 'x', size: 100_000 }]));
    await refused(tgzOf([GOOD, { name: 'folder', type: '5', size: 512, content: 'x' }]));
  });

  test('a bomb of 10 GB is cut while it is unpacked', async () => {
    // Zeros after the end of the tar: a thousand times the same packed megabyte.
    const zeros = zlib.gzipSync(Buffer.alloc(100_000_000));
    await refused(Buffer.concat([tgzOf([GOOD]), ...Array.from({ length: 100 }, () => zeros)]));
    // Files of a size that is allowed, packed ninety to one.
    const noise = Buffer.alloc(45_000_000, Buffer.concat([Buffer.alloc(30_000, 'a'), randomBytes(400)]));
    const files = Array.from({ length: 5 }, (_, no) =>
      tarOf([{ name: `f${no}`, content: noise }], { end: Buffer.alloc(0) }),
    );
    await refused(Buffer.concat(files.map((file) => zlib.gzipSync(file, { level: 1 }))));
  });

  test('what tar and git write is read', async () => {
    const tar = execFileSync('tar', ['-cz', '-C', path.resolve('src/plugin-api'), '.'], { maxBuffer: 10_000_000 });
    await unpack(tar);
    expect(readdirSync(folder)).toEqual(readdirSync(path.resolve('src/plugin-api')));
    rmSync(folder, { recursive: true });
  });
});

describe('zip', () => {
  test.for([
    ['a symbolic link', { mode: 0o120777 }],
    ['a device', { mode: 0o020644 }],
    ['a pipe', { mode: 0o010644 }],
    ['a file that says it is a folder', { mode: 0o040755 }],
  ])('%s is refused', async ([, lie]) => {
    expect(await refused(zipOf([GOOD, { name: 'a', content: 'x', ...(lie as object) }]))).toContain('link');
  });

  test.for<[string, Partial<Packed>]>([
    ['another name in the header', { localName: '../o' }],
    ['another size in the header', { localSize: 5 }],
    ['a smaller size than it has', { size: 1 }],
    ['a larger size than it has', { size: 1_000 }],
    ['a wrong checksum', { crc: 1 }],
    ['encryption', { flags: 0x0801 }],
    ['a patch', { flags: 0x0820 }],
    ['an unknown method', { method: 12 }],
    ['sizes of very large files', { extra: Buffer.from([1, 0, 0, 0]) }],
    ['a second name', { extra: Buffer.from([0x75, 0x70, 0, 0]) }],
    ['the content of another file', { offsetOf: 0 }],
  ])('%s: refused', async ([, lie]) => {
    await refused(zipOf([GOOD, { name: 'four', content: 'a text of some length', ...lie }]));
  });

  test('overlapping files are refused', async () => {
    const one = { name: 'a', content: 'x', method: 0 };
    const twice = zipOf([one, { ...one, offsetOf: 0 }]);
    await refused(twice);
  });

  test('a wrong number of entries, a prefix, something after the end: refused', async () => {
    await refused(zipOf([GOOD], { count: 2 }));
    await refused(zipOf([GOOD, { name: 'b' }], { count: 1 }));
    await refused(Buffer.concat([zipOf([GOOD]), Buffer.from('more')]));
    await refused(Buffer.concat([Buffer.from('PK'), zipOf([GOOD])]));
    // A second end in the comment.
    await refused(zipOf([GOOD], { comment: zipOf([{ name: 'other' }]).toString('latin1') }));
  });

  test('a header that leaves the sizes to a later place is read', async () => {
    const zip = zipOf([{ ...GOOD, flags: 0x0808 }]);
    for (const at of [14, 18, 22]) zip.writeUInt32LE(0, at);
    await unpack(zip);
    expect(readFileSync(path.join(folder, 'package.json'), 'utf8')).toBe('{}');
    rmSync(folder, { recursive: true });
  });
});

test('what is no archive is refused', async () => {
  for (const text of ['', 'P', 'PK', '<html>', '\u001f']) await refused(Buffer.from(text));
});
