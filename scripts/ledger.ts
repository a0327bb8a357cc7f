/**
 * `npm run ledger -- <campaign uid> [address]`: checks a campaign's figures, or shows the history of one recipient. Reads only;
 * exits with 1 when something does not balance or does not exist.
 */
import type { Database } from '../src/db/database.ts';
import { statusReasonsOf } from '../src/domain/campaigns/campaign-wait.ts';
import { deliveryStates } from '../src/domain/delivery/ledger/delivery.ts';
import {
  auditedCampaign,
  auditLedger,
  storyEvents,
  storyRows,
  type AuditedCampaign,
  type LedgerAudit,
  type StoryRow,
} from '../src/domain/delivery/ledger/ledger-audit-read-model.ts';
import { deliveryReasonText } from '../src/domain/sending/delivery-reason.ts';
import { unsubscribeReasonText } from '../src/domain/tracking/unsubscribe-reason.ts';
import { messageOf } from '../src/lib/errors.ts';
import { readableTime } from '../src/lib/units.ts';
import { withInstallation } from './support/open-installation.ts';

const USAGE = `npm run ledger -- <campaign uid>            compares rows with figures
npm run ledger -- <campaign uid> <address>  what became of one recipient`;

const given = process.argv.slice(2);
const [uid, address] = given;
if (uid === '--help' || uid === '-h') console.log(USAGE);
else if (uid === undefined || given.length > 2 || given.some((word) => word.startsWith('-'))) {
  // A script that checks a campaign must not take a missing argument for "all is well".
  console.error(USAGE);
  process.exitCode = 1;
} else {
  try {
    process.exitCode = (await withInstallation((database) => printLedger(database, uid))) ? 0 : 1;
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = 1;
  }
}

/** Returns whether all is well. */
async function printLedger(database: Database, campaignUid: string): Promise<boolean> {
  const campaign = await auditedCampaign(database, campaignUid);
  if (!campaign) throw new Error(`There is no campaign ${campaignUid}.`);
  console.log(`${campaign.name} (${campaign.uid}): ${campaign.status}`);
  const [reason] = await statusReasonsOf({ db: database }, [campaign]);
  if (reason) console.log(reason);
  if (campaign.snapshotOn === null) {
    console.log('It was never started: there is nothing in the ledger.');
    return true;
  }
  if (address !== undefined) return printHistory(database, campaign, address);
  const audit = await auditLedger(database, campaign);
  console.log(balanceOf(audit));
  return audit.faults.length === 0;
}

function balanceOf({ rows, counters, ambiguousRows, ambiguousMost, faults }: LedgerAudit): string {
  const audience = deliveryStates.reduce((sum, state) => sum + rows[state], 0);
  const shown = (name: keyof NonNullable<typeof counters>) => String(counters?.[name] ?? '-').padStart(12);
  const line = (name: string, count: number, counter: string) =>
    `  ${name.padEnd(12)}${String(count).padStart(12)}${counter}`;
  return [
    '',
    `  ${''.padEnd(12)}${'rows'.padStart(12)}${'shown'.padStart(12)}`,
    line('queued', rows.queued, ''),
    line('leased', rows.leased, ''),
    line('sending', rows.sending, ''),
    line('open', rows.queued + rows.leased + rows.sending, shown('open')),
    ...(['sent', 'failed', 'skipped', 'suppressed', 'unknown'] as const).map((name) =>
      line(name, rows[name], shown(name)),
    ),
    line('audience', audience, shown('audience')),
    '',
    ambiguousRows === 0
      ? 'Nobody was ever in doubt: each accepted message is one copy.'
      : `${counted(ambiguousRows, 'recipient was', 'recipients were')} in doubt after a crash or a lost connection, up to ${counted(ambiguousMost, 'time')}: each time may be a second copy.`,
    ...(faults.length === 0 ? ['It balances.'] : ['IT DOES NOT BALANCE:', ...faults.map((fault) => `  ${fault}`)]),
  ].join('\n');
}

async function printHistory(database: Database, campaign: AuditedCampaign, recipient: string): Promise<boolean> {
  const rows = await storyRows(database, campaign, recipient);
  if (rows.length === 0) {
    console.log(`${recipient} is not among its recipients.`);
    return false;
  }
  for (const row of rows) {
    console.log(`\n${storyOf(row).join('\n')}`);
    const events = await storyEvents(database, campaign, row.subscriberId);
    for (const { at, kind, detail } of events) {
      const text = detail && kind === 'unsubscribed' ? unsubscribeReasonText(detail) : detail;
      console.log(`  ${readableTime(at)}  ${kind}${text ? `: ${text}` : ''}`);
    }
    if (events.length === 0 && row.state === 'sent') console.log('  Nothing has come back yet.');
  }
  return true;
}

function storyOf(row: StoryRow): string[] {
  return [
    `${row.email}: ${row.state}${row.reason ? ` (${deliveryReasonText(row.reason)})` : ''}`,
    `  since ${readableTime(row.updatedAt)}, after ${counted(row.attempts, 'try', 'tries')}, taken up ${counted(row.epoch, 'time')}`,
    ...(row.server ? [`  through ${row.server}`] : []),
    ...(row.reply ? [`  the server said: ${row.reply}`] : []),
    ...(row.ambiguousCount > 0
      ? [`  in doubt ${counted(row.ambiguousCount, 'time')}: as many second copies are possible`]
      : []),
    ...(row.state === 'queued' && row.notBefore ? [`  is tried next at ${readableTime(row.notBefore)}`] : []),
    ...(row.leaseExpiresAt && row.state !== 'sent'
      ? [`  a worker has it until ${readableTime(row.leaseExpiresAt)} at least`]
      : []),
  ];
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
