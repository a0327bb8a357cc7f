/**
 * Ends the hold of an installation that is a restored backup: `npm run end-hold -- pause` or `-- continue`. Without a word it
 * shows the hold and what would be sent. `-- hold` starts a hold by hand.
 */
import { sql, type Database } from '../src/db/database.ts';
import { hold, holdOf, endHold } from '../src/domain/installation/restore-guard.ts';
import { waitingMails, type WaitingMails } from '../src/domain/installation/waiting-mail-store.ts';
import { SOURCE_KINDS } from '../src/domain/source-key.ts';
import { messageOf } from '../src/lib/errors.ts';
import { systemClock } from '../src/lib/clock.ts';
import { silentLog } from '../src/lib/log.ts';
import { withInstallation } from './support/open-installation.ts';

const [word] = process.argv.slice(2);
try {
  await withInstallation((database) => act(database));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}

async function act(database: Database): Promise<void> {
  if (word === 'hold') {
    const { since } = await hold(database, 'Started by hand.');
    return console.log(
      `The installation is on hold since ${since.toISOString()}. Running workers stop within seconds.`,
    );
  }
  if (word === undefined) return printHold(database);
  if (word !== 'pause' && word !== 'continue')
    throw new Error('Use one of: pause, continue, hold. Without a word, the command shows the present state.');
  const means = { database, log: silentLog, clock: systemClock };
  const { campaignsPaused, automationsPaused, mailsDropped } = await endHold(means, word);
  console.log(
    `The hold is over; processes start their work within seconds. Campaigns paused: ${campaignsPaused}. Automations paused: ${automationsPaused}.`,
  );
  if (mailsDropped.length > 0) console.log('These mails are not sent:');
  mailsDropped.forEach(printMails);
}

async function printHold(database: Database): Promise<void> {
  const held = await holdOf(database);
  if (!held) return console.log('The installation is not on hold.');
  console.log(`On hold since ${held.since.toISOString()}: ${held.reason}\n`);
  const campaigns = await database.query(
    { uid: 'text', status: 'text', name: 'text', open: 'int' },
    sql`SELECT c.uid, c.status, c.name, coalesce(d.open, 0)::int AS open FROM campaign c
          LEFT JOIN hot.delivery_counter d ON d.customer_id = c.customer_id AND d.source_kind = ${SOURCE_KINDS.campaign} AND d.source_id = c.id
         WHERE c.status IN ('scheduled', 'queued', 'sending') ORDER BY c.id LIMIT 100`,
  );
  for (const { uid, status, name, open } of campaigns)
    console.log(`  ${uid}  ${status.padEnd(9)}  ${String(open).padStart(9)} still to be sent  ${name}`);
  await printAutomations(database);
  const mails = await waitingMails(database, held.since);
  if (mails.length > 0) console.log('\nMails that were asked for before the hold began:');
  mails.forEach(printMails);
  console.log(
    '\nnpm run end-hold -- pause     ends the hold; these campaigns and automations are paused, these mails are not sent',
  );
  console.log('npm run end-hold -- continue  ends the hold; they continue where the backup left them');
}

async function printAutomations(database: Database): Promise<void> {
  const active = await database.query(
    { uid: 'text', name: 'text', customerUid: 'text', inside: 'int' },
    sql`SELECT a.uid, a.name, c.uid AS "customerUid",
               (SELECT count(*) FROM hot.flow_run r WHERE r.customer_id = a.customer_id AND r.automation_id = a.id)::int AS inside
          FROM automation a JOIN customer c ON c.id = a.customer_id WHERE a.status = 'active' ORDER BY a.id LIMIT 100`,
  );
  if (active.length > 0) console.log('\nActive automations:');
  for (const { uid, name, customerUid, inside } of active)
    console.log(`  ${uid}  ${String(inside).padStart(9)} people inside  customer ${customerUid}  ${name}`);
}

function printMails({ kind, count, customerUid, listUid, firstAskedAt, lastAskedAt }: WaitingMails): void {
  const whose = [customerUid ? `customer ${customerUid}` : '', listUid ? `list ${listUid}` : ''].join('  ');
  console.log(
    `  ${String(count).padStart(9)}  ${kind}  ${whose}  ${firstAskedAt.toISOString()} to ${lastAskedAt.toISOString()}`,
  );
}
