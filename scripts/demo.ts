/**
 * `npm run demo`: a whole campaign in a minute, from a file of people to its report, against the running product or a temporary
 * installation. It is a client like any other and imports nothing of the product.
 */
import { z } from 'zod';
import { connect, type Client } from './demo/client.ts';
import { DemoError } from './demo/demo-error.ts';
import { counted } from './demo/format.ts';
import { importPeople } from './demo/import-people.ts';
import { promptForToken } from './demo/log-in.ts';
import { LIST_NAME, makeList } from './demo/make-list.ts';
import { readOptions, USAGE, type DemoOptions } from './demo/options.ts';
import { startDemoInstallation, type DemoInstallation } from './demo/demo-installation.ts';
import { makePeopleFile } from './demo/people.ts';
import { playRecipients } from './demo/play-recipients.ts';
import { printReport } from './demo/report.ts';
import { sendCampaign } from './demo/send-campaign.ts';

const PROBE_MS_MAX = 3_000;
const OR_OWN = ', or let the demo start a Mailwright of its own: npm run demo -- --own';
const product = z.object({ name: z.literal('Mailwright') });
/** After Ctrl-C running requests fail; their errors are not shown. */
let isStopping = false;

try {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options) await demonstrate(options);
  else console.log(USAGE);
} catch (error) {
  if (!isStopping)
    console.error(
      `\n${error instanceof DemoError ? error.message : error instanceof Error ? error.stack : String(error)}`,
    );
  process.exitCode = 1;
}

async function demonstrate(options: DemoOptions): Promise<void> {
  if (!options.own && (await isRunning(options.url))) {
    return printHistory(
      connect(options.url, options.token ?? (await promptForToken(options.url, OR_OWN))),
      options.people,
    );
  }
  if (options.isGiven && !options.own) throw new DemoError(`No Mailwright answers at ${options.url}. Is it running?`);
  console.log(`Starting a Mailwright of its own, with data in ${options.dataDir} ...`);
  const own = await startDemoInstallation(options.dataDir, () => (isStopping = true));
  try {
    await printHistory(connect(own.url, own.token), options.people);
    if (!options.once) await lookAround(own, options.dataDir);
  } finally {
    await own.stop();
  }
}

async function isRunning(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/api/v1/`, { signal: AbortSignal.timeout(PROBE_MS_MAX) });
    return product.safeParse(await response.json()).success;
  } catch {
    return false;
  }
}

async function printHistory(client: Client, size: number): Promise<void> {
  const { csv, people, brokenLines } = makePeopleFile(size);
  const file = `${counted(people, 'invented person').replace('persons', 'people')} and ${counted(brokenLines, 'broken line')}`;
  console.log(`\nA list “${LIST_NAME}”, a file of ${file}, a campaign to all of them:\n`);
  const listUid = await makeList(client);
  const imported = await importPeople(client, listUid, csv);
  const campaign = await sendCampaign(client, listUid, imported.added);
  const played = await playRecipients(client, campaign.uid, imported.added);
  await printReport(client, { listUid, imported, campaign, played });
}

async function lookAround(own: DemoInstallation, dataDir: string): Promise<void> {
  console.log(
    `  It runs until you press Ctrl-C. Its data stays in ${dataDir}; delete that folder to begin anew.\n` +
      `  API token     ${own.token}\n`,
  );
  await own.ended;
}
