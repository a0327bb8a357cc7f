/**
 * Nothing of a person is forgotten: every table with an address or a subscriber's id is either one of the places that
 * are exported and erased, or named here with the reason why not.
 */
import { expect, test } from 'vitest';
import { queryRows } from '../../../../scripts/support/query-rows.ts';
import { sql } from '../../../../src/db/database.ts';
import { addressPattern, PERSONAL_PLACES } from '../../../../src/domain/audience/erasing/personal-data-store.ts';
import { createTestContext } from '../../../support/test-context.ts';

const ctx = await createTestContext();

/** What looks like something of a person on a list, and is not. */
const OTHERS: Readonly<Record<string, string>> = {
  'public.app_user.email': 'users of the product, who have an account',
  'public.app_user.email_key': 'the same',
  'public.mail_list.from_email': 'the sender',
  'public.mail_list.send_welcome_email': 'a flag',
  'public.mail_list.send_goodbye_email': 'a flag',
  'public.list_contact.email': 'the contact of a list, its owner',
  'public.campaign.from_email': 'the sender',
  'public.sending_server.default_from_email': 'the sender',
  'public.erasure.sealed_email': 'sealed, and only while it runs',
  'public.erasure.subscriber_ids': 'only while it runs',
  'public.from_address.email': 'the sender',
  'public.from_address.email_key': 'the sender',
  'hot.tracking_event.recipient_ids': 'until it is counted, a moment later, and waited for',
  'hot.confirmation_mail.address_digest': 'a keyed digest, for a day',
  'inbox.message.rcpt_to': 'the development receiver, which is erased by itself',
};

test('every table that knows people is a place of the export and of erasing', async () => {
  const found = await queryRows<{ table: string; column: string }>(
    ctx.db,
    sql`
    SELECT n.nspname || '.' || c.relname AS table, a.attname AS column
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE n.nspname IN ('public', 'hot', 'inbox') AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND a.attnum > 0 AND NOT a.attisdropped
       AND (a.attname ~ 'email|subscriber_id|address_digest|recipient_id' OR a.attname IN ('rcpt_to', 'cells', 'person_id', 'payload')) ORDER BY 1, 2`,
  );
  const places = new Set(PERSONAL_PLACES.map(({ table }) => table));
  const unknown = found.filter(({ table, column }) => !places.has(table) && !OTHERS[`${table}.${column}`]);
  expect(unknown).toEqual([]);
  const tables = new Set(found.map(({ table }) => table));
  expect([...places].filter((table) => !tables.has(table))).toEqual([]);
});

test('an address is found in both its spellings, and nothing in it is a pattern', async () => {
  const pattern = addressPattern('a.b+c(d@x.example');
  const matches = async (text: string) =>
    (await queryRows<{ yes: boolean }>(ctx.db, sql`SELECT ${text}::text ~* ${pattern} AS yes`))[0]?.yes;
  expect(await matches('https://shop.example/?for=A.B%2Bc(d%40x.example&x')).toBe(true);
  expect(await matches('to a.b+c(d@X.example')).toBe(true);
  expect(await matches('https://shop.example/?for=aXb+c(d@x.example')).toBe(false);
});
