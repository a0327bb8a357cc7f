/** The demo's options, from the command line and the environment. */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { DemoError } from './demo-error.ts';

export interface DemoOptions {
  /** The address of the running product; `isGiven` when it was named. */
  readonly url: string;
  readonly isGiven: boolean;
  readonly token: string | undefined;
  readonly people: number;
  /** Start a temporary installation even if one is running. */
  readonly own: boolean;
  /** Stop the installation that it started when the report is printed. */
  readonly once: boolean;
  readonly dataDir: string;
}

export const USAGE = `Usage: npm run demo [-- options]

Sends a campaign to invented people in the built-in inbox and shows what comes back. No mail leaves the machine.

  --url <address>    the running Mailwright (or MAILWRIGHT_URL; default http://127.0.0.1:3000)
  --token <token>    an administrator's API token for it (or MAILWRIGHT_TOKEN; else it asks for email and password)
  --own              start one with data of its own, even if one is running; this is done anyway when none is
  --data-dir <dir>   where that one keeps its data (default data/demo)
  --once             stop that one at the end; else it runs until Ctrl-C
  --people <n>       how many people, 10 to 5000 (default 2000)`;

const PEOPLE_DEFAULT = '2000';
const PEOPLE_MIN = 10;
/** The inbox keeps as many mails: with more people the first ones would be gone before they could open theirs. */
const PEOPLE_MAX = 5_000;
const ROOT = path.resolve(import.meta.dirname, '../..');

/** Reads the options; undefined when help was asked for. Throws DemoError. */
export function readOptions(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): DemoOptions | undefined {
  const values = parseWords(words);
  if (values.help) return undefined;
  const people = Number(values.people);
  if (!Number.isInteger(people) || people < PEOPLE_MIN || people > PEOPLE_MAX)
    throw new DemoError(`--people must be a whole number from ${PEOPLE_MIN} to ${PEOPLE_MAX}.`);
  const given = values.url ?? environment['MAILWRIGHT_URL'];
  if (given !== undefined && !URL.canParse(given))
    throw new DemoError(`${given} is no address such as http://127.0.0.1:3000.`);
  return {
    url: new URL(given ?? 'http://127.0.0.1:3000').origin,
    isGiven: given !== undefined,
    token: values.token ?? environment['MAILWRIGHT_TOKEN'],
    people,
    own: values.own,
    once: values.once,
    dataDir: path.resolve(ROOT, values['data-dir']),
  };
}

function parseWords(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: {
        url: { type: 'string' },
        token: { type: 'string' },
        people: { type: 'string', default: PEOPLE_DEFAULT },
        own: { type: 'boolean', default: false },
        once: { type: 'boolean', default: false },
        'data-dir': { type: 'string', default: 'data/demo' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new DemoError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}
