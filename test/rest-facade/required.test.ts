/**
 * What rows say is required is so, and nothing else is: without one of them a row answers a 422 that names it, with them
 * alone it does its work. A file is sent by whoever plays a row that takes one.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { rows } from '../../src/rest-facade/rows.ts';
import { placesOf, playRow } from '../support/play-row.ts';
import { startRestApp } from '../support/rest-app.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';

const receiver = await startSmtpReceiver();
afterAll(() => receiver.close());
const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
const shared = { dialect: 'standard', smtp: receiver.settings } as const;
const places = placesOf(rows).map((place) => ({ ...place, name: `${place.method} ${place.row.path}` }));

/** Rows that want one of several things, of which none is required by itself: one of them. */
const ONE_OF: Readonly<Record<string, string>> = {
  'GET /automations/:uid/dry_run': 'subscriber',
  // The world's automation is begun by requests only.
  ...{
    'GET /automations/:uid/enter_existing': 'without_triggers',
    'POST /automations/:uid/enter_existing': 'without_triggers',
  },
  'POST /plans': 'currency_code',
  'POST /file/upload': 'files',
  'POST /campaigns/preview': 'campaign_uid',
  'POST /templates': 'html',
};

/** What may also be called otherwise is missing when both are. */
const ALSO_CALLED: Readonly<Record<string, string>> = { emails: 'email' };

/** What is usual would do, but nothing of these tests listens there; what the type of a field needs. */
const NOT_AS_USUAL: Readonly<Record<string, readonly string[]>> = {
  'POST /bounce_handlers': ['port', 'encryption'],
  'POST /lists/:uid/add-field': ['options'],
  'GET /lists/:uid/add-field': ['options'],
  // Or several events.
  'POST /events': ['name', 'subscriber'],
  // Or a template, or a list.
  'POST /transactional': ['subject', 'html', 'from_email'],
};

describe.each(places)('$name', ({ name, ...place }) => {
  const required = (place.row.required ?? []).filter((one) => one !== 'file');

  test.runIf(required.length > 0)('says what is missing', async () => {
    for (const missing of required) {
      const isLeft = (one: string): boolean => one !== missing && one !== ALSO_CALLED[missing];
      const { answer } = await playRow(app, { ...place, ...shared, only: isLeft });
      expect(answer.status, `${missing}: ${answer.text.slice(0, 300)}`).toBe(422);
      const named = Object.keys(Object(answer.body).errors);
      expect(
        named.filter((one) => one === dotted(missing) || one.startsWith(`${missing}.`)),
        answer.text,
      ).not.toEqual([]);
    }
  });

  test('needs no more', async () => {
    const enough = [...required, ONE_OF[name], ...(NOT_AS_USUAL[name] ?? [])];
    const { answer } = await playRow(app, { ...place, ...shared, only: (one) => enough.includes(one) });
    expect(answer.status, answer.text.slice(0, 400)).toBeLessThan(300);
  });
});

/** `contact[company]` is called `contact.company` in errors. */
function dotted(name: string): string {
  return name.replace('[', '.').replace(']', '');
}
