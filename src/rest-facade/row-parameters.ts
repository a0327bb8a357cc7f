/**
 * Finds a row's parameters by letting it read, so the reference and the tests need no separate list. Parameters that are read
 * only in certain cases are not found.
 */
import type { Input } from './input.ts';
import type { Call, Row, View } from './row.ts';

export type ParameterKind = 'text' | 'integer' | 'flag' | 'time' | 'object' | 'file' | 'any';

export interface RowParameter {
  /** Spellings of one parameter, the usual one first; `contact[company]` when nested. */
  readonly names: readonly string[];
  readonly kind: ParameterKind;
  /** The only values, where there are few. */
  readonly words?: readonly string[];
}

class Recorded extends Error {}

const view: View = { dialect: 'standard', apiUrl: '', product: { name: '', version: '', baseUrl: '' } };

/** The parameters of the row's query or body; those of its path are in the path. */
export async function parametersOf(row: Row): Promise<readonly RowParameter[]> {
  const found = new Map<string, RowParameter>();
  const input = recorder(found, { nameOf: (name) => name, path: row.path });
  const stop = () => {
    throw new Recorded();
  };
  const call: Call = {
    input,
    upload: undefined,
    execute: stop,
    view: () => view,
    identify: async () => undefined,
    identified: () => true,
  };
  try {
    await row.run(call);
  } catch {
    // Every row ends here: it got no parameters, and its operation did not run.
  }
  if (row.takesFile) found.set('file', { names: ['file'], kind: 'file' });
  return [...found.values()];
}

interface Recording {
  readonly nameOf: (name: string) => string;
  readonly path: string;
}

function recorder(found: Map<string, RowParameter>, { nameOf, path }: Recording): Input {
  const read =
    (kind: ParameterKind) =>
    (...names: readonly string[]) => {
      const spelled = names.map(nameOf);
      const [first = ''] = spelled;
      if (!found.has(first)) found.set(first, { names: spelled, kind });
      return undefined;
    };
  return {
    // Parameters in the path are not listed again.
    param: (name) => (path.split('/').includes(`:${name}`) ? name : ''),
    has: () => false,
    names: () => [],
    text: read('text'),
    choice: (name, words) => {
      found.set(nameOf(name), { names: [nameOf(name)], kind: 'text', words });
      return undefined;
    },
    nullableText: read('text'),
    integer: read('integer'),
    boundedInteger: read('integer'),
    flag: read('flag'),
    time: read('time'),
    object: (name) => recorder(found, { nameOf: (inner) => `${nameOf(name)}[${inner}]`, path }),
    plainObject: read('object'),
    raw: read('any'),
    refuse: () => undefined,
    check: () => undefined,
  };
}
