/** The addresses that stand in mails, behind the real web server on a free port, with one campaign to five people. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import type { Context } from '../../src/domain/context.ts';
import { sql } from '../../src/db/database.ts';
import { linkSignerOf, type LinkSigner, type RecipientLinks } from '../../src/domain/tracking/link-signer.ts';
import { startHttpServer } from '../../src/http/http-server.ts';
import { readPreviewPage } from '../../src/domain/campaigns/read-preview-page.ts';
import { createInbound } from '../../src/inbound/inbound-mounts.ts';
import { silentLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';
import { seedCampaign, type SeededCampaign } from '../support/audience-rows.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { createTestContext, type TestContext } from '../support/test-context.ts';

export interface InboundServer {
  readonly ctx: TestContext;
  readonly origin: string;
  readonly seeded: SeededCampaign;
  readonly signer: LinkSigner;
  /** Links of the nth person, leading to this server. */
  links(who: number): RecipientLinks;
  /** An address of `http://mail.test` as one of this server. */
  here(address: string): string;
  status(who: number): Promise<string | undefined>;
}

export const WEB_VIEW = '<p>Hello <script>alert(1)</script></p>';

/** Starts it; closed after the file's last test. */
export async function startInboundServer(overrides: Partial<TestContext> = {}): Promise<InboundServer> {
  const ctx = await createTestContext(overrides);
  await ctx.db.execute(sql`SELECT hot.ensure_partitions(current_date, current_date)`);
  const seeded = await seedCampaign(ctx.db, { subscribers: 5 });
  const webView = async (_ctx: Context, { sourceId }: { sourceId: bigint }) =>
    sourceId === seeded.campaignId ? { subject: 'News & more', html: WEB_VIEW, plain: '' } : undefined;
  const inbound = await createInbound(ctx, { webView, preview: readPreviewPage });
  const server = await startHttpServer({ host: '127.0.0.1', port: 0, mounts: inbound.mounts, log: silentLog });
  afterFile(async () => {
    await server.close(100);
    await inbound.close();
  });
  const origin = `http://127.0.0.1:${server.port}`;
  const signer = linkSignerOf(ctx.installation);
  const { customerId, listId, campaignId, subscriberIds } = seeded;
  return {
    ctx,
    origin,
    seeded,
    signer,
    links: (who) =>
      signer.forRecipient(
        recipientOfCampaign({ customerId, listId, campaignId, subscriberId: subscriberIds[who] ?? 0n }),
      ),
    here: (address) => address.replace(ctx.installation.baseUrl, origin),
    async status(who) {
      const [row] = await queryRows<{ status: string }>(
        ctx.db,
        sql`SELECT status FROM subscriber WHERE id = ${subscriberIds[who]}`,
      );
      return row?.status;
    },
  };
}
