/** The options of an import, from the command line and the environment. */
import { parseArgs } from 'node:util';
import { DemoError } from '../demo/demo-error.ts';

export interface ImportOptions {
  readonly file: string;
  readonly url: string;
  readonly token: string | undefined;
  /** Uid or name of a list; undefined: the only one. */
  readonly list: string | undefined;
  readonly newList: string | undefined;
  /** How the file is read. */
  readonly reading: {
    readonly mapping: Readonly<Record<string, unknown>>;
    readonly updateExisting: boolean;
    readonly tag: string;
  };
}

export const USAGE = `Usage: npm run import -- <file.csv> [options]

Adds the people of a CSV file to a list of the running Mailwright. Separator, encoding and columns are recognised automatically.

  --list <uid>       the list, by uid or name (not needed when there is only one)
  --new <name>       a new list with a field for every column of the file
  --map <header=TAG> a column that is called otherwise; may be given several times; TAG is a field's tag, EMAIL,
                     STATUS or TAGS, or nothing to leave the column out
  --tag <tag>        give everybody in the file this tag
  --keep-existing    do not change people who are on the list already
  --url <address>    the running Mailwright (or MAILWRIGHT_URL; default http://127.0.0.1:3000)
  --token <token>    an API token for it (or MAILWRIGHT_TOKEN; else it asks for email and password)`;

/** Reads the options; undefined when help was asked for. Throws DemoError. */
export function readOptions(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): ImportOptions | undefined {
  const { values, positionals } = parseWords(words);
  const [file, ...others] = positionals;
  if (values.help) return undefined;
  if (file === undefined || others.length > 0) throw new DemoError(`Name one file.\n\n${USAGE}`);
  if (values.list !== undefined && values.new !== undefined) throw new DemoError('Give --list or --new, not both.');
  const url = values.url ?? environment['MAILWRIGHT_URL'] ?? 'http://127.0.0.1:3000';
  if (!URL.canParse(url)) throw new DemoError(`${url} is no address such as http://127.0.0.1:3000.`);
  return {
    file,
    url: new URL(url).origin,
    token: values.token ?? environment['MAILWRIGHT_TOKEN'],
    list: values.list,
    newList: values.new,
    reading: { mapping: mappingOf(values.map), updateExisting: !values['keep-existing'], tag: values.tag },
  };
}

function mappingOf(entries: readonly string[]): Record<string, string> {
  const pairs = entries.map((entry) => {
    const at = entry.lastIndexOf('=');
    if (at < 1) throw new DemoError(`--map ${entry}: write it as header=TAG.`);
    return [entry.slice(0, at), entry.slice(at + 1)];
  });
  return Object.fromEntries(pairs);
}

function parseWords(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        list: { type: 'string' },
        new: { type: 'string' },
        map: { type: 'string', multiple: true, default: [] },
        tag: { type: 'string', default: '' },
        'keep-existing': { type: 'boolean', default: false },
        url: { type: 'string' },
        token: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new DemoError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}
