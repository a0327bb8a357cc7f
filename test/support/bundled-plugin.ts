/** The code of a bundled plugin, installed under another vendor: its own files, but for the addresses of its vendor, which lead to a double. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { writePlugin } from './plugin-folder.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../plugins/mailwright');

export interface Moved {
  /** `https://api.vendor.example` to the double's address. */
  readonly addresses: Readonly<Record<string, string>>;
  readonly hosts: readonly string[];
  readonly browserHosts: readonly string[];
}

/** Writes it as `acme/<name>`. */
export function installBundled(dataDir: string, name: string, { addresses, hosts, browserHosts }: Moved): void {
  const folder = path.join(FOLDER, name);
  const texts = readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => [file, moved(readFileSync(path.join(folder, file), 'utf8'), { name, addresses })] as const);
  const { 'index.ts': code = '', ...files } = Object.fromEntries(texts);
  const { mailwright } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  writePlugin(dataDir, `acme/${name}`, { code, files, rights: { ...mailwright, hosts, browserHosts } });
}

function moved(text: string, { name, addresses }: { name: string; addresses: Moved['addresses'] }): string {
  const own = text
    .replaceAll('../../../src/plugin-api/index.ts', 'mailwright/plugin-api')
    .replaceAll(`mailwright/${name}`, `acme/${name}`);
  return Object.entries(addresses).reduce((result, [from, to]) => {
    if (text.includes(from)) return result.replaceAll(from, to);
    return result;
  }, own);
}
