/**
 * Fails when a regular expression of the product may take time that grows faster than the text: one thread serves all requests,
 * and much of its input comes from strangers. Looks at every literal, and at every `RegExp(...)` by an example from MADE.
 *
 *   node scripts/check-expressions.ts [--all]
 *
 * Without --all, the few whose analysis takes long are not analysed again while their text is as it was: see PROVEN.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { parseSync, Visitor } from 'oxc-parser';
import { z } from 'zod';
import { MACHINE_AGENTS } from '../src/domain/tracking/machine-agents.ts';
import { backtrackingFault } from './support/analyse-expression.ts';

/** An expression that takes longer should get a line in PROVEN. */
const LONG_ANALYSIS_MS = 5_000;

const root = path.resolve(import.meta.dirname, '..');

/** Expressions that are built at run time, by file: as they are, or an example. */
const MADE: Readonly<Record<string, string>> = {
  'src/domain/tracking/machine-request.ts': MACHINE_AGENTS.join('|'),
  'src/domain/content/compile-files.ts': String.raw`(?:https:\/\/a\.b\/c|cid:d|\bcid:[^"'\s<>()]+)(?![\w.%-])`,
};

/**
 * Expressions that were analysed with --all and passed; the same text passes again. Remove an expression from this list when you
 * change it.
 */
const PROVEN = path.join(import.meta.dirname, 'support', 'proven-expressions.json');

interface Expression {
  readonly file: string;
  readonly line: number;
  readonly pattern: string;
  readonly flags: string;
}

const { values } = parseArgs({ options: { all: { type: 'boolean', default: false } } });
const proven = new Set(z.array(z.string()).parse(JSON.parse(readFileSync(PROVEN, 'utf8'))));
const expressions = globSync('{src,plugins}/**/*.ts', { cwd: root })
  .filter((file) => !file.startsWith('src/generated/'))
  .flatMap(expressionsOf);
const faults: string[] = [];
const known = new Map<string, string | undefined>();
for (const { file, line, pattern, flags } of expressions) {
  const key = `/${pattern}/${flags}`;
  if (!known.has(key)) known.set(key, analyse(pattern, flags));
  const fault = known.get(key);
  if (fault !== undefined) faults.push(`${file}:${line} ${key}\n    ${fault}`);
}
for (const key of proven) if (!known.has(key)) faults.push(`${PROVEN}: ${key} is no longer in the product. Remove it.`);
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
else {
  const analysed = values.all ? known.size : known.size - proven.size;
  console.log(`${known.size} regular expressions take time in proportion to the text (${analysed} analysed now).`);
}

function analyse(pattern: string, flags: string): string | undefined {
  const key = `/${pattern}/${flags}`;
  if (proven.has(key) && !values.all) return undefined;
  const { user } = process.cpuUsage();
  const fault = backtrackingFault(pattern, flags);
  const ms = process.cpuUsage({ user, system: 0 }).user / 1_000;
  if (ms > LONG_ANALYSIS_MS && !proven.has(key))
    console.log(`The analysis of ${key} took ${(ms / 1_000).toFixed(1)} s: it may be added to ${PROVEN}.`);
  return fault;
}

function expressionsOf(file: string): Expression[] {
  const source = readFileSync(path.join(root, file), 'utf8');
  const found: Expression[] = [];
  const add = (start: number, pattern: string, flags: string): void => {
    found.push({ file, line: source.slice(0, start).split('\n').length, pattern, flags });
  };
  const made = ({ start, callee }: { start: number; callee: object }): void => {
    if (!('name' in callee) || callee.name !== 'RegExp') return;
    const example = MADE[file];
    if (example === undefined)
      throw new Error(`${file} makes a RegExp: write it as a literal, or add an example to MADE.`);
    add(start, example, '');
  };
  const visitor = new Visitor({
    Literal(node) {
      if ('regex' in node) add(node.start, node.regex.pattern, node.regex.flags);
    },
    NewExpression: made,
    CallExpression: made,
  });
  visitor.visit(parseSync(file, source).program);
  return found;
}
