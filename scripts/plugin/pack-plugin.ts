/** `plugin -- pack`: makes an archive of a plugin. The same files make the same bytes, whoever packs them and when. */
import { createHash } from 'node:crypto';
import { lstat, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { listPackedFiles } from './list-packed-files.ts';
import { PluginToolError } from './plugin-tool-error.ts';
import { readPlugin } from './read-plugin.ts';
import { tarGz, type TarFile } from './tar-gz.ts';

interface PackOptions {
  /** The archive's file; undefined: one in the present folder, named after the plugin. */
  readonly out: string | undefined;
  readonly withTests: boolean;
}

/** What an installation takes at most. */
const FILES_MAX = 2_000;
const BYTES_MAX = 200 * 1024 * 1024;

/** Writes the archive and returns how to install it. Throws PluginToolError when the plugin cannot be used or is too large. */
export async function packPlugin(place: string, { out, withTests }: PackOptions): Promise<string> {
  const { fullName, folder } = await readPlugin(place);
  const root = folder.folder;
  const version = folder.manifest?.version ?? '';
  const names = await listPackedFiles(root, { withTests });
  if (names.length > FILES_MAX)
    throw new PluginToolError(
      `The plugin has ${names.length} files; an archive may have ${FILES_MAX}. Remove what it does not need.`,
    );
  const files = await readFiles(root, names);
  const archive = tarGz(files);
  const file = path.resolve(out ?? `${fullName.replace('/', '-')}-${version}.tgz`);
  await writeFile(file, archive);
  const sha256 = createHash('sha256').update(archive).digest('hex');
  return report({ fullName, version, file, sha256, files: files.length, bytes: archive.length });
}

async function readFiles(root: string, names: readonly string[]): Promise<TarFile[]> {
  const files: TarFile[] = [];
  let bytes = 0;
  for (const name of names) {
    const file = path.join(root, name);
    const { size } = await lstat(file);
    bytes += size;
    if (bytes > BYTES_MAX)
      throw new PluginToolError(
        `The plugin is larger than ${BYTES_MAX / 1024 / 1024} MB. Remove what it does not need.`,
      );
    files.push({ name, content: await readFile(file) });
  }
  return files;
}

interface Packed {
  readonly fullName: string;
  readonly version: string;
  readonly file: string;
  readonly sha256: string;
  readonly files: number;
  readonly bytes: number;
}

function report({ fullName, version, file, sha256, files, bytes }: Packed): string {
  return [
    `${fullName} ${version}: ${files} files, ${bytes} bytes`,
    `  file    ${file}`,
    `  sha256  ${sha256}`,
    '',
    'Install it from an address that Mailwright can reach, with an administrator’s API token:',
    '  curl -X POST -H "Authorization: Bearer $TOKEN" http://127.0.0.1:3000/api/v1/plugins/install \\',
    `    -d url=https://example.com/${path.basename(file)} -d sha256=${sha256}`,
  ].join('\n');
}
