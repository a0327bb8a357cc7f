/**
 * What a plugin's tests see of the installation that `npm run plugin -- test` has started for them. Everything goes over HTTP, as for any
 * other client; what is fired is written down by a plugin of the test's own (`observer.ts`).
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { request, type Rest } from './rest-call.ts';
import { sendCampaign, type CampaignToSend, type StartedCampaign } from './send-campaign.ts';

/** What the program that runs the tests hands over, as JSON. */
export const INSTALLATION_VARIABLE = 'MAILWRIGHT_PLUGIN_TEST';

export interface InstallationFacts {
  readonly baseUrl: string;
  readonly token: string;
  /** `vendor/name` of the plugin that is tested. */
  readonly plugin: string;
  /** What its manifest asks for beside hooks and tables, as the activation takes it. */
  readonly grants: Readonly<Record<string, unknown>>;
  readonly dataDir: string;
  /** Events that were fired, one JSON text a line. */
  readonly firedFile: string;
  /** The log of the installation. */
  readonly logFile: string;
}

export interface FiredHook {
  readonly hook: string;
  /** Numbers too large for JSON are texts. */
  readonly args: readonly unknown[];
}

export interface ReceivedMail {
  readonly id: number;
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
}

export interface TestInstallation extends Omit<InstallationFacts, 'firedFile' | 'logFile' | 'grants'> {
  /** Runs an operation as the administrator and returns `data`. Rejects with the errors of the answer. */
  graphql(query: string, variables?: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>>;
  /** A request to `/api/v1`, as the administrator: `rest('/lists')`, `rest('/lists', { method: 'POST', body: { ... } })`. */
  readonly rest: Rest;
  /** Activates the plugin that is tested, with all that it asks for, or another one of the data directory. Rejects with the reason when it fails. */
  activate(plugin?: string): Promise<void>;
  deactivate(plugin?: string): Promise<void>;
  /** The EVENTs fired so far, of one name or all. */
  hooksFired(hook?: string): Promise<readonly FiredHook[]>;
  /** Sends a campaign to one person. Then wait: `await until(() => mailwright.mails(to))`. */
  sendCampaign(campaign: CampaignToSend): Promise<StartedCampaign>;
  /** Mails that the installation has sent, newest first; of one recipient or all. */
  mails(to?: string): Promise<readonly ReceivedMail[]>;
  /** Lines of the log that name the plugin. */
  log(): Promise<readonly string[]>;
}

/** The installation that was started for these tests. Throws an Error when there is none. */
export function connectInstallation(): TestInstallation {
  const given = process.env[INSTALLATION_VARIABLE];
  if (given === undefined)
    throw new Error('No installation was started for these tests. Run them with: npm run plugin -- test <folder>');
  const facts: InstallationFacts = JSON.parse(given);
  const { baseUrl, token, plugin, grants, dataDir } = facts;
  const rest: Rest = (path, options) => request(facts, `/api/v1${path}`, options);
  return {
    ...{ baseUrl, token, plugin, dataDir, rest },
    graphql: (query, variables = {}) => runOperation(facts, query, variables),
    activate: (name = plugin) => change(rest, name, 'activate', name === plugin ? grants : {}),
    deactivate: (name = plugin) => change(rest, name, 'deactivate'),
    async hooksFired(hook) {
      const fired = (await linesOf(facts.firedFile)).map((line): FiredHook => JSON.parse(line));
      return hook === undefined ? fired : fired.filter((one) => one.hook === hook);
    },
    sendCampaign: (campaign) => sendCampaign(rest, campaign),
    mails: (to) => readMails(facts, to),
    log: async () => (await linesOf(facts.logFile)).filter((line) => line.includes(plugin)),
  };
}

/** Waits for something: calls `look` until it returns what is neither false, undefined nor an empty list. Rejects after `seconds`. */
export async function until<T>(look: () => T | Promise<T>, seconds = 30): Promise<T> {
  const deadline = performance.now() + seconds * 1_000;
  for (;;) {
    const found = await look();
    const isEmpty = found === false || found === undefined || (Array.isArray(found) && found.length === 0);
    if (!isEmpty) return found;
    if (performance.now() > deadline) throw new Error(`It did not happen within ${seconds} seconds.`);
    await sleep(50);
  }
}

async function runOperation(facts: InstallationFacts, query: string, variables: object) {
  const { body } = await request(facts, '/graphql', { method: 'POST', body: { query, variables } });
  if (!isObject(body) || !isObject(body['data']) || body['errors'] !== undefined)
    throw new Error(`GraphQL answers: ${JSON.stringify(body)}`);
  return body['data'];
}

async function change(rest: Rest, plugin: string, verb: string, input: object = {}): Promise<void> {
  const { status, body } = await rest(`/plugins/${plugin}/${verb}`, { method: 'POST', body: input });
  if (status !== 200) throw new Error(`The plugin ${plugin} could not be changed (${verb}): ${JSON.stringify(body)}`);
}

async function readMails(facts: InstallationFacts, to: string | undefined): Promise<ReceivedMail[]> {
  const search = new URLSearchParams({ limit: '200', ...(to === undefined ? {} : { to }) });
  const { body } = await request(facts, `/inbox/messages?${search.toString()}`);
  const entries = isObject(body) && Array.isArray(body['messages']) ? body['messages'] : [];
  const mails: ReceivedMail[] = [];
  for (const { id } of entries) {
    const mail = (await request(facts, `/inbox/messages/${id}`)).body;
    if (isObject(mail)) mails.push(mailOf(mail));
  }
  return mails;
}

function mailOf(mail: Readonly<Record<string, unknown>>): ReceivedMail {
  const textOf = (key: string): string => (typeof mail[key] === 'string' ? mail[key] : '');
  return {
    ...{ id: Number(mail['id']), from: textOf('mail_from'), to: String(mail['to']), subject: textOf('subject') },
    ...{ text: textOf('text'), html: textOf('html') },
    headers: Array.isArray(mail['headers']) ? mail['headers'] : [],
  };
}

async function linesOf(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
