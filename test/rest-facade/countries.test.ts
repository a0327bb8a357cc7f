/** Countries and currencies: each dialect's own numbers, and ISO codes in both (decision D51). */
import { expect, test } from 'vitest';
import { CURRENCIES } from '../../src/domain/billing/currencies.ts';
import { COUNTRIES } from '../../src/domain/audience/countries.ts';
import { CONTACT, LIST_BODY } from '../support/list-body.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();
const standard = await app.newTenant();
const classic = await app.newTenant({ restDialect: 'classic' });

type Row = { readonly id: number; readonly code: string; readonly name: string };
const rows = async (path: string, token: string) => (await app.rest(path, { token })).body as Row[];

async function countryOfList(token: string, countryId: unknown): Promise<unknown> {
  const body = { ...LIST_BODY, contact: { ...CONTACT, country_id: countryId } };
  const made = await app.rest('/lists', { method: 'POST', body, token });
  if (made.status >= 400) return made.body;
  const uid = String(Object(made.body).list_uid);
  // The number that was stored is what GraphQL reads.
  return Object((await app.rest(`/lists/${uid}`, { token })).body).contact.country;
}

test('classic has the numbers of deployed clients, in both directions; standard keeps ours', async () => {
  // Rows of the table that deployed clients have built in.
  for (const [id, code, name] of [
    [1, 'AF', 'Afghanistan'],
    [4, 'AS', 'American Samoa'],
    [232, 'ZW', 'Zimbabwe'],
  ] as const) {
    expect(await countryOfList(classic.token, id), code).toBe(name);
    expect((await rows('/countries', classic.token)).find((row) => row.id === id)).toMatchObject({ code, name });
  }
  const [own, theirs] = [await rows('/countries', standard.token), await rows('/countries', classic.token)];
  expect(theirs.length).toBe(own.length);
  expect(theirs.map(({ id }) => id)).toEqual(theirs.map((_, index) => index + 1));
  expect(new Set(theirs.map(({ code }) => code))).toEqual(new Set(COUNTRIES.map(({ code }) => code)));
  expect(own).toEqual(COUNTRIES);
  for (const { id, name } of [own[70], own[249]].flatMap((row) => row ?? []))
    expect(await countryOfList(standard.token, id)).toBe(name);
  for (const { id, name } of [theirs[70], theirs[249]].flatMap((row) => row ?? []))
    expect(await countryOfList(classic.token, id)).toBe(name);
  for (const token of [standard.token, classic.token])
    expect(await countryOfList(token, 4_000)).toMatchObject({ errors: { 'contact.country_id': [expect.any(String)] } });
});

test('ISO codes of two and three letters do in both, in any case; names are the common ones', async () => {
  for (const token of [standard.token, classic.token]) {
    for (const code of ['TR', 'tur', 'Tur']) expect(await countryOfList(token, code)).toBe('Türkiye');
    expect(await countryOfList(token, 'us')).toBe('United States');
    expect(await countryOfList(token, 'ZZ')).toMatchObject({ errors: { 'contact.country_id': [expect.any(String)] } });
  }
});

test('JSON null clears the country of a list where a contact may be without one, and is refused elsewhere', async () => {
  for (const { token, isClassic } of [
    { token: standard.token, isClassic: false },
    { token: classic.token, isClassic: true },
  ]) {
    const body = { ...LIST_BODY, contact: { ...CONTACT, country_id: 'DE' } };
    const uid = String(Object((await app.rest('/lists', { method: 'POST', body, token })).body).list_uid);
    const country = async () => Object((await app.rest(`/lists/${uid}`, { token })).body).contact.country;
    const patch = (contact: object) => app.rest(`/lists/${uid}`, { method: 'PATCH', body: { contact }, token });
    // An empty text is a form's field that nobody has filled: it changes nothing.
    expect((await patch({ country_id: '' })).status).toBe(200);
    expect(await country()).toBe('Germany');
    const cleared = await patch({ country_id: null });
    expect(cleared).toMatchObject(
      isClassic
        ? { status: 200 }
        : { status: 422, body: { errors: { 'contact.country_id': [expect.stringContaining('required')] } } },
    );
    expect(await country()).toBe(isClassic ? '' : 'Germany');
  }
});

test('currencies: 1 is USD in classic, and a code is taken where an id is', async () => {
  const plan = { name: 'Gold', price: '5', frequency_amount: 1, frequency_unit: 'month' };
  const currencyOf = async (currency: object, dialect: string) => {
    const headers = { 'x-api-dialect': dialect };
    const made = await app.rest('/plans', {
      method: 'POST',
      body: { ...plan, ...currency },
      token: app.adminToken,
      headers,
    });
    return Object(made.body).plan?.currency_code ?? made.status;
  };
  const listed = await rows('/currencies', classic.token);
  expect(listed[0]).toMatchObject({ id: 1, code: 'USD' });
  expect(new Set(listed.map(({ code }) => code))).toEqual(new Set(CURRENCIES.map(({ code }) => code)));
  const euro = { classic: listed, standard: await rows('/currencies', standard.token) };
  for (const dialect of ['classic', 'standard'] as const) {
    const { id } = euro[dialect].find(({ code }) => code === 'EUR') ?? {};
    expect(await currencyOf({ currency_id: id }, dialect)).toBe('EUR');
    expect(await currencyOf({ currency_id: 'eur' }, dialect)).toBe('EUR');
    expect(await currencyOf({ currency_id: 900 }, dialect)).toBe(422);
  }
  expect(await currencyOf({ currency_id: '1' }, 'classic')).toBe('USD');
  expect(await currencyOf({ currency_id: 1 }, 'standard')).toBe(CURRENCIES[0]?.code);
});
