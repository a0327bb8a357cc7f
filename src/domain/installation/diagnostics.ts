/**
 * The checks of an installation, for its operator: what is wrong and what to do. Nothing of a customer and no secret is in an answer,
 * and nothing is sent anywhere except questions to name servers about the installation's own names.
 */
import type { Queryable } from '../../db/database.ts';
import { durabilityFaults } from '../../db/durability.ts';
import { migrationState } from '../../db/migration-state.ts';
import { followerStates } from '../../events/follower-read-model.ts';
import { BEHIND_DAYS_MAX } from '../../events/sweep-events.ts';
import type { Clock } from '../../lib/clock.ts';
import { countOf } from '../../lib/counted-noun.ts';
import { messageOf } from '../../lib/errors.ts';
import { stalledCampaigns } from '../campaigns/campaign-progress-store.ts';
import type { Installation } from '../context.ts';
import {
  databaseFacts,
  domainsFacts,
  returnsFacts,
  serversFacts,
  switchedOffPlugins,
} from './diagnostics-read-model.ts';
import { fault, ok, warning, type CheckResult, type CheckStatus } from './check-result.ts';
import { baseUrlCheck, bounceDomainCheck, diskCheck, secretCheck } from './machine-checks.ts';
import { queueByTask } from './monitoring-read-model.ts';
import { livingProcesses } from './process-store.ts';
import { age, reportSourceChecks } from './report-source-checks.ts';
import { holdOf } from './restore-guard.ts';

export interface Diagnosis extends CheckResult {
  readonly name: string;
}

export interface DiagnosticsMeans {
  readonly db: Queryable;
  readonly clock: Clock;
  readonly installation: Pick<Installation, 'baseUrl' | 'bounceDomain' | 'dnsServers' | 'machine'>;
}

type Check = (means: DiagnosticsMeans) => Promise<CheckResult>;

/** Clocks of machines with NTP differ by milliseconds. Leases and paces use the database's clock; links, logins and signatures use ours. */
const CLOCK_SECONDS_WARN = 2;
const CLOCK_SECONDS_MAX = 60;
/** A job waits longer only when workers are missing or fully busy. */
const QUEUE_SECONDS_WARN = 60;
const QUEUE_SECONDS_MAX = 300;
/** Followers are milliseconds behind, and while something fails at most a few minutes. */
const EVENTS_SECONDS_WARN = 900;
/** Above this share further processes may find no connection. */
const CONNECTIONS_SHARE_WARN = 0.9;
/** Mailboxes are read at least every few minutes. */
const POLL_HOURS_MAX = 1;
/** Sending domains are checked every day. */
const DOMAIN_CHECK_HOURS_MAX = 48;
/** Five heartbeats. */
const ALIVE_SECONDS = 15;
/** `UNIQUE NULLS NOT DISTINCT` came with 15. */
const SERVER_VERSION_MIN = 150_000;

const checks: Readonly<Record<string, Check>> = {
  database: checkDatabase,
  clock: checkClock,
  migrations: checkMigrations,
  durability: checkDurability,
  disk: ({ installation }) => diskCheck(installation),
  secret: ({ installation }) => secretCheck(installation),
  processes: checkProcesses,
  hold: checkHold,
  queue: checkQueue,
  events: checkEvents,
  campaigns: checkCampaigns,
  sending_servers: checkServers,
  sending_domains: checkDomains,
  bounces: checkReturns,
  plugins: checkPlugins,
  base_url: ({ installation }) => baseUrlCheck(installation),
  bounce_domain: ({ installation }) => bounceDomainCheck(installation),
};

/** Runs all checks; one that cannot run is an error of its own. */
export async function diagnose(means: DiagnosticsMeans): Promise<Diagnosis[]> {
  const reports = reportSourceChecks(means.db, means.installation.bounceDomain);
  const results = await Promise.all([
    ...Object.entries(checks).map(async ([name, check]) => {
      const result = await check(means).catch(notChecked);
      return [{ name, ...result }];
    }),
    reports.catch((error: unknown) => [{ name: 'reports', ...notChecked(error) }]),
  ]);
  return results.flat();
}

function notChecked(error: unknown): CheckResult {
  return fault(`It could not be checked: ${messageOf(error)}`, 'Check the database first, then try again.');
}

/** The gravest status. */
export function worstOf(results: readonly CheckResult[]): CheckStatus {
  if (results.some(({ status }) => status === 'error')) return 'error';
  return results.some(({ status }) => status === 'warning') ? 'warning' : 'ok';
}

async function checkDatabase({ db }: DiagnosticsMeans): Promise<CheckResult> {
  const { version, versionNumber, connections, connectionsMax, mayWrite } = await databaseFacts(db);
  if (versionNumber < SERVER_VERSION_MIN)
    return fault(`PostgreSQL is version ${version}.`, 'Use PostgreSQL 15 or later.');
  if (!mayWrite)
    return fault('The database is read-only.', 'Connect to the primary server, or end default_transaction_read_only.');
  if (connections > connectionsMax * CONNECTIONS_SHARE_WARN)
    return warning(
      `${connections} of ${connectionsMax} connections are in use.`,
      'Lower DB_POOL_SIZE or the number of processes, or raise max_connections of PostgreSQL.',
    );
  return ok(`PostgreSQL ${version}; ${connections} of ${connectionsMax} connections are in use.`);
}

