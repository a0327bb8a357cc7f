/** The program's connection to the process that has started it (src/parent). Without one, started directly, it does all itself. */
import { z } from 'zod';
import type { Context } from '../domain/context.ts';
import { recordEnds } from '../domain/plugins/record-ends.ts';
import { HAS_PARENT, LAST_ENDS, type LastEnds, type ToParent, type ToProgram } from '../parent/messages.ts';
import type { StartEmbedded } from './open-database.ts';

export interface ParentLink {
  /** How earlier processes in its place have ended in the last minutes. */
  readonly lastEnds: LastEnds;
  /** Has the parent start the embedded database. It also stops it. */
  readonly startEmbedded: StartEmbedded;
  /** Resolves when the parent has it. */
  report(message: ToParent): Promise<void>;
}

const lastEnds = z
  .array(
    z.object({
      at: z.number(),
      note: z.object({ plugin: z.string(), how: z.string() }).optional(),
      by: z.string(),
      isRecorded: z.boolean(),
    }),
  )
  .catch([]);

/** Undefined: this process has no parent of ours. Its environment says so once, so that processes that it starts do not think they have one. */
export function takeParentLink(): ParentLink | undefined {
  const { [HAS_PARENT]: hasParent, [LAST_ENDS]: ends = '[]' } = process.env;
  delete process.env[HAS_PARENT];
  delete process.env[LAST_ENDS];
  if (hasParent === undefined || !process.channel) return undefined;
  // Killed: the program ends as if it were the same process. What it was doing is safe, as after any kill.
  process.on('disconnect', () => process.exit(1));
  return {
    lastEnds: lastEnds.parse(JSON.parse(ends)),
    async startEmbedded({ folder }) {
      const answer = new Promise<ToProgram>((resolve) => process.once('message', resolve));
      await report({ kind: 'database', folder });
      const { url, fault } = await answer;
      if (url === undefined) throw new Error(fault ?? 'The embedded database does not start.');
      return { url, stop: async () => undefined };
    },
    report,
  };
}

/** Records how earlier processes in this one's place have ended, before plugins are loaded, and tells the parent so. */
export async function recordLastEnds(ctx: Context, { lastEnds: ends, report: answer }: ParentLink): Promise<void> {
  if (ends.length > 0) await answer({ kind: 'recorded', isDealtWith: await recordProcessEnds(ctx, ends) });
}

/** Records those that were not yet. Answers whether the unexplained ones need not be counted any more. */
export function recordProcessEnds(ctx: Context, ends: LastEnds): Promise<boolean> {
  const recent = ends.map(({ at, by, note }) => ({ at: new Date(at), by, note }));
  return recordEnds(ctx, { recent, fresh: recent.filter((_end, place) => ends[place]?.isRecorded === false) });
}

function report(message: ToParent): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected || !process.send) return resolve();
    // Whatever happens to it: without a parent this process ends.
    process.send(message, () => resolve());
  });
}
