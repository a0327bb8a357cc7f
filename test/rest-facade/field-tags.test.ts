/** Tags of fields as names of parameters (D53). */
import { describe, expect, test } from 'vitest';
import { startSubscriberWorld } from '../support/subscriber-world.ts';

const { app, as, newList, address } = await startSubscriberWorld();
const get = async (path: string) => (await app.rest(path, as())).body;

describe.each(['standard', 'classic'])('tags of fields are read without case (D53), %s', (dialect) => {
  const send = (method: string, path: string, body: object) =>
    app.rest(path, { ...as(method, body), headers: { 'X-Api-Dialect': dialect } });
  const ignored = (answer: { body: unknown }) => Object(answer.body).ignored;

  test('in every write; names of parameters are no tags, and tags of no field are told', async () => {
    const list_uid = await newList({ public_signup: 1 });
    const newField = (tag: string) =>
      app.rest(`/lists/${list_uid}/add-field`, as('POST', { type: 'text', label: tag, tag }));
    for (const tag of ['CONSENT', 'TAG']) await newField(tag);
    const EMAIL = address();
    const body = { list_uid, Email: EMAIL, first_name: 'Ann', consent: 'yes', tag: 'vip', TAG: 'x', mood: 'good' };
    const added = await send('POST', '/subscribers', body);
    expect(added).toMatchObject({ body: { status: 1 } });
    expect(ignored(added)).toEqual(['mood']);
    const read = () => get(`/subscribers/${EMAIL}`);
    const fields = { FIRST_NAME: 'Ann', CONSENT: 'yes', TAG: 'x', tags: ['vip'] };
    expect(await read()).toMatchObject({ subscriber: fields });
    const change = { Last_Name: 'Smith', CONSENT: 'no', consent: 'perhaps', status: 'unconfirmed', town: 'Bath' };
    const changed = await send('PATCH', `/subscribers/${EMAIL}`, change);
    // Of two spellings the capitals count.
    expect(new Set(ignored(changed))).toEqual(new Set(['consent', 'town']));
    expect(await read()).toMatchObject({
      subscriber: { ...fields, LAST_NAME: 'Smith', CONSENT: 'no', status: 'unconfirmed' },
    });
    const moved = address();
    expect(ignored(await send('PATCH', `/subscribers/${EMAIL}`, { email: moved }))).toBeUndefined();
    expect(await get(`/subscribers/${moved}`)).toMatchObject({ subscriber: { email: moved } });

    const visitor = address();
    const signUp = { list_uid, email: visitor, first_name: 'Vic', mood: 'good' };
    const signedUp = await app.rest('/public/subscribers', { method: 'POST', body: signUp, token: null });
    expect(ignored(signedUp)).toEqual(['mood']);
    expect(await get(`/subscribers/${visitor}`)).toMatchObject({ subscriber: { FIRST_NAME: 'Vic' } });
  });
});
