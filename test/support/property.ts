/**
 * fast-check with one seed for the whole suite: a run that fails is the change's doing, not the draw's. FUZZ_SEED draws
 * others, for those who look for faults.
 */
import fc from 'fast-check';

/** What the suite draws by. */
export const SEED = Number(process.env['FUZZ_SEED'] ?? 20_261_122);

fc.configureGlobal({ seed: SEED });

/** How many cases are drawn: few in the suite, FUZZ_RUNS for those who look for faults. */
export function drawn(inSuite: number): number {
  return Number(process.env['FUZZ_RUNS'] ?? inSuite);
}

export { fc };
