/**
 * What follows a campaign and its readers: a flow that opens begin, and three webhooks of the customer (opens, clicks, sent campaigns), each to a
 * receiver that answers at once and checks signatures.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchInstallation } from './bench-installation.ts';
import { startHookReceiver, type HookReceiver } from './hook-receivers.ts';
import type { MailReaders } from './mail-readers.ts';

export interface FlowAndWebhooks {
  /** Until the flow has let in and tagged everybody who opened, and every webhook has arrived; answers the seconds. Throws when something is wrong. */
  untilAllFollowed(readers: MailReaders, campaigns: number): Promise<number>;
  end(): Promise<void>;
}

const FOLLOWED_SECONDS_MAX = 100;
/** An open within a second after its mail is taken for a program's. Some readers here are so quick, and each is to be followed. */
const EVENTS = [
  { event: 'open', with_machines: true },
  { event: 'click', with_machines: true },
  { event: 'campaign.sent' },
];

interface Hook extends HookReceiver {
  readonly uid: string;
}

/** Makes them for the list of this campaign; `tag` is what the flow gives. */
export async function startFlowAndWebhooks(
  installation: BenchInstallation,
  { campaignUid, tag }: { campaignUid: string; tag: string },
): Promise<FlowAndWebhooks> {
  const { client, product } = installation;
  const { rows } = await client.query<{ uid: string }>(
    'SELECT l.uid FROM campaign c JOIN mail_list l ON l.customer_id = c.customer_id AND l.id = c.list_id WHERE c.uid = $1',
    [campaignUid],
  );
  const listUid = rows[0]?.uid ?? '';
  const hooks: Hook[] = [];
  for (const event of EVENTS) hooks.push(await makeWebhook(installation, { ...event, list_uid: listUid }));
  const automationUid = await activateFlow(installation, { listUid, tag });
  const countTagged = async (): Promise<number> => {
    const tagged = await client.query<{ count: string }>(
      'SELECT count(*) FROM subscriber s JOIN mail_list l ON l.customer_id = s.customer_id AND l.id = s.list_id WHERE l.uid = $1 AND s.tags @> ARRAY[$2]',
      [listUid, tag],
    );
    return Number(tagged.rows[0]?.count);
  };
  return {
    async untilAllFollowed(readers, campaigns) {
      const startedAt = performance.now();
      const wanted = [readers.opened, readers.clicked, campaigns, readers.people.size];
      for (;;) {
        const found = [...hooks.map(({ taken }) => taken.size), await countTagged()];
        const seconds = (performance.now() - startedAt) / 1_000;
        if (found.join() === wanted.join()) break;
        if (seconds > FOLLOWED_SECONDS_MAX)
          throw new Error(`Opens, clicks, campaigns and tagged people: ${found.join()} instead of ${wanted.join()}.`);
        await sleep(200);
      }
      const again = hooks.filter(({ taken }) => [...taken.values()].some((times) => times > 1));
      const faults = [
        ...hooks.flatMap((hook) => hook.faults),
        ...again.map(({ uid }) => `${uid}: an event came twice.`),
      ];
      if (faults.length > 0) throw new Error(faults.join('\n'));
      return (performance.now() - startedAt) / 1_000;
    },
    async end() {
      await product.rest('DELETE', `/automations/${automationUid}`);
      for (const hook of hooks) {
        await product.rest('DELETE', `/webhooks/${hook.uid}`);
        hook.close();
      }
    },
  };
}

async function makeWebhook({ product }: BenchInstallation, given: { event: string; list_uid: string }): Promise<Hook> {
  const receiver = await startHookReceiver('well');
  const { webhook_uid, secret } = await product.rest<{ webhook_uid: string; secret: string }>('POST', '/webhooks', {
    ...{ ...given, name: given.event, url: `${receiver.origin}/` },
  });
  // The same object: the server that was started counts in it.
  return Object.assign(receiver, { uid: webhook_uid, secret });
}

async function activateFlow(
  { product }: BenchInstallation,
  { listUid, tag }: { listUid: string; tag: string },
): Promise<string> {
  const flow = {
    triggers: [{ type: 'campaign_opened', machines: true }],
    nodes: [{ id: 'mark', type: 'add_tag', tag }],
    edges: [{ from: 'start', to: 'mark' }],
  };
  const made = { list_uid: listUid, name: 'Readers', flow };
  const { automation_uid } = await product.rest<{ automation_uid: string }>('POST', '/automations', made);
  await product.rest('POST', `/automations/${automation_uid}/publish`, { draft_version: 1 });
  await product.rest('POST', `/automations/${automation_uid}/activate`);
  return automation_uid;
}
