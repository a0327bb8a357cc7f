/**
 * The current SQL functions, one file each in prisma/functions, beside the migrations that make them: the file shows what a
 * function does now, the migrations show its history. `npm run migrate:check` compares the two, and `npm run migrate:new` puts a
 * changed file into the next migration.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';

const FOLDER = path.resolve(import.meta.dirname, '../../prisma/functions');

export interface FunctionFile {
  /** Name of the function, in the schema `hot`. */
  readonly name: string;
  /** `CREATE OR REPLACE FUNCTION …` with its comments, and with a `DO` block where it depends on the server. */
  readonly script: string;
}

interface StoredFunction {
  readonly name: string;
  readonly signature: string;
  readonly definition: string;
}

export async function readFunctionFiles(): Promise<FunctionFile[]> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).toSorted();
  return Promise.all(
    names.map(async (name) => ({
      name: path.basename(name, '.sql'),
      script: await readFile(path.join(FOLDER, name), 'utf8'),
    })),
  );
}

/**
 * The SQL that is missing in the migrations to reach the files; empty when they agree. `url` is a migrated database; it is not
 * changed. A function without a file is dropped, and so is one whose parameters differ from its file.
 */
export async function missingFunctionSql(url: string, files: readonly FunctionFile[]): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('BEGIN');
    const before = await storedFunctions(client);
    const missing = surplus(before, files);
    for (const file of files) {
      const stored = before.filter(({ name }) => name === file.name);
      const [made] = await replaced(client, file, stored);
      if (stored.length === 1 && stored[0]?.definition === made?.definition) continue;
      const gone = stored.filter(({ signature }) => signature !== made?.signature).map(dropped);
      missing.push([...gone, file.script.trim()].join('\n'));
    }
    return missing.join('\n\n');
  } finally {
    await client.query('ROLLBACK');
    await client.end();
  }
}

function surplus(before: readonly StoredFunction[], files: readonly FunctionFile[]): string[] {
  const known = new Set(files.map(({ name }) => name));
  return before.filter(({ name }) => !known.has(name)).map(dropped);
}

function dropped({ signature }: StoredFunction): string {
  return `DROP FUNCTION ${signature};`;
}

/** The function from its file. If its result or parameters have changed it cannot be replaced: it is dropped and created. */
async function replaced(client: pg.Client, file: FunctionFile, stored: readonly StoredFunction[]) {
  await client.query('SAVEPOINT before_file');
  for (const { signature } of stored) await client.query(`DROP FUNCTION ${signature} CASCADE`);
  await client.query(file.script);
  const made = (await storedFunctions(client)).filter(({ name }) => name === file.name);
  if (made.length !== 1)
    throw new Error(`prisma/functions/${file.name}.sql must make hot.${file.name} and no other function.`);
  await client.query('ROLLBACK TO before_file');
  return made;
}

async function storedFunctions(client: pg.Client): Promise<StoredFunction[]> {
  const { rows } = await client.query<StoredFunction>(`
    SELECT p.proname AS name, p.oid::regprocedure::text AS signature, pg_get_functiondef(p.oid) AS definition
      FROM pg_proc p WHERE p.pronamespace = 'hot'::regnamespace AND p.prokind = 'f' ORDER BY 2`);
  return rows;
}
