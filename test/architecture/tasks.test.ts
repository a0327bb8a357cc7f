/** A task binds a job to a verb of the domain: it decides nothing, writes no statement, and enqueues nothing. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, test } from 'vitest';

const FOLDER = path.resolve(import.meta.dirname, '../../src/workers/tasks');

/** What of a file is more than a call of a verb. */
function rulesIn(name: string, text: string): string[] {
  const found: string[] = [];
  const note = ({ type }: { readonly type: string }) => void found.push(type);
  new Visitor({
    IfStatement: note,
    ConditionalExpression: note,
    LogicalExpression: note,
    SwitchStatement: note,
    ForStatement: note,
    ForInStatement: note,
    ForOfStatement: note,
    WhileStatement: note,
    TryStatement: note,
    TaggedTemplateExpression: note,
    ImportDeclaration({ source, specifiers }) {
      if (!source.value.includes('/jobs/')) return;
      for (const { local } of specifiers) if (!local.name.endsWith('Job')) found.push(`import ${local.name}`);
    },
  }).visit(parseSync(name, text).program);
  return found;
}

test('the check finds what it looks for', () => {
  const text = `import { enqueue } from '../../jobs/define-job.ts';
    import { aJob } from '../../jobs/account-jobs.ts';
    async function work(ctx) { if (await verb(ctx)) await ctx.db.query(sql\`SELECT 1\`); }`;
  expect(rulesIn('a.ts', text)).toEqual(['import enqueue', 'IfStatement', 'TaggedTemplateExpression']);
});

test.each(readdirSync(FOLDER))('%s only calls verbs', (name) => {
  expect(rulesIn(name, readFileSync(path.join(FOLDER, name), 'utf8'))).toEqual([]);
});
