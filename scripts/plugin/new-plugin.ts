/** `plugin -- new`: writes a working plugin, made from the folder `template` beside this file. */
import { lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ManifestError, parseManifest } from '../../src/plugin-host/plugin-manifest.ts';
import { tablePrefix } from '../../src/domain/plugins/plugin.ts';
import { ToolError } from '../support/tool-error.ts';
import { takenPrefix } from './taken-prefix.ts';

interface NewPluginOptions {
  readonly dataDir: string;
  /** Where it is written to; undefined: into the data directory. */
  readonly folder: string | undefined;
}

const ROOT = path.resolve(import.meta.dirname, '../..');
const TEMPLATE = path.join(import.meta.dirname, 'template');

/** Writes the plugin `vendor/name` and returns what to do next. Throws ToolError for a wrong name or a folder that exists. */
export async function newPlugin(fullName: string, options: NewPluginOptions): Promise<string> {
  const [vendor = '', name = '', ...more] = fullName.split('/');
  if (vendor === '' || name === '' || more.length > 0)
    throw new ToolError(`"${fullName}" is no name of a plugin: it must be <vendor>/<name>, such as acme/notes.`);
  const files = await filesOf(vendor, name);
  checkName(files.get('package.json') ?? '', { vendor, name });
  const taken = await takenPrefix(vendor);
  if (taken !== undefined)
    throw new ToolError(
      `The prefix "${tablePrefix(vendor)}" of its tables is taken: the ${taken} is not a plugin's. Choose another vendor.`,
    );
  const installed = path.resolve(options.dataDir, 'plugins', vendor, name);
  const folder = options.folder === undefined ? installed : path.resolve(options.folder);
  files.set('tsconfig.json', tsconfigFor(folder));
  await write(folder, files);
  return nextSteps({ fullName, folder, installed, files: [...files.keys()] });
}

function checkName(manifest: string, { vendor, name }: { readonly vendor: string; readonly name: string }): void {
  try {
    parseManifest(manifest, { vendor, name, isBundled: false });
  } catch (error) {
    if (error instanceof ManifestError) throw new ToolError(error.message);
    throw error;
  }
}

/** The template's files by their paths, with the plugin's names in them. */
async function filesOf(vendor: string, name: string): Promise<Map<string, string>> {
  const entries = await readdir(TEMPLATE, { recursive: true, withFileTypes: true });
  const files = new Map<string, string>();
  for (const entry of entries.filter((each) => each.isFile())) {
    const file = path.join(entry.parentPath, entry.name);
    const place = path.relative(TEMPLATE, file).replaceAll(path.sep, '/');
    files.set(place, named(await readFile(file, 'utf8'), vendor, name));
  }
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function named(text: string, vendor: string, name: string): string {
  const title = name.replaceAll('-', ' ').replace(/^[a-z]/, (letter) => letter.toUpperCase());
  return text
    .replaceAll('vendorname_pluginname_', `${vendor}_${name}_`.replaceAll('-', '_'))
    .replaceAll('vendorname', vendor)
    .replaceAll('pluginname', name)
    .replaceAll('Plugin title', title);
}

/** For editors and `tsc`: the program's own settings, which know where `mailwright/plugin-api` is. */
function tsconfigFor(folder: string): string {
  const config = path.relative(folder, path.join(ROOT, 'plugins', 'tsconfig.json')).replaceAll(path.sep, '/');
  return `${JSON.stringify({ extends: config, include: ['**/*.ts'] }, null, 2)}\n`;
}

/** All files or none: a running Mailwright looks into the data directory, but not into hidden folders. */
async function write(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  if (await exists(folder))
    throw new ToolError(`${folder} exists already. Remove it, or choose another name or another --path.`);
  const unfinished = path.join(path.dirname(folder), `.new-${path.basename(folder)}-${process.pid}`);
  try {
    for (const [place, text] of files) {
      const file = path.join(unfinished, place);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, text);
    }
    await rename(unfinished, folder);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw new ToolError(`${folder} cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function exists(folder: string): Promise<boolean> {
  return lstat(folder).then(
    () => true,
    () => false,
  );
}

interface Made {
  readonly fullName: string;
  readonly folder: string;
  readonly installed: string;
  readonly files: readonly string[];
}

function nextSteps({ fullName, folder, installed, files }: Made): string {
  const shown = path.relative(process.cwd(), folder).startsWith('..') ? folder : path.relative(process.cwd(), folder);
  const link =
    folder === installed
      ? []
      : ['Let Mailwright find it:', `  mkdir -p ${path.dirname(installed)} && ln -s ${folder} ${installed}`, ''];
  return [
    `The plugin ${fullName} is in ${shown}:`,
    ...files.map((file) => `  ${file}`),
    '',
    'Run its tests:',
    `  npm run plugin -- test ${shown}`,
    '',
    ...link,
    'Activate it in a running Mailwright (npm start), with an administrator’s API token:',
    `  curl -X POST -H "Authorization: Bearer $TOKEN" http://127.0.0.1:3000/api/v1/plugins/${fullName}/activate`,
    '',
    'Make an archive that others can install:',
    `  npm run plugin -- pack ${shown}`,
    '',
    'What a plugin can do: docs/guides/write-a-plugin.md',
  ].join('\n');
}
