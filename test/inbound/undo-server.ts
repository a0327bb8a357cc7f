/** The server of links with what tests of the undo do and read. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startInboundServer } from './inbound-server.ts';

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

export async function startUndoServer() {
  const server = await startInboundServer();
  const { ctx, seeded, links, here } = server;
  const { listId, subscriberIds } = seeded;

  async function post(who: number, form: Record<string, string>, userAgent = BROWSER) {
    const body = new URLSearchParams(form);
    const answer = await fetch(here(links(who).unsubscribe()), {
      ...{ method: 'POST', body, headers: { 'User-Agent': userAgent } },
    });
    const text = await answer.text();
    return { status: answer.status, text, undo: /name="undo" value="([^"]*)"/.exec(text)?.[1] };
  }

  /** What a click may change: the person, the report of the campaign, the events. */
  async function stateOf(who: number) {
    const id = subscriberIds[who];
    const [row] = await queryRows(
      ctx.db,
      sql`SELECT s.status, s.fields, s.tags, s.pending_until,
                 (SELECT unsubscribed_at FROM hot.recipient_activity WHERE recipient_id = ${id}) AS activity,
                 (SELECT count(*)::int FROM hot.unsubscribe_event WHERE recipient_id = ${id}) AS events,
                 (SELECT coalesce(sum(unsubscribe_count), 0)::int FROM hot.tracking_counter) AS counted,
                 (SELECT subscribed::int FROM hot.list_counter WHERE list_id = ${listId}) AS subscribed,
                 (SELECT unsubscribed::int FROM hot.list_counter WHERE list_id = ${listId}) AS unsubscribed
            FROM subscriber s WHERE s.id = ${id}`,
    );
    return row;
  }

  const consentsOf = async (who: number) =>
    (
      await queryRows<{ entry: string }>(
        ctx.db,
        sql`SELECT status || ' ' || source AS entry FROM consent_event WHERE subscriber_id = ${subscriberIds[who]} ORDER BY id`,
      )
    ).map(({ entry }) => entry);

  /** Everybody is subscribed, without a history. */
  async function reset(): Promise<void> {
    await ctx.db.execute(sql`UPDATE subscriber SET status = 'subscribed' WHERE list_id = ${listId}`);
    await ctx.db.execute(sql`DELETE FROM consent_event`);
  }

  return { ...server, post, stateOf, consentsOf, reset };
}
