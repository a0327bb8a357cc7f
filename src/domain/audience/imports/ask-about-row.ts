/** Asks the plugins, with the FILTER `import_row`, about the lines of an import before they are checked. */
import type { ProductHooks } from '../../product-hooks.ts';
import { isOneLine } from '../../../lib/text.ts';
import { IMPORT_REFUSAL_LENGTH_MAX, type ImportedRow } from '../../../plugin-api/index.ts';
import type { RejectionReason } from './import-report.ts';
import { SPECIAL_TARGETS } from './list-import.ts';

/** The values of a line by the tag of its column; also `EMAIL`, `STATUS` and `TAGS`. */
export type RowValues = Readonly<Record<string, string>>;

export interface AskAboutRow {
  /** Whether any plugin wants to see lines now. */
  isAsked(): boolean;
  /** The values with which the line is imported, or why it is refused. */
  ask(line: number, values: RowValues): { readonly values: RowValues } | RejectionReason;
}

export interface AskedImport {
  readonly uids: { readonly listUid: string; readonly importUid: string; readonly customerUid: string };
  /** The tags of the list's fields. */
  readonly tags: readonly string[];
}

export function createAskAboutRow(hooks: ProductHooks, { uids, tags }: AskedImport): AskAboutRow {
  const known: ReadonlySet<string> = new Set([...SPECIAL_TARGETS, ...tags]);
  return {
    isAsked: () => hooks.isFiltered('import_row'),
    ask(line, values) {
      let refusedBy = '';
      const row: ImportedRow = { ...uids, line, values, refuse: null };
      const asked = hooks.filterChecked('import_row', row, (returned, before, plugin) => {
        const next = readRow(returned, known);
        if (next.refuse?.reason !== before.refuse?.reason) refusedBy = plugin;
        return { ...before, ...next };
      });
      if (asked.refuse === null) return { values: asked.values };
      return { code: 'refused_by_plugin', params: { plugin: refusedBy, reason: asked.refuse.reason } };
    },
  };
}

/** Throws TypeError when it is not what it must be. */
function readRow(returned: unknown, known: ReadonlySet<string>): Pick<ImportedRow, 'values' | 'refuse'> {
  const values: unknown = Reflect.get(Object(returned), 'values');
  const refuse: unknown = Reflect.get(Object(returned), 'refuse');
  if (typeof values !== 'object' || values === null) throw new TypeError('"values" must be an object of texts.');
  const texts: Record<string, string> = {};
  for (const [tag, value] of Object.entries(values)) {
    if (!known.has(tag)) throw new TypeError(`The list has no field with the tag ${JSON.stringify(tag).slice(0, 60)}.`);
    if (typeof value !== 'string') throw new TypeError(`The value of ${tag} must be a text.`);
    texts[tag] = value;
  }
  return { values: texts, refuse: refuse === null || refuse === undefined ? null : { reason: readReason(refuse) } };
}

function readReason(refuse: unknown): string {
  const reason: unknown =
    typeof refuse === 'object' && refuse !== null && 'reason' in refuse ? refuse.reason : undefined;
  const text = typeof reason === 'string' ? reason.trim() : '';
  if (text === '' || text.length > IMPORT_REFUSAL_LENGTH_MAX || !isOneLine(text))
    throw new TypeError(
      `"refuse" must be null, or an object with the text "reason", one line of at most ${IMPORT_REFUSAL_LENGTH_MAX} characters.`,
    );
  return text;
}
