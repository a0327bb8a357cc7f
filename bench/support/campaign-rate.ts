/** How fast a campaign is sent: what benches measure that compare a campaign alone with one beside other work. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchInstallation } from './bench-installation.ts';

/**
 * Sends a campaign to all of the list, once to each of these `people`; answers messages a second, from `run` until the receiver has the last
 * one. `onMade` gets the campaign's uid before it runs.
 */
export async function campaignRate(
  { sink, tenant }: BenchInstallation,
  people: number,
  onMade: (campaignUid: string) => void = () => undefined,
): Promise<number> {
  await sink.report('reset');
  const campaign = await tenant.createCampaign();
  onMade(campaign);
  const startedAt = performance.now();
  await tenant.run(campaign);
  for (;;) {
    const report = await sink.report();
    if (report.doubled > 0) throw new Error(`${report.doubled} people got it twice.`);
    if (report.people === people) break;
    await sleep(10);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  await tenant.untilDone(campaign);
  return people / seconds;
}
