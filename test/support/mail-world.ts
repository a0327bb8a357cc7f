/** What tests of messages ask of a running product: lists, people, campaigns and files over REST, and what arrived. */
import { setTimeout as sleep } from 'node:timers/promises';
import PostalMime from 'postal-mime';
import { expect } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { CONTACT, LIST_BODY } from './list-body.ts';
import type { RestAnswer, RestApp, RestTenant } from './rest-app.ts';

/** Less than a test may take: some send more than a thousand mails. */
const DEADLINE_MS = 240_000;
/** A picture by its first bytes. */
export const PICTURE = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex');

/** A field of an answer, by its names from the top. */
export const field = (answer: RestAnswer, ...names: string[]): unknown =>
  names.reduce<unknown>((value, name) => Reflect.get(Object(value), name), answer.body);

/** Waits for something to be there. */
export async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error('It did not happen in time.');
    await sleep(50);
  }
}

/** The ways to ask `app` as `owner`; it must run workers and the development receiver. */
export function mailWorld(app: RestApp, owner: RestTenant) {
  const { db } = app.ctx;
  const call = (method: string, path: string, body: unknown = {}, token = owner.token) =>
    app.rest(path, { method, ...(method === 'GET' ? {} : { body }), token });
  const here = (address: string | undefined) => (address ?? '').replace(/^http:\/\/[^/]+/, app.baseUrl);
  async function mailsTo(address: string) {
    const mails = await queryRows<{ raw: Buffer }>(
      db,
      sql`SELECT raw FROM inbox.message WHERE ${address} = ANY (rcpt_to) ORDER BY id`,
    );
    return Promise.all(mails.map(({ raw }) => PostalMime.parse(raw)));
  }
  const mailTo = (address: string) => until(async () => (await mailsTo(address)).at(-1));

  async function newList(tenant: RestTenant = owner): Promise<{ uid: string; id: bigint }> {
    const body = { ...LIST_BODY, contact: { ...CONTACT, email: 'owner@owner.example' } };
    const uid = String(field(await call('POST', '/lists', body, tenant.token), 'list_uid'));
    const [row] = await queryRows<{ id: bigint }>(db, sql`SELECT id FROM mail_list WHERE uid = ${uid}`);
    return { uid, id: row?.id ?? 0n };
  }

  async function newCampaign(list: { uid: string }, more: object = {}): Promise<string> {
    const body = {
      list_uid: list.uid,
      name: 'Spring',
      subject: 'Hi {FIRST_NAME}',
      from_email: 'news@sender.example',
      from_name: 'News',
      html: '<p>Hello {FIRST_NAME} <a href="https://shop.example/">go</a></p>',
      ...more,
    };
    const answer = await call('POST', '/campaigns', body);
    expect(answer.status, answer.text).toBe(201);
    return String(field(answer, 'campaign_uid'));
  }

  const add = async (list: { uid: string }, EMAIL: string, more: object = {}) =>
    String(field(await call('POST', '/subscribers', { list_uid: list.uid, EMAIL, ...more }), 'subscriber_uid'));
  const statusOf = async (uid: string) => field(await call('GET', `/campaigns/${uid}`), 'campaign', 'status');
  const done = (uid: string) => until(async () => ((await statusOf(uid)) === 'done' ? true : undefined));

  /** Uploads and attaches as one form. */
  async function attach(
    campaign: string,
    name: string,
    fields: Record<string, string> = {},
    bytes: Uint8Array<ArrayBuffer> = new Uint8Array(PICTURE),
  ) {
    const form = new FormData();
    for (const [key, value] of Object.entries(fields)) form.append(key, value);
    form.append('file', new Blob([bytes]), name);
    return app.rest(`/campaigns/${campaign}/attachments`, { method: 'POST', body: form, token: owner.token });
  }

  /** Paused with its whole audience in the ledger. */
  async function begin(campaign: string): Promise<void> {
    await db.execute(sql`
    WITH c AS (UPDATE campaign SET status = 'paused', snapshot_on = current_date, snapshot_at = now(), snapshot_cursor = 1, started_at = now()
                WHERE uid = ${campaign} RETURNING customer_id, id, list_id, snapshot_on),
         d AS (INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, list_id, email)
               SELECT c.snapshot_on, c.customer_id, 1, c.id, s.id, s.list_id, s.email FROM c JOIN subscriber s ON s.customer_id = c.customer_id AND s.list_id = c.list_id
               RETURNING customer_id, source_id)
    INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, open) SELECT customer_id, 1, source_id, count(*), count(*) FROM d GROUP BY 1, 3`);
  }

  const reasonOfPause = (campaign: string) =>
    until(async () => {
      const { status, status_reason: reason } = field(
        await call('GET', `/campaigns/${campaign}`),
        'campaign',
      ) as Record<string, string | null>;
      return status === 'paused' && reason ? reason : undefined;
    });

  const preview = async (campaign: string, query = '') =>
    String(field(await call('GET', `/campaigns/${campaign}/preview${query}`), 'preview', 'html'));
  return {
    call,
    here,
    mailsTo,
    mailTo,
    newList,
    newCampaign,
    add,
    statusOf,
    done,
    attach,
    begin,
    reasonOfPause,
    preview,
  };
}
