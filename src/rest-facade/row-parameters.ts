/**
 * Finds a row's parameters by letting it read, so the reference and the tests need no separate list. Parameters that are read
 * only in certain cases are not found.
 */
import type { Input, NameTree } from './input.ts';
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

/** Everything that a row reads of a request: what it does not declare here, it does not know (decision D53). */
export interface Declaration {
  readonly parameters: readonly RowParameter[];
  readonly names: NameTree;
  /** Those that it reads in this dialect: what only the other one knows is not used. */
  readonly namesIn: Readonly<Record<View['dialect'], NameTree>>;
  /** Names of any kind are values of it, too: tags of a list's fields. The row says itself which of them it did not use. */
  readonly takesOthers: boolean;
}

const declarations = new WeakMap<Row, Promise<Declaration>>();

/** What the row declares; found once. */
export function declarationOf(row: Row): Promise<Declaration> {
  const known = declarations.get(row) ?? declare(row);
  declarations.set(row, known);
  return known;
}

/** The parameters of the row's query or body; those of its path are in the path. */
export async function parametersOf(row: Row): Promise<readonly RowParameter[]> {
  return (await declarationOf(row)).parameters;
}

async function declare(row: Row): Promise<Declaration> {
  const [found, classic] = [new Map<string, RowParameter>(), new Map<string, RowParameter>()];
  let takesOthers = false;
  const others = () => {
    takesOthers = true;
    return [];
  };
  await record(row, 'standard', found, others);
  await record(row, 'classic', classic, others);
  for (const map of [found, classic]) if (row.takesFile) map.set('file', { names: ['file'], kind: 'file' });
  const namesIn = { standard: nameTree([...found.values()]), classic: nameTree([...classic.values()]) };
  const parameters = [...new Map([...found, ...[...classic].filter(([name]) => !found.has(name))]).values()];
  return { parameters, names: nameTree(parameters), namesIn, takesOthers };
}

function nameTree(parameters: readonly RowParameter[]): NameTree {
  type Tree = Map<string, Tree>;
  const root: Tree = new Map();
  for (const name of parameters.flatMap(({ names }) => names)) {
    let at = root;
    for (const step of name.replaceAll(']', '').split('[')) {
      const next: Tree = at.get(step) ?? new Map();
      at.set(step, next);
      at = next;
    }
  }
  return root;
}

async function record(
  row: Row,
  dialect: View['dialect'],
  found: Map<string, RowParameter>,
  others: Input['others'],
): Promise<void> {
  const input = recorder(found, { nameOf: (name) => name, path: row.path, others });
  const stop = () => {
    throw new Recorded();
  };
  const call: Call = {
    input,
    upload: undefined,
    execute: stop,
    checkAll: stop,
    ofPlugin: { execute: stop, checkAll: stop },
    isRecorded: true,
    view: () => ({ ...view, dialect }),
    identify: async () => undefined,
    identified: () => true,
  };
  try {
    await row.run(call);
  } catch {
    // Every row ends here: it got no parameters, and its operation did not run.
  }
}

interface Recording {
  readonly nameOf: (name: string) => string;
  readonly path: string;
  readonly others: Input['others'];
}

function recorder(found: Map<string, RowParameter>, { nameOf, path, others }: Recording): Input {
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
    isNull: () => false,
    others,
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
    object: (name) => recorder(found, { nameOf: (inner) => `${nameOf(name)}[${inner}]`, path, others }),
    plainObject: read('object'),
    raw: read('any'),
    ignore: () => undefined,
    refuse: () => undefined,
    faults: () => ({}),
    check: () => undefined,
  };
}