async function checkClock({ db, clock }: DiagnosticsMeans): Promise<CheckResult> {
  const before = clock.now().getTime();
  const { now } = await databaseFacts(db);
  const after = clock.now().getTime();
  // Between question and answer every time of the database is right.
  const off = Math.max(0, before - now.getTime(), now.getTime() - after) / 1_000;
  if (off <= CLOCK_SECONDS_WARN) return ok('The clocks of this machine and of the database agree.');
  const message = `The clock of this machine and that of the database differ by ${Math.round(off)} seconds.`;
  const advice = 'Start a time service (chrony, systemd-timesyncd) on both machines.';
  return off > CLOCK_SECONDS_MAX ? fault(message, advice) : warning(message, advice);
}

async function checkMigrations({ db }: DiagnosticsMeans): Promise<CheckResult> {
  const { applied, missing, unknown } = await migrationState(db);
  if (unknown.length > 0)
    return fault(
      `The database has migrations that this version does not know: ${unknown.join(', ')}.`,
      'A newer version has used it: start that version here, too.',
    );
  if (missing.length > 0)
    return fault(
      `Migrations are missing: ${missing.join(', ')}.`,
      'Start the program: npm start migrates the database.',
    );
  return ok(`All ${applied} migrations are applied.`);
}

async function checkDurability({ db }: DiagnosticsMeans): Promise<CheckResult> {
  const faults = await durabilityFaults(db);
  if (faults.length === 0) return ok('The database keeps what it has confirmed.');
  return fault(
    faults.map(({ setting, value, means }) => `${setting} is ${value}: ${means}.`).join(' '),
    `Set ${faults.map(({ setting }) => `${setting} = on`).join(', ')} in the settings of PostgreSQL.`,
  );
}

async function checkProcesses({ db }: DiagnosticsMeans): Promise<CheckResult> {
  const alive = await livingProcesses(db, ALIVE_SECONDS);
  const missing = ['web', 'worker', 'cron'].filter((role) => !alive.some(({ roles }) => roles.includes(role)));
  if (missing.length > 0)
    return fault(
      `No process has the role ${missing.join(', ')}.`,
      'Start the program: npm start, with ROLES if it is divided. Without a worker nothing is sent; without cron nothing runs by the clock.',
    );
  const versions = [...new Set(alive.map(({ version }) => version))].toSorted();
  if (versions.length > 1)
    return warning(`Processes of several versions are running: ${versions.join(', ')}.`, 'Restart the older ones.');
  if (!alive.some(({ isWorking }) => isWorking))
    return fault('No worker takes jobs.', 'See the checks hold and disk, and /readyz of the workers.');
  return ok(`Processes running: ${alive.length}.`);
}

async function checkHold({ db }: DiagnosticsMeans): Promise<CheckResult> {
  const held = await holdOf(db);
  if (!held) return ok('The installation is not on hold.');
  return fault(
    `The installation is on hold since ${held.since.toISOString()}: nothing is sent.`,
    'Look at what would be sent and end the hold: npm run end-hold.',
  );
}

async function checkQueue({ db }: DiagnosticsMeans): Promise<CheckResult> {
  const tasks = await queueByTask(db);
  const oldest = tasks.toSorted((a, b) => b.oldestDueSeconds - a.oldestDueSeconds)[0];
  const waits = Math.round(oldest?.oldestDueSeconds ?? 0);
  const failed = tasks.filter((task) => task.failed > 0).map((task) => `${task.failed} × ${task.task}`);
  if (oldest && waits > QUEUE_SECONDS_WARN) {
    const message = `A job of the kind ${oldest.task} waits for ${countOf(waits, ['second', 'seconds'])}.`;
    const advice = 'Look whether workers are running (check processes), and start more of them if they are busy.';
    return waits > QUEUE_SECONDS_MAX ? fault(message, advice) : warning(message, advice);
  }
  if (failed.length > 0)
    return warning(
      `Jobs that failed for good: ${failed.join(', ')}.`,
      'Look for job.failed in the log. Campaigns get new jobs automatically.',
    );
  const due = tasks.reduce((sum, task) => sum + task.due, 0);
  return ok(
    due === 0
      ? 'No job is due.'
      : `Due: ${countOf(due, ['job', 'jobs'])}, the oldest for ${countOf(waits, ['second', 'seconds'])}.`,
  );
}

