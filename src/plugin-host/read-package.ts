/** Reads the archive of a plugin: all of it is checked, and its package.json is read by the same rules as that of a folder. */
import { z } from 'zod';
import type { ArchiveLimits } from '../lib/archive/archive-rules.ts';
import { readArchive, rootWith } from '../lib/archive/read-archive.ts';
import { ManifestError, parseManifest, type PluginManifest } from './plugin-manifest.ts';

/** Of hard case F12. A plugin is source code; the file limit is also what is held in memory. */
export const PACKAGE_LIMITS: ArchiveLimits = { entriesMax: 2_000, bytesMax: 200_000_000, fileBytesMax: 50_000_000 };

export interface PackageFacts extends PluginManifest {
  readonly vendor: string;
  readonly name: string;
  /** What all paths begin with. */
  readonly root: string;
}

const MANIFEST = 'package.json';
const named = z.object({ name: z.string().regex(/^@?[^@/]+\/[^/]+$/) });

/** Throws ArchiveError or ManifestError with a sentence. */
export async function readPackage(archive: Buffer): Promise<PackageFacts> {
  const paths: string[] = [];
  const manifests = new Map<string, string>();
  for await (const { path, content } of readArchive(archive, PACKAGE_LIMITS)) {
    paths.push(path);
    if (path.split('/').length <= 2 && path.split('/').at(-1) === MANIFEST)
      manifests.set(path, content.toString('utf8'));
  }
  const root = rootWith(MANIFEST, paths);
  if (root === undefined) throw new ManifestError('It has no package.json at its top or in its only folder.');
  const text = manifests.get(root + MANIFEST) ?? '';
  const key = keyIn(text);
  const manifest = parseManifest(text, { ...key, isBundled: false });
  if (!paths.includes(root + manifest.entry.slice(2)))
    throw new ManifestError(`"exports" of package.json names ${manifest.entry}, which is not there.`);
  return { ...manifest, ...key, root };
}

/** A folder has a name before it is read; an archive is what its package.json says. */
function keyIn(text: string): { readonly vendor: string; readonly name: string } {
  const { data } = named.safeParse(parsed(text));
  if (!data) throw new ManifestError('"name" of package.json must be @vendor/name or vendor/name.');
  const [vendor = '', name = ''] = data.name.replace(/^@/, '').split('/');
  return { vendor, name };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ManifestError('package.json is not valid JSON.');
  }
}
