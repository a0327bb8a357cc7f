/**
 * The order in which files of tests begin: first those that take longest, so that none of them is still at work alone
 * when all others have ended. A fresh clone has no durations of a last run to sort by.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take half a minute and more, slowest first; the others follow as the runner sorts them. */
export const SLOWEST = [
  'test/rest-facade/hostile-input.test.ts',
  'test/schema/hostile-mutations.test.ts',
  'test/workers/frozen-connections.test.ts',
  'test/workers/crash.test.ts',
  'test/db/migrate.test.ts',
  'test/journeys/start.test.ts',
  'test/rest-facade/mass-assignment.test.ts',
];

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = SLOWEST.findIndex((file) => moduleId.endsWith(file));
      return place < 0 ? SLOWEST.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
