/**
 * How the time of every parser of foreign input grows with what it is given, up to the longest that it takes, in hostile shapes:
 * at most 2.5 times for twice the text, and within the bound. Fails where one does not.
 *
 *   node bench/growth.ts [--smoke]
 */
import { isEmailAddress } from '../src/lib/text.ts';
import { trackPlainLinks } from '../src/domain/content/plain-links.ts';
import { LinkBook } from '../src/domain/content/link-book.ts';
import { measureGrowth, nearMiss, repeated, type GrowthCase } from './support/growth.ts';

const cases: GrowthCase[] = [
  {
    name: 'address',
    lengthMax: 100_000,
    parse: isEmailAddress,
    shapes: { letters: repeated('a'), dots: nearMiss('a@', 'a.', '!'), at: repeated('@') },
  },
  {
    name: 'addresses in plain text',
    lengthMax: 524_288,
    parse: (text) =>
      trackPlainLinks({ part: 'plain', field: 'plain', text, pieces: [], unknownTags: [] }, new LinkBook()),
    shapes: { dots: nearMiss('http://a.b/', '.', 'a'), brackets: nearMiss('http://a.b/', ')', 'a') },
  },
];

const faults = await measureGrowth(cases);
for (const fault of faults) console.error(`FAULT ${fault}`);
if (faults.length > 0) process.exitCode = 1;
