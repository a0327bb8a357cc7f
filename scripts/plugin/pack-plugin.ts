/** `plugin -- pack`: makes an archive of a plugin. The same files make the same bytes, whoever packs them and when. */
import { createHash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PACKAGE_BYTES_MAX } from '../../src/domain/plugins/plugin-package.ts';
import { PACKAGE_LIMITS, readPackage } from '../../src/plugin-host/read-package.ts';
import { listPackedFiles } from './list-packed-files.ts';
import { signArchive, type Signed } from '../support/sign-archive.ts';
import { ToolError } from '../support/tool-error.ts';
import { NO_RIGHTS, type PluginRights } from '../../src/plugin-api/index.ts';
import { activationCommand } from './grants.ts';
import { readPlugin } from './read-plugin.ts';
import { tarGz, type TarFile } from '../support/tar-gz.ts';

interface PackOptions {
  /** The archive's file; undefined: one in the present folder, named after the plugin. */
  readonly out: string | undefined;
  readonly withTests: boolean;
  /** A file with an Ed25519 key (PEM) that signs the archive. */
  readonly sign: string | undefined;
}

/** Writes the archive and returns how to install it. Throws ToolError when an installation would refuse it. */
export async function packPlugin(place: string, { out, withTests, sign: keyFile }: PackOptions): Promise<string> {
  const { fullName, folder } = await readPlugin(place);
  const version = folder.manifest?.version ?? '';
  const names = await listPackedFiles(folder.folder, { withTests });
  const archive = tarGz(await readFiles(folder.folder, names));
  await checkArchive(archive);
  const signed = keyFile === undefined ? undefined : await signArchive(archive, { keyFile, advice: makeKey(keyFile) });
  const file = path.resolve(out ?? `${fullName.replace('/', '-')}-${version}.tgz`);
  await writeFile(file, archive);
  const sha256 = createHash('sha256').update(archive).digest('hex');
  const rights = folder.manifest?.wants ?? NO_RIGHTS;
  return report({ fullName, version, rights, file, sha256, files: names.length, bytes: archive.length, signed });
}

const makeKey = (file: string) => `openssl genpkey -algorithm ed25519 -out ${file}`;

async function readFiles(root: string, names: readonly string[]): Promise<TarFile[]> {
  const { entriesMax, bytesMax } = PACKAGE_LIMITS;
  if (names.length > entriesMax)
    throw new ToolError(
      `The plugin has ${names.length} files; an archive may have ${entriesMax}. Remove what it does not need.`,
    );
  const files: TarFile[] = [];
  let bytes = 0;
  for (const name of names) {
    const file = path.join(root, name);
    bytes += (await stat(file)).size;
    if (bytes > bytesMax)
      throw new ToolError(`The plugin is larger than ${bytesMax / 1e6} MB. Remove what it does not need.`);
    files.push({ name, content: await readFile(file) });
  }
  return files;
}

/** By the code that an installation reads it with. */
async function checkArchive(archive: Uint8Array): Promise<void> {
  if (archive.length > PACKAGE_BYTES_MAX)
    throw new ToolError(
      `The archive is larger than ${PACKAGE_BYTES_MAX / 1e6} MB. Remove what the plugin does not need.`,
    );
  try {
    await readPackage(Buffer.from(archive));
  } catch (error) {
    throw new ToolError(`The archive would be refused: ${error instanceof Error ? error.message : String(error)}`);
  }
}

interface Packed {
  readonly fullName: string;
  readonly version: string;
  readonly rights: PluginRights;
  readonly file: string;
  readonly sha256: string;
  readonly files: number;
  readonly bytes: number;
  readonly signed: Signed | undefined;
}

function report({ fullName, version, rights, file, sha256, files, bytes, signed }: Packed): string {
  const install = '  curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:3000/api/v1/plugins/install';
  const shown = path.relative(process.cwd(), file);
  const [asForm, asField] = signed
    ? [` -F signature=${signed.signature}`, ` -d signature=${signed.signature}`]
    : ['', ''];
  return [
    `${fullName} ${version}: ${files} files, ${bytes} bytes`,
    `  file       ${file}`,
    `  sha256     ${sha256}`,
    ...(signed ? [`  signature  ${signed.signature}`, `  its key    ${signed.publicKey}   (for PLUGIN_KEYS)`] : []),
    '',
    'Install it, with an administrator’s API token, from this file:',
    `${install}${asForm} -F file=@${shown.startsWith('..') ? file : shown}`,
    'or from an address:',
    `${install} -d url=https://example.com/${path.basename(file)} -d sha256=${sha256}${asField.replaceAll('+', '%2B')}`,
    '',
    'Then activate it, with all that it asks for:',
    activationCommand(fullName, rights),
  ].join('\n');
}
