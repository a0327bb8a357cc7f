/** Files of a plugin's folder that its entries name: read when the entry is added, so that all of a plugin is of one version. */
import { readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { EntryError, type Giver } from './entry-check.ts';

export interface WantedFile {
  /** The folder in that of the plugin, such as `resources/views`. */
  readonly below: string;
  /** As the plugin names it: from that folder, or from its own. */
  readonly file: string;
  readonly bytesMax: number;
}

/** The text of a file. Throws EntryError when it is not there, not in the folder or too large. */
export function readPluginFile({ folder }: Giver, { below, file, bytesMax }: WantedFile): string {
  if (folder === undefined) throw new EntryError(`The file ${file} cannot be read: the plugin has no folder.`);
  const name = path.posix.normalize(file.replace(/^\.\//, '').replace(`${below}/`, ''));
  const place = path.join(folder, below, name);
  const real = realpathOf(place);
  const root = realpathOf(path.join(folder, below));
  if (real === undefined || root === undefined || !real.startsWith(`${root}${path.sep}`))
    throw new EntryError(`The file ${below}/${name} is not there.`);
  const { size } = statSync(real);
  if (size > bytesMax) throw new EntryError(`The file ${below}/${name} is over ${bytesMax} bytes.`);
  return readFileSync(real, 'utf8');
}

function realpathOf(place: string): string | undefined {
  try {
    return realpathSync(place);
  } catch {
    return undefined;
  }
}
