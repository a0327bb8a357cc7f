/**
 * Writes the table of settings in docs/manual/settings.md from src/config/settings.ts, between two marks.
 * `--check` compares instead and fails when the page says something else than the program.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { settings } from '../src/config/settings.ts';

const page = new URL('../docs/manual/settings.md', import.meta.url);
const BEGIN = '<!-- settings: begin (made by `npm run settings`) -->';
const END = '<!-- settings: end -->';

const kept = await readFile(page, 'utf8');
const written = withTable(kept, settingsTable());

if (!process.argv.includes('--check')) await writeFile(page, written);
else if (kept !== written) {
  console.error('docs/manual/settings.md is out of date: run `npm run settings` and commit the result.');
  process.exitCode = 1;
}

function settingsTable(): string {
  const rows = Object.entries(settings).map(([name, { default: text, kind, about }]) =>
    [`| \`${name}\``, text === '' ? '' : `\`${text}\``, cell(kind.allowed), `${cell(about)} |`].join(' | '),
  );
  return ['| Setting | Default | Allowed | What it is for |', '|---|---|---|---|', ...rows].join('\n');
}

/** A bar would end the cell. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function withTable(text: string, table: string): string {
  const [head, rest] = text.split(BEGIN);
  const tail = rest?.split(END)[1];
  if (head === undefined || tail === undefined) throw new Error(`The page has lost its marks: ${BEGIN} and ${END}`);
  return `${head}${BEGIN}\n\n${table}\n\n${END}${tail}`;
}