async function checkEvents({ db }: DiagnosticsMeans): Promise<CheckResult> {
  const followers = await followerStates(db);
  const named = (which: typeof followers): string =>
    which.map(({ name, owner, behindSeconds }) => `${name} of ${owner} (${Math.round(behindSeconds)} s)`).join(', ');
  const cutOff = followers.filter(({ cutOffAt }) => cutOffAt !== null);
  if (cutOff.length > 0)
    return fault(
      `Followers of events were cut off, because they were over ${BEHIND_DAYS_MAX} days behind: ${named(cutOff)}.`,
      'They miss what has happened since. Repair the plugin, then run: npm run event-followers -- again <name>',
    );
  const late = followers.filter(({ behindSeconds }) => behindSeconds > EVENTS_SECONDS_WARN);
  if (late.length > 0)
    return warning(
      `Followers of events are behind: ${named(late)}. ${late.map(({ lastError }) => lastError ?? '').join(' ')}`.trim(),
      `Look for events.handler_failed in the log, for workers that run (check processes), and for transactions that stay open in PostgreSQL. A follower is cut off after ${BEHIND_DAYS_MAX} days.`,
    );
  return ok(`Followers of events: ${named(followers)}.`);
}

async function checkCampaigns({ db }: DiagnosticsMeans): Promise<CheckResult> {
  const stalled = await stalledCampaigns(db);
  if (stalled.length === 0) return ok('No campaign is stalled.');
  return fault(
    `Without progress: ${countOf(stalled.length, ['campaign', 'campaigns'])}.`,
    'Each shows its reason: { installation { stalledCampaigns { uid since } } } and status_reason of the campaign.',
  );
}

async function checkServers({ db }: DiagnosticsMeans): Promise<CheckResult> {
  const { active, resting, restingOfCustomers, warmUpsStopped } = await serversFacts(db);
  if (active === 0)
    return warning(
      'There is no sending server besides the built-in inbox: no mail leaves this machine.',
      'Add a sending server: POST /api/v1/sending_servers (docs/manual/sending.md).',
    );
  if (resting.length > 0)
    return fault(
      `System servers that are paused because of trouble: ${resting.join(', ')}.`,
      'Test them: POST /api/v1/sending_servers/<uid>/test says what is wrong.',
    );
  if (warmUpsStopped.length > 0)
    return warning(
      `The warm-up has stopped at: ${warmUpsStopped.join(', ')}.`,
      'Too many addresses do not exist. Clean the lists, then continue with POST /api/v1/sending_servers/<uid>/reset_health.',
    );
  if (restingOfCustomers > 0)
    return warning(
      `Paused because of trouble: ${countOf(restingOfCustomers, ['server', 'servers'])} of customers.`,
      'Their customers see the reason in the health of the server.',
    );
  return ok(`Active: ${countOf(active, ['sending server', 'sending servers'])}.`);
}

async function checkDomains({ db }: DiagnosticsMeans): Promise<CheckResult> {
  const { verified, failing, oldestCheckHours } = await domainsFacts(db);
  if (failing > 0)
    return warning(
      `The DNS records of ${failing} sending domains have changed: their mail is no longer signed correctly.`,
      'Their customers got a mail with the records to restore.',
    );
  if (oldestCheckHours !== null && oldestCheckHours > DOMAIN_CHECK_HOURS_MAX)
    return warning(
      `A sending domain was not checked for ${Math.round(oldestCheckHours)} hours.`,
      'Look whether a process with the role cron and a worker are running, and whether DNS_SERVERS answer.',
    );
  if (verified === 0)
    return warning(
      'No sending domain is verified: large providers refuse mail that nobody has signed, or treat it as spam.',
      'Add the domain of your senders and its DNS records (docs/manual/sending-domains.md).',
    );
  return ok(`${verified} sending domains are verified.`);
}

async function checkPlugins({ db }: DiagnosticsMeans): Promise<CheckResult> {
  const names = await switchedOffPlugins(db);
  if (names.length === 0) return ok('No plugin was switched off.');
  return fault(
    `Plugins that were switched off because processes ended: ${names.join(', ')}.`,
    'Each has its reason in "error": GET /api/v1/plugins. Install a corrected version and activate it, or delete it.',
  );
}

async function checkReturns({ db, installation }: DiagnosticsMeans): Promise<CheckResult> {
  const { mailboxes, failing, failingOfCustomers, sincePollHours, sinceReportHours } = await returnsFacts(db);
  if (failing.length > 0)
    return fault(
      `Bounce mailboxes that cannot be read: ${failing.join(', ')}.`,
      'GET /api/v1/bounce_handlers/<uid> shows the reason.',
    );
  if (mailboxes > 0 && (sincePollHours === null || sincePollHours > POLL_HOURS_MAX))
    return warning(
      'No bounce mailbox was read in the last hour.',
      'Look whether a process with the role cron and a worker are running.',
    );
  if (failingOfCustomers > 0)
    return warning(
      `${failingOfCustomers} bounce mailboxes of customers cannot be read.`,
      'Their customers see the reason in the bounce handler.',
    );
  const hasReports = sinceReportHours !== null;
  if (mailboxes === 0 && !hasReports && !installation.bounceDomain)
    return warning(
      'Bounces do not come back here: addresses that do not exist get mail again and again.',
      'Set BOUNCE_DOMAIN, add a bounce mailbox, or enter the webhook of your provider (docs/manual/bounces.md).',
    );
  const last = hasReports
    ? `the last report of a vendor is ${age(sinceReportHours)} old`
    : 'no vendor has reported yet';
  return ok(`${mailboxes} bounce mailboxes are read; ${last}.`);
}
