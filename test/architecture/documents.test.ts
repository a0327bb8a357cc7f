/** The documents are right: their links lead somewhere, their commands exist, their tables match the program. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { modules } from './import-table.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const documents = globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT }).map((file) => ({
  file,
  text: readFileSync(path.join(ROOT, file), 'utf8'),
}));
const LINK = /\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)/g;
/** A link to a heading of a page, or of its own. */
const ANCHOR = /\]\((?!https?:)([^)#\s]*\.md)?#([^)\s]+)\)/g;
/** The first cell of a row, but not of a table's head. */
const TERM = /^\| (?!Term|You look for|-)([^|]+?) \|/gm;
const guides = documents.filter(({ file }) => /^docs\/guides\/(?!README)/.test(file));
/** `src/jobs/define-job.ts`, or a folder. */
const NAMED_FILE = /`((?:src|test|bench|docs|plugins|prisma|scripts)(?:\/[\w.-]+)*)`/g;
/** Make `test/workers/count-tags.test.ts`: */
const MADE_FILE = /Make `([^`]+)`/g;
const SCRIPT = /npm (?:run )?([a-z][a-z:-]*)/g;
/** "decision record 0090", "docs/decisions/0090", "(0090)". */
const RECORD = /(?:decisions? |decision records? |records? |docs\/decisions\/)(0\d{3})\b|\((0\d{3})\)/gi;
/** A page that is read in one go. */
const RECORD_LINES_MAX = 30;
/** What a maintainer can know; a further record takes the place of another, or goes into it. */
const RECORDS_MAX = 85;
const records = documents
  .map(({ file, text }) => ({ name: path.basename(file), text }))
  .filter(({ name }) => /^\d{4}-/.test(name));
/** Commands of npm itself. */
const NPM_COMMANDS = new Set(['install', 'audit']);

describe('the documents', () => {
  it('are there', () => {
    expect(documents.length).toBeGreaterThan(20);
  });

  it.each(documents)('$file links to files that exist', ({ file, text }) => {
    const targets = [...text.matchAll(LINK)].map(([, target = '']) => target);
    const missing = targets.filter((target) => !existsSync(path.join(ROOT, path.dirname(file), target)));
    expect(missing).toEqual([]);
  });

  it.each(documents)('$file links to headings that exist', ({ file, text }) => {
    const targets = [...text.matchAll(ANCHOR)].map(([, page = '', heading = '']) => ({
      page: page === '' ? file : path.join(path.dirname(file), page),
      heading,
    }));
    expect(targets.filter(({ page, heading }) => !headingsOf(page).has(heading))).toEqual([]);
  });

  it.each(guides)('$file names files that exist, but for those that it says to make', ({ text }) => {
    const named = [...text.replaceAll(/```[^]*?```/g, '').matchAll(NAMED_FILE)].map(([, name = '']) => name);
    const made = [...text.matchAll(MADE_FILE)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !made.includes(name) && !existsSync(path.join(ROOT, name)))).toEqual([]);
    expect(made.filter((name) => existsSync(path.join(ROOT, name)))).toEqual([]);
  });

  it('list our terms once each and in alphabetical order, the words of other systems before them', () => {
    const page = documents.find(({ file }) => file === 'docs/language.md')?.text ?? '';
    const [, ...sections] = page.slice(0, page.indexOf('## Retired words')).split(/^## /m);
    const terms = sections.map((section) => [...section.matchAll(TERM)].map(([, term = '']) => plainTerm(term)));
    expect(sections[0]).toMatch(/^Words of other systems/);
    expect(terms).toEqual(terms.map((ofSection) => ofSection.toSorted()));
    const ours = terms.slice(1).flat();
    expect(ours.length).toBeGreaterThan(80);
    expect(ours.filter((term, place) => ours.indexOf(term) !== place)).toEqual([]);
  });

  it('list every record of a decision', () => {
    const index = readFileSync(path.join(ROOT, 'docs/decisions/README.md'), 'utf8');
    expect(records.map(({ name }) => name).filter((name) => !index.includes(`](${name})`))).toEqual([]);
  });

  it.each(records)('$name has its number in the title, a status and a date, and is short', ({ name, text }) => {
    expect(text).toMatch(new RegExp(`^# ${name.slice(0, 4)} \\p{L}`, 'u'));
    expect(text).toMatch(/^\*\*Status\.\*\* [A-Z][^.]+\. \*\*Date\.\*\* \d{4}-\d\d-\d\d/m);
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(RECORD_LINES_MAX);
  });

  it('are few', () => {
    expect(records.length).toBeLessThanOrEqual(RECORDS_MAX);
  });

  it('and the code name records that exist', () => {
    const code = globSync('{src,test,bench,scripts,plugins}/**/*.{ts,md}', { cwd: ROOT, exclude: ['src/generated/**'] })
      .map((file) => ({ file, text: readFileSync(path.join(ROOT, file), 'utf8') }))
      .filter(({ file }) => file !== 'test/architecture/documents.test.ts');
    const known = new Set(records.map(({ name }) => name.slice(0, 4)));
    const named = [...documents, ...code].flatMap(({ file, text }) =>
      [...text.matchAll(RECORD)].map(([, word, lone]) => ({ file, number: word ?? lone ?? '' })),
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ number, file }) => !known.has(number) && file !== 'CHANGELOG.md')).toEqual([]);
  });

  it('name scripts that package.json has', () => {
    const { scripts }: { scripts: Record<string, string> } = JSON.parse(
      readFileSync(path.join(ROOT, 'package.json'), 'utf8'),
    );
    const code = documents.flatMap(({ text }) => text.match(/`[^`\n]+`|```[^]*?```/g) ?? []).join('\n');
    const named = new Set([...code.matchAll(SCRIPT)].map(([, name = '']) => name));
    const unknown = [...named].filter((name) => scripts[name] === undefined && !NPM_COMMANDS.has(name));
    expect(unknown).toEqual([]);
    expect(named).toContain('demo');
  });

  it('promise a stop by SIGTERM, which npm hands to its child alone: no shell may stand between', () => {
    const { scripts }: { scripts: Record<string, string> } = JSON.parse(
      readFileSync(path.join(ROOT, 'package.json'), 'utf8'),
    );
    expect(scripts['start']).toMatch(/^(?:[A-Z_]+=\d+ )*exec node /);
  });

  it('show the import table as it is tested', () => {
    const page = documents.find(({ file }) => file === 'docs/ARCHITECTURE.md')?.text ?? '';
    const rows = [...page.matchAll(/^\| (\d+) \| (`[^|]+) \| ([^|]+) \|$/gm)];
    const shown = rows.flatMap(([, level = '', names = '', may = '']) =>
      [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => ({
        module: name.replace('/*', ''),
        level: Number(level),
        may,
      })),
    );
    expect(new Map(shown.map(({ module, level }) => [module, level]))).toEqual(
      new Map(Object.entries(modules).map(([module, { level }]) => [module, level])),
    );
    for (const { module, may } of shown) expect(missingWords(module, may), module).toEqual([]);
  });
});

/** As GitHub makes the anchor of a heading. */
function headingsOf(file: string): Set<string> {
  const headings = readFileSync(path.join(ROOT, file), 'utf8').matchAll(/^#+ (.+)$/gm);
  return new Set(
    [...headings].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/\]\([^)]*\)/g, '')
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

function plainTerm(cell: string): string {
  return cell.replaceAll(/[*`]/g, '').toLowerCase();
}

/** What a module may import by the tested table and the page does not name. */
function missingWords(module: string, said: string): string[] {
  const means = ['domain/context', 'events', 'jobs', 'db', 'plugin-api', 'lib'];
  const { may, typesOf = [] } = modules[module] ?? { may: [] };
  const needed = [...may, ...typesOf].filter((name) => !(said.includes('means') && means.includes(name)));
  if (/every domain module|everything below/.test(said))
    needed.splice(0, needed.length, ...needed.filter((name) => !name.startsWith('domain')));
  if (said.includes('everything below')) return [];
  return needed.filter((name) => !said.includes(name.replace(/^domain\//, '')));
}
