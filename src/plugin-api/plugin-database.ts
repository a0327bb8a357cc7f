/** How a plugin uses its own tables. */

export interface Statements {
  /**
   * Runs one statement: `query('SELECT text FROM acme_note WHERE id = $1', [id])`. `bigint` values are texts. Rejects with what PostgreSQL
   * says, after ten seconds, and when the rows have over 10 MB.
   */
  query(text: string, values?: readonly unknown[]): Promise<QueryAnswer>;
}

export interface QueryAnswer {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** How many rows were found or written. */
  readonly count: number;
}

/**
 * The plugin's tables, by a login that can use nothing else. It has one connection in each process, opened by the first statement, so
 * statements run one after the other. Needs `tables` in the manifest.
 */
export interface PluginDatabase extends Statements {
  /** All statements of `work`, or none: it is rolled back when `work` rejects or takes over ten seconds. Use only what `work` is given. */
  transaction<T>(work: (statements: Statements) => Promise<T>): Promise<T>;
}
