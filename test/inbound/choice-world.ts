/** Customers with lists, a person on them, and the pages of that person: for tests of the choice among lists. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { linkSignerOf } from '../../src/domain/tracking/link-signer.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { field, mailWorld } from '../support/mail-world.ts';
import type { RestApp } from '../support/rest-app.ts';

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
export const OFFERED = { show_in_preferences: 1 };

/** A new customer with lists, and one person. */
export async function newChoiceWorld(app: RestApp) {
  const { db } = app.ctx;
  const owner = await app.newTenant();
  const world = mailWorld(app, owner);
  const { call } = world;
  const email = `ann-${owner.customerId}@person.example`;

  async function list(name: string, options: object = OFFERED): Promise<string> {
    return String(field(await call('POST', '/lists', { ...LIST_BODY, name, ...options }), 'list_uid'));
  }
  const join = (uid: string, more: object = {}) =>
    call('POST', '/subscribers', { list_uid: uid, EMAIL: email, ...more });

  async function linksOn(uid: string, campaignId = 0n) {
    const [row] = await queryRows<{ id: bigint; list_id: bigint }>(
      db,
      sql`SELECT s.id, s.list_id FROM subscriber s JOIN mail_list l ON l.id = s.list_id WHERE l.uid = ${uid} AND s.email = ${email}`,
    );
    const key = { customerId: owner.customerId, campaignId, listId: row?.list_id ?? 0n, subscriberId: row?.id ?? 0n };
    return linkSignerOf(app.ctx.installation).forRecipient(recipientOfCampaign(key), app.baseUrl);
  }

  /** Where the address is, by list. */
  async function statuses(): Promise<Record<string, string>> {
    const rows = await queryRows<{ name: string; status: string }>(
      db,
      sql`SELECT l.name, s.status FROM subscriber s JOIN mail_list l ON l.id = s.list_id WHERE s.email = ${email} ORDER BY l.name`,
    );
    return Object.fromEntries(rows.map(({ name, status }) => [name, status]));
  }

  async function history(name: string): Promise<string[]> {
    const rows = await queryRows<{ entry: string }>(
      db,
      sql`SELECT e.status || ' ' || e.source AS entry FROM consent_event e JOIN subscriber s ON s.id = e.subscriber_id
            JOIN mail_list l ON l.id = s.list_id WHERE s.email = ${email} AND l.name = ${name} AND l.customer_id = ${owner.customerId} ORDER BY e.id`,
    );
    return rows.map(({ entry }) => entry);
  }
  return { ...world, owner, email, list, join, linksOn, statuses, history };
}

export interface Box {
  readonly name: string;
  readonly id: string;
  readonly isChecked: boolean;
}

export type ChoicePage = Awaited<ReturnType<typeof openPage>>;

/** A page as its reader has it; `address` is one of the server. */
export async function openPage(address: string, form?: string[][], userAgent = BROWSER) {
  const answer = await fetch(address, {
    headers: { 'User-Agent': userAgent },
    ...(form ? { method: 'POST', body: new URLSearchParams(form) } : {}),
  });
  const text = await answer.text();
  const boxes: Box[] = [
    ...text.matchAll(/type="checkbox" name="list" value="(\d+)"( checked)?> <span><bdi>([^<]*)</g),
  ].map(([, id = '', checked, name = '']) => ({ id, name, isChecked: checked !== undefined }));
  return {
    ...{ status: answer.status, text, boxes },
    choice: /name="choice" value="([^"]*)"/.exec(text)?.[1],
    undo: /name="undo" value="([^"]*)"/.exec(text)?.[1],
    /** What the page says was done, with the lists it names. */
    said: [...(/<div role="status">([^]*?)<\/div>/.exec(text)?.[1]?.matchAll(/<bdi>([^<]*)<\/bdi>/g) ?? [])].map(
      ([, name]) => name,
    ),
  };
}

/** Ticks just these boxes, and sends the form of the page. */
export function choose(address: string, page: ChoicePage, names: readonly string[]) {
  const chosen = page.boxes.filter(({ name }) => names.includes(name)).map(({ id }) => ['list', id]);
  return openPage(address, [['choice', page.choice ?? ''], ...chosen]);
}
export const chooseAll = (address: string, page: ChoicePage) =>
  openPage(address, [
    ['choice', page.choice ?? ''],
    ['all', 'yes'],
  ]);
export const shown = ({ boxes }: { boxes: readonly Box[] }) =>
  boxes.map(({ name, isChecked }) => `${isChecked ? '+' : '-'}${name}`);
