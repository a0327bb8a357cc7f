/**
 * What each statement took by pg_stat_statements, and which source file owns it. Statements of two databases are the same
 * one when their texts are, however many parameters a list has.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';

export interface StatementFigures {
  /** Without line breaks, and without its constants. */
  readonly text: string;
  readonly calls: number;
  readonly meanMs: number;
  readonly maxMs: number;
}

/** What the server is to be started with. */
export const STATEMENT_SETTINGS = [
  'shared_preload_libraries=pg_stat_statements',
  // More than the product has, so that none is dropped for another.
  'pg_stat_statements.max=10000',
] as const;

const ROOT = path.resolve(import.meta.dirname, '../..');
/** A shorter piece stands in many statements. */
const PIECE_LENGTH_MIN = 16;

/** A connection whose own statements are not counted. */
export async function connectUncounted(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
  await client.query(`SET pg_stat_statements.track = 'none'`);
  return client;
}

export async function resetStatements(client: pg.Client): Promise<void> {
  await client.query('SELECT pg_stat_statements_reset()');
}

/** All of them by their text. */
export async function readStatements(client: pg.Client): Promise<Map<string, StatementFigures>> {
  const { rows } = await client.query<{ query: string; calls: number; total: number; max: number }>(
    `SELECT query, calls::float8 AS calls, total_exec_time AS total, max_exec_time AS max FROM pg_stat_statements
      WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  const figures = new Map<string, StatementFigures>();
  for (const { query, calls, total, max } of rows) {
    const text = normalized(query);
    const before = figures.get(text) ?? { calls: 0, meanMs: 0, maxMs: 0 };
    const together = before.calls + calls;
    const meanMs = (before.calls * before.meanMs + total) / together;
    figures.set(text, { text, calls: together, meanMs, maxMs: Math.max(before.maxMs, max) });
  }
  return figures;
}

function normalized(query: string): string {
  return (
    query
      .replaceAll(/--[^\n]*/g, ' ')
      .replaceAll(/\s+/g, ' ')
      // Partitions are one table. Constants and parameters alike: the server has made numbered parameters of both.
      .replaceAll(/_\d{4}_\d{2}\b/g, '_month')
      .replaceAll(/'[^']*'|\$\d+|\b\d+\b/g, '$')
      .replaceAll(/\$(?:, ?\$)+/g, '$')
      .trim()
  );
}

/** Finds the file that has most of a statement's text; '' where none has a third of it. */
export function ownerFinder(): (text: string) => string {
  const files = globSync('src/**/*.ts', { cwd: ROOT, exclude: ['src/generated/**'] }).map((file) => ({
    file,
    pieces: piecesOf(readFileSync(path.join(ROOT, file), 'utf8')),
  }));
  return (text) => {
    if (text.includes('graphile_worker')) return 'graphile-worker';
    if (text.includes('"public"."')) return 'Prisma';
    const scores = files.map(({ file, pieces }) => ({
      file,
      score: pieces.reduce((sum, piece) => sum + (text.includes(piece) ? piece.length : 0), 0),
    }));
    const [best] = scores.toSorted((a, b) => b.score - a.score);
    return best && best.score * 3 > text.length ? best.file : '';
  };
}

/** Lines of the source, cut where a value or a template begins or ends. Code stands in no statement. */
function piecesOf(source: string): string[] {
  return source
    .replaceAll(/--[^\n]*/g, ' ')
    .split(/[`\n}]|\$\{/)
    .map((piece) => normalized(piece))
    .filter((piece) => piece.length >= PIECE_LENGTH_MIN);
}
