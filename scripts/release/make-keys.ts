/** `release -- keys`: makes a key pair. The private key is never written into the folder of the program, where it could be committed. */
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { publicKeyOf } from '../support/sign-archive.ts';
import { ToolError } from '../support/tool-error.ts';

/** Writes the private key into a new file that only its owner may read, and returns what to do with it. Throws ToolError. */
export async function makeKeys(place: string, root: string): Promise<string> {
  const file = path.resolve(place);
  refuseWithin(file, root);
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' });
  await writeFile(file, pem, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    throw new ToolError(`The key cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  });
  return [
    `The private key is in ${file}. Whoever has it can make releases: keep it secret, and keep a copy.`,
    '',
    'The public key is for each installation that takes your releases:',
    `  RELEASE_KEYS=${publicKeyOf(privateKey)}`,
  ].join('\n');
}

/** Throws ToolError for a key in the program's folder, also by way of a link. */
export function refuseWithin(file: string, root: string): void {
  const folder = path.dirname(file);
  if (!existsSync(folder)) throw new ToolError(`There is no folder ${folder}.`);
  const place = path.relative(realpathSync(root), existsSync(file) ? realpathSync(file) : realpathSync(folder));
  if (place === '' || !(place.startsWith('..') || path.isAbsolute(place)))
    throw new ToolError(
      `${file} is in the folder of the program. Choose a place outside, so that it is never committed.`,
    );
}
