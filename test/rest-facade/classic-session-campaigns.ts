/** The part of the classic session in which a campaign is prepared, sent and read: files, sending server, campaign, reports. */
import { expect, test } from 'vitest';
import { PICTURE, until } from '../support/mail-world.ts';
import { rowsOf, textAt, TIME, UID, urlencoded, type ClassicSession } from '../support/classic-session.ts';

/** Within the ten years that a campaign may wait. */
const RUN_AT = `${new Date().getUTCFullYear() + 2}-01-31 08:00:00`;

export function campaignSteps(session: ClassicSession): void {
  const { smtpPort, known, played, ask, raw, bearer, expectDone, mailTo, here } = session;
  test('it uploads files, its own and those of addresses', async () => {
    const upload = new FormData();
    upload.append('file', new Blob([new Uint8Array(PICTURE)]), 'logo.png');
    const uploaded = await ask('POST', '/file/upload', upload);
    expectDone(uploaded, 'File uploaded');
    const stored = textAt(uploaded, 'url');
    const missing = 'http://127.0.0.1:9/missing.png';
    const files = JSON.stringify([{ url: stored, subdirectory: 'images' }, { url: missing }]);
    const fetched = await ask('POST', '/file/upload', urlencoded({ files }));
    expect(rowsOf(fetched)).toEqual([
      expect.objectContaining({ file: stored, status: 1, message: expect.any(String) }),
      expect.objectContaining({ file: missing, status: 0, message: expect.any(String) }),
    ]);
    played('requests 11 files as JSON text', 'answers 12 rows', 'answers 12 a failure is 0');
  });

  test('it adds its own sending server', async () => {
    const settings = { 'settings[host]': '127.0.0.1', 'settings[port]': smtpPort, 'settings[encryption]': 'none' };
    const made = await ask('POST', '/sending_servers', urlencoded({ name: 'Post', type: 'smtp', ...settings }));
    expect(made).toMatchObject({ status: 200, body: { status: 1, sending_server_uid: UID } });
    const uid = textAt(made, 'sending_server_uid');
    expect(rowsOf(await ask('GET', '/sending_servers'))).toEqual([expect.objectContaining({ uid, name: 'Post' })]);
  });

  const draft = () => ({
    ...{ list_uid: known.plainList, name: 'Spring', subject: 'Hi {FIRST_NAME}', from_name: 'Acme' },
    ...{ from_email: 'news@sender.example', html: '<p>Hello <a href="https://shop.example/offer">go</a></p>' },
  });

  test('it makes campaigns: the html in the query, flags in every spelling, the list by both names', async () => {
    const { html: _, list_uid, ...words } = draft();
    const start = `POST /campaigns?list_uid=${list_uid}&${urlencoded(words)}&html=`;
    const paragraph = encodeURIComponent('<p>Hello {EMAIL} & friends, 50 % off: "now" – ä</p>\n');
    const room = 64 * 1024 - start.length - '/api/v1 HTTP/1.1'.length;
    const html = paragraph.repeat(Math.floor(room / paragraph.length)).padEnd(room, 'x');
    const long = await raw(start + html, [bearer()]);
    expectDone(long, 'Campaign was successfully created');
    expect(Object(long.body).campaign.html).toBe(decodeURIComponent(html));
    const spellings = [
      [true, [1, '1', true, 'true', 'yes']],
      [false, [0, '0', false, 'false', 'no']],
    ] as const;
    for (const [meant, flags] of spellings)
      for (const track_open of flags) {
        const made = await ask('POST', '/campaigns', { ...draft(), track_open });
        expect(Object(made.body).campaign, String(track_open)).toMatchObject({ track_open: meant });
        expectDone(await ask('DELETE', `/campaigns/${textAt(made, 'campaign_uid')}`), 'Deleted');
      }
    const options = { track_open: '1', track_click: 'yes', sign_dkim: '0', skip_failed_messages: 'no' };
    const more = { ...words, ...options, html: draft().html, plain: 'Hello', reply_to: 're@acme.example' };
    const made = await ask('POST', '/campaigns', urlencoded({ ...more, mail_list_uid: list_uid, run_at: RUN_AT }));
    const uid = (known.campaign = textAt(made, 'campaign_uid'));
    expect(made).toMatchObject({ status: 200, body: { campaign: { uid, list_uid }, attributes: { uid } } });
    expect(Object(made.body).campaign).toMatchObject({
      ...{ plain: 'Hello', reply_to: 're@acme.example', delivery_at: RUN_AT },
      ...{ track_open: true, track_click: true, sign_dkim: false, skip_failed_messages: false },
    });
    played('requests 5 html in the query', 'requests 5 64 KiB of request line', 'requests 6 flags in every spelling');
    played(
      'requests 10 mail_list_uid',
      'requests 10 list_uid',
      'requests 10 options, plain, reply_to',
      'requests 10 run_at',
    );
    played('answers 3 a campaign', 'answers 8 uid of a create');
  });

  test('it reads, changes, launches, pauses and resumes its campaign', async () => {
    const at = `/campaigns/${known.campaign}`;
    const changed = await ask('PATCH', at, { subject: 'Hello {FIRST_NAME}' });
    expectDone(changed, 'Campaign was successfully updated');
    const read = {
      ...{ uid: known.campaign, name: 'Spring', from_email: 'news@sender.example', from_name: 'Acme' },
      ...{ status: expect.any(String), created_at: TIME, updated_at: TIME },
    };
    expect(rowsOf(await ask('GET', '/campaigns')).find(({ uid }) => uid === known.campaign)).toMatchObject({
      ...{ ...read, type: 'regular', subject: 'Hello {FIRST_NAME}', html: draft().html, plain: 'Hello' },
      ...{ reply_to: 're@acme.example', delivery_at: RUN_AT },
    });
    expect((await ask('GET', at)).body).toMatchObject({
      campaign: { ...read, list: 'Query', segment: null, default_subject: 'Hello {FIRST_NAME}', remind_message: null },
      statistics: { subscriber_count: 0, delivered_count: 0, uniq_open_rate: 0, open_count: 0, links: [] },
    });
    for (const [verb, message] of [
      ['run', 'The campaign was launched'],
      ['pause', 'The campaign was paused'],
      ['resume', 'The campaign was resumed'],
      ['pause', 'The campaign was paused'],
    ] as const) {
      const acted = await ask('POST', `${at}/${verb}`);
      expect(acted, verb).toMatchObject({ status: 200, body: { status: 'success', message } });
      expect(acted.body).toMatchObject({ campaign: { uid: known.campaign } });
      played(`answers 2 success for ${verb}`, `answers 4 ${message}`);
    }
    played('answers 8 items', 'answers 8 campaign');
  });

  test('the campaign is sent through its server, and its reports fill', async () => {
    const at = `/campaigns/${known.campaign}`;
    expect((await ask('PATCH', at, { delivery_at: '' })).body).toMatchObject({ campaign: { delivery_at: null } });
    expect((await ask('POST', `${at}/run`)).body).toMatchObject({ status: 'success' });
    const mail = await mailTo('p1@people.example');
    const [link] = /https?:\/\/[^"]+\/c\/[^"]+/.exec(mail.html ?? '') ?? [];
    const [pixel] = /https?:\/\/[^"]+\.gif/.exec(mail.html ?? '') ?? [];
    expect((await fetch(here(pixel))).status).toBe(200);
    expect((await fetch(here(link), { redirect: 'manual' })).status).toBe(302);
    // Eve has unsubscribed: two of three get it.
    await until(async () => {
      const { statistics, campaign } = Object((await ask('GET', at)).body);
      const isDone = campaign.status === 'done' && statistics.open_count > 0 && statistics.click_count > 0;
      return isDone && statistics.delivered_count === 2 ? true : undefined;
    });
    for (const log of ['tracking', 'open', 'click', 'bounce', 'feedback', 'unsubscribe']) {
      const csv = await ask('GET', `${at}/${log}-log/download?type=csv`);
      expect([csv.status, csv.text], log).toEqual([
        200,
        expect.stringMatching(/^time,campaign_uid,subscriber_uid,email,/),
      ]);
      const rows = rowsOf(await ask('GET', `${at}/${log}-log/download?type=json`));
      expect(rows, log).toHaveLength({ tracking: 2, open: 1, click: 1 }[log] ?? 0);
    }
    const tracked = rowsOf(await ask('GET', `${at}/tracking-log/download?type=json`));
    expect(tracked.map(({ sending_server: server }) => server)).toEqual(['Post', 'Post']);
    played('answers 8 statistics', 'requests 12 logs as CSV', 'requests 12 logs as JSON');
  });
}
