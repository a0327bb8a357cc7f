/**
 * Writes the parts of the manual that are generated: the settings (docs/manual/settings.md), the rows of REST
 * (docs/manual/rest.md), the events of webhooks (docs/manual/webhooks.md) and the ready-made flows (docs/manual/ready-made-flows.md), each
 * between two marks; and the pictures of flows. `--check` compares instead and fails when a page or a picture is out of date.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { settings } from '../src/config/settings.ts';
import { settingsTable } from '../src/domain/installation/settings.ts';
import { chapterOf } from '../src/rest-facade/openapi.ts';
import type { Row } from '../src/rest-facade/row.ts';
import { rows } from '../src/rest-facade/rows.ts';
import { readyMadeCatalogue, readyMadePictures } from './support/ready-made-pages.ts';
import { webhookCatalogue } from './support/webhook-catalogue.ts';

/** Pages of the manual with more about a chapter. */
const PAGES: Readonly<Record<string, string>> = {
  Session: 'accounts.md',
  Customers: 'accounts.md',
  Campaigns: 'messages.md',
  Lists: 'lists-and-subscribers.md',
  Imports: 'import.md',
  File: 'files.md',
  Files: 'files.md',
  Notifications: 'reports.md',
  Subscribers: 'lists-and-subscribers.md',
  Erasures: 'rights-of-a-person.md',
  Suppressions: 'rights-of-a-person.md',
  Segments: 'segments.md',
  Templates: 'templates.md',
  Automations: 'automations.md',
  'Ready made flows': 'ready-made-flows.md',
  Transactional: 'transactional.md',
  Webhooks: 'webhooks.md',
  'Sending servers': 'sending.md',
  'Email verification servers': 'verification.md',
  'Usable verification servers': 'verification.md',
  Verifications: 'verification.md',
  'Bounce handlers': 'bounces.md',
  'Bounce policy': 'bounces.md',
  'Sending domains': 'sending-domains.md',
  'Plans and subscriptions': 'plans-and-billing.md',
  Settings: 'settings.md',
  'Api tokens': 'accounts.md',
  'Two factor': 'accounts.md',
  'Audit events': 'accounts.md',
  'Sending routes': 'sending.md',
  'From addresses': 'sending.md',
  Invoices: 'plans-and-billing.md',
  Payments: 'plans-and-billing.md',
  Currencies: 'plans-and-billing.md',
  'Payment gateways': 'plans-and-billing.md',
  'Payment gateway types': 'plans-and-billing.md',
  'Payment methods': 'plans-and-billing.md',
  Events: 'events.md',
  'Webhook events': 'webhooks.md',
  'Vendor requests': 'bounces.md',
  'Segment conditions': 'segments.md',
  Plugins: 'plugins.md',
  'Plugin mail templates': 'plugins.md',
  'Extension slots': 'plugins.md',
  Diagnostics: 'operations.md',
  License: 'operations.md',
  Upgrade: 'upgrades.md',
};

const IN_DATABASE =
  'An administrator changes them while the program runs, with `PATCH /api/v1/settings` or in GraphQL with `updateInstallationSettings` (there in camelCase). All processes use the new values within seconds. Every change is in the [audit trail](accounts.md). An empty value, `null` in GraphQL, goes back to the default.';

const ACCESS: Readonly<Record<Row['access'], string>> = {
  public: 'Needs no token.',
  token: '',
  admin: 'For administrators.',
};

const isCheck = process.argv.includes('--check');
await writePart('settings', settingsTables());
await writePart('rest', restRows());
await writePart('webhooks', webhookCatalogue());
await writePart('ready-made-flows', readyMadeCatalogue());
for (const [name, picture] of readyMadePictures()) await keep(name, '', picture);

async function writePart(page: string, part: string): Promise<void> {
  const kept = await readFile(fileOf(`${page}.md`), 'utf8');
  await keep(`${page}.md`, kept, withPart(kept, part));
}

function fileOf(name: string): URL {
  return new URL(`../docs/manual/${name}`, import.meta.url);
}

/** `kept`: empty for a file that is made as a whole. */
async function keep(name: string, kept: string, written: string): Promise<void> {
  if (!isCheck) return writeFile(fileOf(name), written);
  const found = kept === '' ? await readFile(fileOf(name), 'utf8').catch(() => '') : kept;
  if (found === written) return;
  console.error(`docs/manual/${name} is out of date: run \`npm run manual\` and commit the result.`);
  process.exitCode = 1;
}

function withPart(text: string, part: string): string {
  const begin = '<!-- made by `npm run manual`: begin -->';
  const end = '<!-- made by `npm run manual`: end -->';
  const [head, rest] = text.split(begin);
  const tail = rest?.split(end)[1];
  if (head === undefined || tail === undefined) throw new Error(`The page has lost its marks: ${begin} and ${end}`);
  return `${head}${begin}\n\n${part}\n\n${end}${tail}`;
}

function settingsTables(): string {
  const ofEnvironment = Object.entries(settings).map(([name, { default: text, kind, about }]) =>
    settingLine(name, text, [kind.allowed, about]),
  );
  const ofDatabase = Object.entries(settingsTable).map(([name, { default: value, allowed, about }]) =>
    settingLine(snakeCase(name), String(value), [allowed, about]),
  );
  const head = ['| Setting | Default | Allowed | What it is for |', '|---|---|---|---|'];
  return [
    ...['## In the environment', '', ...head, ...ofEnvironment, ''],
    ...['## In the database', '', IN_DATABASE, '', ...head, ...ofDatabase],
  ].join('\n');
}

function settingLine(name: string, value: string, rest: readonly string[]): string {
  return line([`\`${name}\``, value === '' ? '' : `\`${value}\``, ...rest]);
}

/** The name in REST. */
function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function restRows(): string {
  const chapters = Map.groupBy(rows, ({ path }) => chapterOf(path));
  return [...chapters]
    .map(([chapter, ofChapter]) => {
      const page = PAGES[chapter];
      const lines = ofChapter.map(({ method, path, summary, details, access }) => {
        const about = [summary, details, ACCESS[access]].filter(Boolean).join(' ');
        return line([`\`${[method].flat().join(' ')} ${path}\``, about]);
      });
      const title = page === undefined ? chapter : `[${chapter}](${page})`;
      return [`### ${title}`, '', '| Request | What it does |', '|---|---|', ...lines].join('\n');
    })
    .join('\n\n');
}

/** A bar would end a cell. */
function line(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
