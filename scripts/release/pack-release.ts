/** `release -- pack`: makes a signed archive of the program that `/upgrade` accepts. The same files make the same bytes. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../../src/lib/errors.ts';
import { readRelease } from '../../src/release-host/read-release.ts';
import { ARCHIVE_BYTES_MAX } from '../../src/release-host/release-host.ts';
import { signArchive, type Signed } from '../support/sign-archive.ts';
import { tarGz } from '../support/tar-gz.ts';
import { ToolError } from '../support/tool-error.ts';
import { refuseWithin } from './make-keys.ts';
import { changesOf, releaseFiles } from './release-files.ts';

interface PackOptions {
  /** The folder of the program. */
  readonly root: string;
  /** A file with the private key. */
  readonly sign: string;
  /** The archive's file; undefined: one beside the folder of the program, named after the version. */
  readonly out: string | undefined;
  /** Also what is not committed. */
  readonly withChanges: boolean;
}

/** Writes the archive and returns how to upgrade to it. Throws ToolError when an installation would refuse it. */
export async function packRelease({ root, sign: keyFile, out, withChanges }: PackOptions): Promise<string> {
  const changes = withChanges ? '' : changesOf(root);
  if (changes !== '')
    throw new ToolError(`Not all is committed. Commit it first, or add --with-changes.\n${changes.trimEnd()}`);
  refuseWithin(path.resolve(keyFile), root);
  const files = releaseFiles(root);
  const archive = tarGz(files);
  const version = await versionOf(archive);
  const signed = await signArchive(archive, { keyFile, advice: `npm run release -- keys ${keyFile}` });
  const file = path.resolve(root, out ?? `../mailwright-${version}.tgz`);
  await writeFile(file, archive);
  return report({ version, file, archive, files: files.length, signed });
}

/** By the code that an installation reads it with. */
async function versionOf(archive: Buffer): Promise<string> {
  if (archive.length > ARCHIVE_BYTES_MAX)
    throw new ToolError(`The archive is larger than ${ARCHIVE_BYTES_MAX / 1e6} MB: an installation would refuse it.`);
  try {
    return (await readRelease(archive)).version;
  } catch (error) {
    throw new ToolError(`An installation would refuse it: ${messageOf(error)}`);
  }
}

interface Packed {
  readonly version: string;
  readonly file: string;
  readonly archive: Buffer;
  readonly files: number;
  readonly signed: Signed;
}

function report({ version, file, archive, files, signed: { signature, publicKey } }: Packed): string {
  const sha256 = createHash('sha256').update(archive).digest('hex');
  return [
    `Mailwright ${version}: ${files} files, ${archive.length} bytes`,
    `  file       ${file}`,
    `  sha256     ${sha256}`,
    `  signature  ${signature}`,
    `  its key    ${publicKey}   (for RELEASE_KEYS)`,
    '',
    'Put the file on a web server, then, with an administrator’s API token:',
    '  curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:3000/api/v1/upgrade/run \\',
    `    -d url=https://example.com/${path.basename(file)} -d sha256=${sha256} \\`,
    `    --data-urlencode signature=${signature}`,
  ].join('\n');
}
