/** The language of the public pages: the list's, its customer's, the browser's, English; set over REST and GraphQL. */
import { describe, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { linkSignerOf } from '../../src/domain/tracking/link-signer.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { field } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();
const owner = await app.newTenant();
const call = (method: string, path: string, body?: object, dialect?: string) =>
  app.rest(path, {
    method,
    ...(body ? { body } : {}),
    token: owner.token,
    ...(dialect ? { headers: { 'X-Api-Dialect': dialect } } : {}),
  });

async function newList(options: object = {}): Promise<string> {
  return String(field(await call('POST', '/lists', { ...LIST_BODY, public_signup: 1, ...options }), 'list_uid'));
}

async function pageOf(path: string, language?: string, form?: Record<string, string>) {
  const answer = await fetch(path.startsWith('http') ? path : `${app.baseUrl}${path}`, {
    headers: language === undefined ? {} : { 'Accept-Language': language },
    ...(form ? { method: 'POST', body: new URLSearchParams(form) } : {}),
  });
  const text = await answer.text();
  const [, lang, dir] = /<html lang="(\w+)" dir="(\w+)">/.exec(text) ?? [];
  return { status: answer.status, text, lang, dir };
}

const speak = (languageId: number | null) =>
  app.ctx.db.execute(sql`UPDATE customer SET language_id = ${languageId} WHERE id = ${owner.customerId}`);

/** The links of a person of the list, as its mails have them. */
async function linksOf(listUid: string, email: string, status = 'subscribed') {
  await call('POST', '/subscribers', { list_uid: listUid, EMAIL: email, status });
  const [row] = await queryRows<{ id: bigint; list_id: bigint }>(
    app.ctx.db,
    sql`SELECT s.id, s.list_id FROM subscriber s JOIN mail_list l ON l.id = s.list_id WHERE l.uid = ${listUid} AND s.email = ${email}`,
  );
  if (!row) throw new Error('nobody was added');
  const recipient = recipientOfCampaign({
    ...{ customerId: owner.customerId, campaignId: 0n, listId: row.list_id, subscriberId: row.id },
  });
  const signer = linkSignerOf(app.ctx.installation);
  const expiresAt = new Date(Math.floor(Date.now() / 1_000) * 1_000 + 86_400_000);
  return { links: signer.forRecipient(recipient), confirmation: signer.confirmation(recipient, expiresAt) };
}

describe('the language of a page', () => {
  test('is the list’s, else its customer’s, else the browser’s, else English', async () => {
    const list = await newList({ language: 'de' });
    await speak(4);
    expect((await pageOf(`/signup/${list}`, 'es')).lang).toBe('de');
    await call('PATCH', `/lists/${list}`, { language: '' });
    expect((await pageOf(`/signup/${list}`, 'es')).lang).toBe('fr');
    await speak(null);
    expect((await pageOf(`/signup/${list}`, 'es')).lang).toBe('es');
    expect((await pageOf(`/signup/${list}`, 'pl')).lang).toBe('en');
    expect((await pageOf(`/signup/${list}`)).lang).toBe('en');
  });

  test.each([
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['en;q=0.5, fr-CH;q=0.8', 'fr'],
    ['pl, ar;q=0.1', 'ar'],
    ['de;q=0, es;q=0.2', 'es'],
    ['*', 'en'],
    [';;q=,,=;q=x', 'en'],
    ['de;q=nonsense', 'en'],
    [`${'x,'.repeat(3_000)}de`, 'en'],
  ])('follows Accept-Language %.30s on pages of no list', async (header, language) => {
    expect((await pageOf('/u/none', header)).lang).toBe(language);
  });
});

/** What each page says first, and a word of its button. */
const WORDS = {
  en: {
    unsubscribe: 'Unsubscribe from',
    left: 'You are unsubscribed',
    confirm: 'Yes, subscribe me',
    save: 'Save',
    dir: 'ltr',
  },
  de: {
    unsubscribe: 'abmelden?',
    left: 'Sie sind abgemeldet',
    confirm: 'Ja, ich möchte',
    save: 'Speichern',
    dir: 'ltr',
  },
  es: { unsubscribe: '¿Darse de baja', left: 'Se ha dado de baja', confirm: 'Sí, quiero', save: 'Guardar', dir: 'ltr' },
  fr: {
    unsubscribe: 'Se désinscrire de',
    left: 'Vous êtes désinscrit',
    confirm: 'Oui, je',
    save: 'Enregistrer',
    dir: 'ltr',
  },
  ar: { unsubscribe: 'إلغاء الاشتراك', left: 'تم إلغاء اشتراكك', confirm: 'نعم، أريد', save: 'حفظ', dir: 'rtl' },
} as const;

test.each(Object.entries(WORDS))('every page of a list speaks %s', async (language, words) => {
  const list = await newList({ language: language.toUpperCase() });
  const { links, confirmation } = await linksOf(list, 'ann@person.example', 'unconfirmed');
  const confirm = await pageOf(confirmation);
  expect([confirm.lang, confirm.dir, confirm.text.includes(words.confirm)]).toEqual([language, words.dir, true]);
  const profile = await pageOf(links.updateProfile());
  expect([profile.lang, profile.dir, profile.text.includes(words.save)]).toEqual([language, words.dir, true]);
  const leaving = await pageOf(links.unsubscribe());
  expect([leaving.lang, leaving.dir, leaving.text.includes(words.unsubscribe)]).toEqual([language, words.dir, true]);
  const left = await pageOf(links.unsubscribe(), undefined, { reason: 'other' });
  expect([left.lang, left.dir, left.text.includes(words.left)]).toEqual([language, words.dir, true]);
});

test('faults of a form are in the language of the page, one for each field', async () => {
  const list = await newList({ language: 'de' });
  const add = (tag: string, type: string, more: object = {}) =>
    call('POST', `/lists/${list}/add-field`, { type, label: tag, tag, ...more });
  await add('AGE', 'number');
  await add('SIZE', 'dropdown', { options: ['S', 'M'], required: 1 });
  const page = await pageOf(`/signup/${list}`, 'en', { EMAIL: 'nobody', AGE: 'old', SIZE: '' });
  expect([page.status, page.lang]).toEqual([422, 'de']);
  const faults = [...page.text.matchAll(/<p class="error" id="fault-(\w+)">([^<]*)</g)].map(([, tag, text]) => [
    tag,
    text,
  ]);
  expect(faults).toEqual([
    ['EMAIL', 'Bitte geben Sie eine gültige E-Mail-Adresse ein.'],
    ['AGE', 'Bitte geben Sie eine Zahl ein.'],
    ['SIZE', 'Bitte füllen Sie dieses Feld aus.'],
  ]);
  const empty = await pageOf(`/signup/${list}`, 'en', { EMAIL: ' ', SIZE: 'XXL' });
  expect(empty.text).toContain('Bitte wählen Sie eine der Möglichkeiten.');
  expect(empty.text.match(/Bitte füllen Sie dieses Feld aus\./g)).toHaveLength(1);
});

test('GET /languages names all of them', async () => {
  const { body } = await call('GET', '/languages');
  expect(body).toMatchObject(['en', 'de', 'es', 'fr', 'ar'].map((code, at) => ({ id: at + 1, code })));
});

describe('the list’s language', () => {
  test.each(['standard', 'classic'])('is written, read and cleared over REST (%s)', async (dialect) => {
    const list = await newList({ language: ' FR ' });
    const read = async () => field(await call('GET', `/lists/${list}`, undefined, dialect), 'list', 'language');
    expect(await read()).toBe('fr');
    const wrong = await call('PATCH', `/lists/${list}`, { language: 'tlh' }, dialect);
    expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining('must be one of en, de, es, fr, ar')]);
    expect(await read()).toBe('fr');
    await call('PATCH', `/lists/${list}`, { language: '' }, dialect);
    expect(await read()).toBeNull();
  });

  test('is written and read over GraphQL', async () => {
    const list = await newList();
    const update = async (language: string | null) => {
      const document = `mutation ($uid: String!, $input: UpdateListInput!) { updateList(uid: $uid, input: $input) {
        __typename ... on MailList { language } ... on ValidationError { fields { field } } } }`;
      const answer = await fetch(`${app.baseUrl}/graphql`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${owner.token}` },
        body: JSON.stringify({ query: document, variables: { uid: list, input: { language } } }),
      });
      const body: unknown = await answer.json();
      return ['data', 'updateList'].reduce<unknown>((value, name) => Reflect.get(Object(value), name), body);
    };
    expect(await update('es')).toEqual({ __typename: 'MailList', language: 'es' });
    expect(await update('xx')).toMatchObject({ fields: [{ field: 'language' }] });
    expect(await update(null)).toEqual({ __typename: 'MailList', language: null });
  });
});
