/** Reads the archive of a version of the program: checked as a whole, with what an upgrade needs to know of it. */
import { z } from 'zod';
import { ArchiveError, type ArchiveLimits } from '../lib/archive/archive-rules.ts';
import { readArchive, rootWith } from '../lib/archive/read-archive.ts';

/** The program has some two thousand files of 20 MB; packages are not among them. */
export const RELEASE_LIMITS: ArchiveLimits = { entriesMax: 20_000, bytesMax: 500_000_000, fileBytesMax: 50_000_000 };

export interface ReleaseFacts {
  readonly version: string;
  /** What all paths begin with. */
  readonly root: string;
}

const MANIFEST = 'package.json';
/** Without them it could not be started. */
const NEEDED = ['package-lock.json', 'scripts/setup.mjs', 'src/main.ts', 'src/program.ts', 'prisma/schema.prisma'];

const manifest = z.object({
  name: z.literal('mailwright'),
  version: z.string().regex(/^\d{1,9}\.\d{1,9}\.\d{1,9}(-[0-9A-Za-z.-]{1,40})?$/),
});

/** Throws ArchiveError with a sentence. */
export async function readRelease(archive: Buffer): Promise<ReleaseFacts> {
  const paths: string[] = [];
  const manifests = new Map<string, string>();
  for await (const { path, content } of readArchive(archive, RELEASE_LIMITS)) {
    paths.push(path);
    if (path.split('/').length <= 2 && path.split('/').at(-1) === MANIFEST)
      manifests.set(path, content.toString('utf8'));
  }
  const root = rootWith(MANIFEST, paths);
  const { data } = manifest.safeParse(root === undefined ? undefined : parsed(manifests.get(root + MANIFEST) ?? ''));
  const isWhole = NEEDED.every((file) => paths.includes(root + file));
  if (root === undefined || !data || !isWhole) throw new ArchiveError('It is no version of Mailwright.');
  return { version: data.version, root };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
