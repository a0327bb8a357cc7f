/** The check that holds prisma/functions and the migrations together. */
import { describe, expect, it } from 'vitest';
import { missingFunctionSql, readFunctionFiles } from '../../scripts/support/sql-functions.ts';
import { createTestDatabase } from '../support/test-database.ts';

const files = await readFunctionFiles();
const database = await createTestDatabase();

function withScript(name: string, change: (script: string) => string) {
  return files.map((file) => (file.name === name ? { ...file, script: change(file.script) } : file));
}

describe('the files of SQL functions', () => {
  it('are what the migrations make', async () => {
    expect(await missingFunctionSql(database.url, files)).toBe('');
  });

  it('are missed in the migrations when a body has changed', async () => {
    const changed = withScript('warm_up_day_no', (script) => script.replace('86400', '43200'));
    expect(await missingFunctionSql(database.url, changed)).toBe(
      changed.find(({ name }) => name === 'warm_up_day_no')?.script.trim(),
    );
  });

  it('take the old function away when its parameters have changed', async () => {
    const changed = withScript('warm_up_limit', (script) =>
      script.replace('schedule jsonb', 'schedule jsonb, later integer'),
    );
    expect(await missingFunctionSql(database.url, changed)).toMatch(
      /^DROP FUNCTION hot\.warm_up_limit\(jsonb,integer\);\n[^]*FUNCTION hot\.warm_up_limit\(schedule jsonb, later integer/,
    );
  });

  it('take a function away that no file names', async () => {
    const rest = files.filter(({ name }) => name !== 'some_links');
    expect(await missingFunctionSql(database.url, rest)).toBe('DROP FUNCTION hot.some_links(integer[],integer[]);');
  });

  it('make the function that they are named after', async () => {
    const wrong = withScript('some_links', (script) => script.replace('hot.some_links', 'hot.other_links'));
    await expect(missingFunctionSql(database.url, wrong)).rejects.toThrow(/some_links\.sql must make hot\.some_links/);
  });
});
