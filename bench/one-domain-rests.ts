/**
 * What a provider that holds its mail back costs all others (HARD-CASES A20): a tenth of the recipients are at one that
 * says `421 4.7.28` to everything, which lets it rest for ten minutes. The rate of the other nine tenths beside the same
 * campaign while that provider takes everything, in turns.
 *
 *   node bench/one-domain-rests.ts [--smoke] [--recipients 40000] [--repeat 5] [--delay 0]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { inInstallation, type BenchInstallation } from './support/bench-installation.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    recipients: { type: 'string' },
    repeat: { type: 'string' },
    delay: { type: 'string', default: '0' },
  },
});
const RECIPIENTS = Number(values.recipients ?? (values.smoke ? 1_000 : 40_000));
const REPEAT = Number(values.repeat ?? (values.smoke ? 1 : 5));
const AT_PROVIDER = RECIPIENTS / 10;

await inInstallation({ people: RECIPIENTS, delayMs: Number(values.delay) }, measure);

async function measure(installation: BenchInstallation): Promise<void> {
  const { sink } = installation;
  const found = { takes: [] as number[], rests: [] as number[] };
  for (let round = 0; round < REPEAT; round++) {
    for (const how of ['takes', 'rests'] as const) {
      await sink.report(how === 'rests' ? 'provider is full' : 'provider has room');
      const rate = await rateOfOthers(installation, `${how}-${round}`);
      found[how].push(rate);
      console.log(`the provider ${how}: ${Math.round(rate)} messages/s to all others`);
    }
  }
  const [takes, rests] = [median(found.takes), median(found.rests)];
  console.log(`while one rests ${(rests / takes).toFixed(2)} of the rate (aim: 0.95), medians of ${REPEAT}`);
}

async function rateOfOthers({ client, sink, tenant }: BenchInstallation, round: string): Promise<number> {
  // One that has not rested yet.
  await client.query(
    `UPDATE subscriber SET email = 'person' || n || '@p' || $1 || '.example', email_key = 'person' || n || '@p' || $1 || '.example'
       FROM (SELECT id AS i, row_number() OVER (ORDER BY id) AS n FROM subscriber) numbered WHERE id = i AND n % 10 = 0`,
    [round],
  );
  await client.query('VACUUM ANALYZE subscriber');
  await sink.report('reset');
  const campaign = await tenant.createCampaign();
  const startedAt = performance.now();
  await tenant.run(campaign);
  for (;;) {
    const { people, atProvider, doubled } = await sink.report();
    if (doubled > 0) throw new Error(`${doubled} people got it twice.`);
    if (people - atProvider === RECIPIENTS - AT_PROVIDER) break;
    await sleep(10);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  // Whoever is left at the provider would be tried during the next round.
  await client.query(
    `UPDATE campaign SET status = 'paused', wait_kind = NULL, wait_until = NULL WHERE uid = $1 AND status <> 'done'`,
    [campaign],
  );
  await sleep(1_000);
  return (RECIPIENTS - AT_PROVIDER) / seconds;
}

function median(found: readonly number[]): number {
  return found.toSorted((a, b) => a - b)[Math.floor(found.length / 2)] ?? NaN;
}
