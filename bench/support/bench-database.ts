/**
 * The database that a bench works on: a copy of the lived-in one. `LIVED_IN_SCALE` names another size than the whole of
 * it; 0 is an empty database, for the figure beside it.
 */
import { startScratchPostgres } from '../../scripts/scratch-postgres.ts';
import { SMOKE_SCALE, startLivedIn } from './lived-in.ts';

/** As the product's own embedded server runs. */
const DURABLE = ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on', 'autovacuum=on', 'shared_buffers=256MB'];

export interface BenchDatabase {
  readonly url: string;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
}

/** Starts it with the product's settings and these; `isSmoke`: a small one, unless a scale is named. */
export async function startBenchDatabase(isSmoke: boolean, settings: readonly string[] = []): Promise<BenchDatabase> {
  const scale = Number(process.env['LIVED_IN_SCALE'] ?? (isSmoke ? SMOKE_SCALE : 1));
  if (scale === 0) return startScratchPostgres([...DURABLE, ...settings]);
  return startLivedIn(scale, [...DURABLE, ...settings]);
}
