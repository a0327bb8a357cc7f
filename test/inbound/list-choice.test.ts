/** The choice among a customer's lists on the profile page and after unsubscribing, from the page to the mail that asks. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { LANGUAGES } from '../../src/domain/accounts/languages.ts';
import { suppress } from '../../src/domain/audience/suppression-store.ts';
import { wordsIn } from '../../src/inbound/words.ts';
import { until } from '../support/mail-world.ts';
import { changeOptions, endPlan, givePlan } from '../support/plans.ts';
import { startRestApp } from '../support/rest-app.ts';
import { choose, chooseAll, newChoiceWorld, OFFERED, openPage, shown } from './choice-world.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const { db } = app.ctx;
const newWorld = () => newChoiceWorld(app);

describe('the page', () => {
  test('shows the list of the link, then by name what the customer offers, and nobody else’s lists', async () => {
    const { list, join, linksOn } = await newWorld();
    const own = await list('Own', {});
    const b = await list('b <i>');
    await list('C');
    const hidden = await list('Hidden', {});
    for (const uid of [own, b, hidden]) await join(uid);
    const other = await newWorld();
    await other.list('Of another');
    const links = await linksOn(own);
    expect(shown(await openPage(links.updateProfile()))).toEqual(['+Own', '+b &lt;i&gt;', '-C']);
    // The page before the click has none.
    expect((await openPage(links.unsubscribe())).boxes).toEqual([]);
    expect(shown(await openPage(links.unsubscribe(), []))).toEqual(['-Own', '+b &lt;i&gt;', '-C']);
    expect(shown(await openPage(links.unsubscribe()))).toEqual(['-Own', '+b &lt;i&gt;', '-C']);
  });

  test('shows of more than fifty lists those that the person is subscribed to', async () => {
    const { list, join, linksOn, owner } = await newWorld();
    const own = await list('Own');
    await join(own);
    await join(await list('Zebra'));
    await db.execute(
      sql`INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name, show_in_preferences)
          SELECT ${owner.customerId}, lpad(to_hex(${owner.customerId} * 1000 + n), 13, '0'), 'L' || n, 'S', 'a@b.example', 'A', true FROM generate_series(10, 69) n`,
    );
    const page = shown(await openPage((await linksOn(own)).updateProfile()));
    expect([page.length, page[0], page[1], page.at(-1)]).toEqual([50, '+Own', '-L10', '+Zebra']);
  });

  test('shows no choice where the customer offers none, is disabled, or a program asks', async () => {
    const { list, join, linksOn, owner, call, statuses } = await newWorld();
    const [own, more] = [await list('Own', {}), await list('More', {})];
    await join(own);
    const links = await linksOn(own);
    expect((await openPage(links.updateProfile())).text).not.toContain('<fieldset');
    await call('PATCH', `/lists/${more}`, OFFERED);
    const page = await openPage(links.updateProfile());
    expect(shown(page)).toEqual(['+Own', '-More']);
    for (const [form, program] of [
      [[['List-Unsubscribe', 'One-Click']], undefined],
      [[], 'curl/8.14.1'],
    ] as const)
      expect(
        (
          await openPage(
            links.unsubscribe(),
            [...form].map((pair) => [...pair]),
            program,
          )
        ).text,
      ).not.toContain('<fieldset');
    await db.execute(sql`UPDATE customer SET status = 'disabled' WHERE id = ${owner.customerId}`);
    expect((await openPage(links.updateProfile())).text).not.toContain('<fieldset');
    // From a page that was opened before.
    expect((await choose(links.updateProfile(), page, ['Own', 'More'])).said).toEqual(['More']);
    expect(await statuses()).toEqual({ Own: 'unsubscribed' });
  });

  test.each(LANGUAGES.map(({ code }) => code))('is in %s', async (language) => {
    const { list, join, linksOn } = await newWorld();
    const own = await list('Own', { ...OFFERED, language });
    await list('أخبار');
    await join(own);
    const address = (await linksOn(own)).updateProfile();
    const page = await openPage(address);
    const words = wordsIn(language);
    for (const key of ['choice.legend', 'choice.text', 'choice.button', 'choice.all'] as const)
      expect(page.text).toContain(words.text(key));
    const done = await choose(address, page, ['أخبار']);
    expect(done.said).toEqual(['Own', 'أخبار']);
    expect(done.text).toContain(words.text('choice.pending'));
  });
});

describe('choosing', () => {
  test('leaves at once, and joins only after a click in the mail, whatever the list says', async () => {
    const { list, join, linksOn, statuses, history, mailTo, email, call } = await newWorld();
    const [own, a, b] = [await list('Own'), await list('A'), await list('B')];
    await call('POST', `/lists/${b}/add-field`, { type: 'text', label: 'Town', tag: 'TOWN', default_value: 'Bath' });
    await join(own);
    await join(a);
    const address = (await linksOn(own)).updateProfile();
    const done = await choose(address, await openPage(address), ['Own', 'B']);
    expect([done.status, done.said, shown(done)]).toEqual([200, ['A', 'B'], ['+Own', '-A', '-B']]);
    expect(await statuses()).toEqual({ A: 'unsubscribed', B: 'pending', Own: 'subscribed' });
    expect([await history('A'), await history('B')]).toEqual([
      ['subscribed api', 'unsubscribed link'],
      ['pending form'],
    ]);
    const [, confirm = ''] = /(http:\/\/\S+\/confirm\/[\w.-]+)/.exec((await mailTo(email)).text ?? '') ?? [];
    await openPage(confirm, [['confirm', 'yes']]);
    expect(await statuses()).toMatchObject({ B: 'subscribed' });
    expect(await history('B')).toEqual(['pending form', 'subscribed confirmation']);
    const [person] = await queryRows<{ fields: object }>(
      db,
      sql`SELECT s.fields FROM subscriber s JOIN mail_list l ON l.id = s.list_id WHERE l.uid = ${b}`,
    );
    expect(person?.fields).toEqual({ TOWN: 'Bath' });
    expect(shown(await openPage(address))).toEqual(['+Own', '-A', '+B']);
  });

  test('changes only what the person has changed: what others do meanwhile stays', async () => {
    const { list, join, linksOn, statuses, call, email } = await newWorld();
    const [own, a, b] = [await list('Own'), await list('A'), await list('B')];
    await join(own);
    await join(a);
    const address = (await linksOn(own)).updateProfile();
    const page = await openPage(address);
    await join(b);
    expect((await call('PATCH', `/lists/${a}/subscribers/${email}/unsubscribe`)).status).toBe(200);
    const before = { A: 'unsubscribed', B: 'subscribed', Own: 'subscribed' };
    expect(await statuses()).toEqual(before);
    const done = await choose(address, page, ['Own', 'A']);
    expect(done.text).toContain(wordsIn('en').text('choice.same'));
    expect(await statuses()).toEqual(before);
  });

  test('leaves all lists of the customer, also those not shown, with the mails that follow', async () => {
    const { list, join, linksOn, statuses, history, mailsTo, email } = await newWorld();
    const own = await list('Own', { ...OFFERED, send_goodbye_email: 1 });
    const hidden = await list('Hidden', { send_goodbye_email: 1, unsubscribe_notification: 1 });
    const waiting = await list('Waiting', {});
    await list('Not on');
    await join(own);
    await join(hidden);
    await join(waiting, { status: 'unconfirmed' });
    const other = await newWorld();
    const foreign = await other.list('Foreign');
    await other.call('POST', '/subscribers', { list_uid: foreign, EMAIL: email });
    const address = (await linksOn(own)).updateProfile();
    const done = await chooseAll(address, await openPage(address));
    expect(done.text).toContain('gets no more mail from any list of this sender');
    const left = { Hidden: 'unsubscribed', Own: 'unsubscribed', Waiting: 'unsubscribed' };
    expect(await statuses()).toEqual({ ...left, Foreign: 'subscribed' });
    expect(await history('Hidden')).toEqual(['subscribed api', 'unsubscribed link']);
    await until(async () => ((await mailsTo(email)).length === 2 ? true : undefined));
    const waitingNotices = await queryRows<{ name: string }>(
      db,
      sql`SELECT l.name FROM hot.unsubscribe_notice n JOIN mail_list l ON l.id = n.list_id WHERE l.uid = ANY (${[own, hidden]})`,
    );
    expect(waitingNotices).toEqual([{ name: 'Hidden' }]);
    const jobs = await queryRows<{ seconds: number }>(
      db,
      sql`SELECT extract(epoch FROM run_at - created_at)::float8 AS seconds FROM graphile_worker.jobs
           WHERE task_identifier = 'audience.notify-unsubscribes' AND key = 'audience.notify-unsubscribes:' || (SELECT id FROM mail_list WHERE uid = ${hidden})`,
    );
    expect(jobs).toEqual([{ seconds: expect.closeTo(60, 0) }]);
  });

  test('the same from ten windows at one moment is done once, and no more mails go out than one address may get', async () => {
    const { list, join, linksOn, statuses, history, mailsTo, email } = await newWorld();
    const [own, a] = [await list('Own'), await list('A')];
    await list('B');
    await list('C');
    await join(own);
    await join(a);
    const address = (await linksOn(own)).updateProfile();
    const page = await openPage(address);
    const all = await Promise.all(Array.from({ length: 10 }, () => choose(address, page, ['Own', 'B', 'C'])));
    expect(all.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(await statuses()).toEqual({ A: 'unsubscribed', B: 'pending', C: 'pending', Own: 'subscribed' });
    expect([...(await history('B')), ...(await history('C'))]).toEqual([
      'pending form',
      'pending form',
      'pending form',
    ]);
    expect((await history('A')).filter((entry) => entry === 'unsubscribed link').length).toBeLessThanOrEqual(2);
    await until(async () => ((await mailsTo(email)).length === 3 ? true : undefined));
  });

  test('counts for the campaign of the link when its own list is left, once', async () => {
    const { list, join, linksOn, newCampaign, begin, call } = await newWorld();
    const [own, a] = [await list('Own'), await list('A')];
    await join(own);
    await join(a);
    const campaign = await newCampaign({ uid: own });
    await begin(campaign);
    const [row] = await queryRows<{ id: bigint }>(db, sql`SELECT id FROM campaign WHERE uid = ${campaign}`);
    const links = await linksOn(own, row?.id);
    const counted = async () =>
      (
        await queryRows<{ n: number }>(
          db,
          sql`SELECT coalesce(sum(unsubscribe_count), 0)::int AS n FROM hot.tracking_counter WHERE source_id = ${row?.id}`,
        )
      )[0]?.n;
    const address = links.updateProfile();
    await choose(address, await openPage(address), ['Own']);
    expect(await counted()).toBe(0);
    await choose(address, await openPage(address), []);
    expect(await counted()).toBe(1);
    await chooseAll(address, await openPage(address));
    expect(await counted()).toBe(1);
    expect((await call('GET', `/campaigns/${campaign}`)).status).toBe(200);
  });
});

describe('after unsubscribing', () => {
  test('other lists can be chosen, and the undo of the click goes on working', async () => {
    const { list, join, linksOn, statuses } = await newWorld();
    const [own, a] = [await list('Own'), await list('A')];
    await join(own);
    await join(a);
    const address = (await linksOn(own)).unsubscribe();
    const left = await openPage(address, [['reason', 'too_many']]);
    expect((await choose(address, left, [])).said).toEqual(['A']);
    expect(await statuses()).toEqual({ A: 'unsubscribed', Own: 'unsubscribed' });
    expect((await openPage(address, [['undo', left.undo ?? '']])).status).toBe(200);
    expect(await statuses()).toEqual({ A: 'unsubscribed', Own: 'subscribed' });
  });

  test('leaving all lists ends the undo, and the list of the link asks again before it is joined', async () => {
    const { list, join, linksOn, statuses, history, mailTo, email } = await newWorld();
    const own = await list('Own');
    await join(own);
    const address = (await linksOn(own)).unsubscribe();
    const left = await openPage(address, []);
    await chooseAll(address, left);
    expect((await openPage(address, [['undo', left.undo ?? '']])).status).toBe(410);
    expect((await choose(address, await openPage(address), ['Own'])).said).toEqual(['Own']);
    expect(await statuses()).toEqual({ Own: 'pending' });
    expect((await mailTo(email)).text).toContain('/confirm/');
    expect(await history('Own')).toEqual(['subscribed api', 'unsubscribed link', 'unsubscribed link', 'pending form']);
  });

  test('a robot that sends a choice unsubscribes all the same (RFC 8058)', async () => {
    const { list, join, linksOn, statuses } = await newWorld();
    const own = await list('Own');
    await join(own);
    const links = await linksOn(own);
    await openPage(links.unsubscribe(), [
      ['List-Unsubscribe', 'One-Click'],
      ['choice', (await openPage(links.updateProfile())).choice ?? ''],
    ]);
    expect(await statuses()).toEqual({ Own: 'unsubscribed' });
  });
});

describe('nothing changes', () => {
  test('by looking, nor by a form that is not of this page', async () => {
    const { list, join, linksOn, statuses } = await newWorld();
    const [own, a] = [await list('Own'), await list('A')];
    await join(own);
    await join(a);
    const [one, two] = [await linksOn(own), await linksOn(a)];
    const page = await openPage(one.updateProfile());
    const choice = page.choice ?? '';
    await openPage(`${one.updateProfile()}?choice=${choice}&all=yes`);
    const foreign = (await openPage(two.updateProfile())).choice ?? '';
    const forged = [
      '',
      'x',
      '1',
      foreign,
      choice.replace(/.$/, '_'),
      choice.replace('1-', '0-'),
      choice.slice(2),
      'x'.repeat(5_000),
    ];
    for (const token of forged)
      for (const address of [one.updateProfile(), one.unsubscribe()]) {
        const answer = await openPage(address, [
          ['choice', token],
          ['all', 'yes'],
        ]);
        expect([answer.status, answer.text.includes(wordsIn('en').text('choice.invalid'))]).toEqual([422, true]);
      }
    expect(await statuses()).toEqual({ A: 'subscribed', Own: 'subscribed' });
    // Lists that the page did not show.
    const hidden = await list('Hidden', {});
    const [row] = await queryRows<{ id: string }>(db, sql`SELECT id::text FROM mail_list WHERE uid = ${hidden}`);
    const chosen = [...page.boxes.map(({ id }) => id), row?.id ?? ''].map((id) => ['list', id]);
    await openPage(one.updateProfile(), [['choice', choice], ...chosen]);
    expect(await statuses()).toEqual({ A: 'subscribed', Own: 'subscribed' });
  });

  test('for lists that were deleted or withdrawn since the page was shown, except that one can leave them', async () => {
    const { list, join, linksOn, statuses, call } = await newWorld();
    const [own, gone, on, off] = [await list('Own'), await list('Gone'), await list('On'), await list('Off')];
    await join(own);
    await join(on);
    const address = (await linksOn(own)).updateProfile();
    const page = await openPage(address);
    await call('DELETE', `/lists/${gone}`);
    for (const uid of [on, off]) await call('PATCH', `/lists/${uid}`, { show_in_preferences: 0 });
    const done = await choose(address, page, ['Own', 'Gone', 'Off']);
    expect([done.status, done.said]).toEqual([200, ['On', 'Off']]);
    expect(done.text).toContain(wordsIn('en').text('choice.closed'));
    expect(await statuses()).toEqual({ On: 'unsubscribed', Own: 'subscribed' });
    await call('DELETE', `/lists/${own}`);
    expect((await openPage(address, [['choice', page.choice ?? '']])).text).toContain('You are not on this list');
  });

  test('for a suppressed address, which can leave all the same', async () => {
    const { list, join, linksOn, statuses, email, owner, mailsTo } = await newWorld();
    const [own, a] = [await list('Own'), await list('A')];
    await join(own);
    await join(a);
    await list('B');
    await suppress(db, { customerId: owner.customerId, emailKey: email, reason: 'manual' });
    const address = (await linksOn(own)).updateProfile();
    const done = await choose(address, await openPage(address), ['Own', 'B']);
    expect(done.said).toEqual(['A', 'B']);
    expect(await statuses()).toEqual({ A: 'unsubscribed', Own: 'subscribed' });
    expect(await mailsTo(email)).toEqual([]);
  });

  test('where the plan is full or over; who is on the list already can come back', async () => {
    const { list, join, linksOn, statuses, owner, call } = await newWorld();
    const [own, full, back] = [await list('Own'), await list('Full'), await list('Back')];
    await givePlan(db, owner.customerId, { subscriber_per_list_max: '1' });
    await join(own);
    await join(back, { status: 'unsubscribed' });
    await call('POST', '/subscribers', { list_uid: full, EMAIL: 'other@person.example' });
    const address = (await linksOn(own)).updateProfile();
    expect((await choose(address, await openPage(address), ['Own', 'Full', 'Back'])).said).toEqual(['Back', 'Full']);
    expect(await statuses()).toEqual({ Back: 'pending', Own: 'subscribed' });
    await changeOptions(db, owner.customerId, { subscriber_per_list_max: '-1', subscriber_max: '3' });
    await choose(address, await openPage(address), ['Own', 'Full']);
    expect(await statuses()).toEqual({ Back: 'pending', Own: 'subscribed' });
    await changeOptions(db, owner.customerId, { subscriber_max: '4' });
    await choose(address, await openPage(address), ['Own', 'Full']);
    expect(await statuses()).toEqual({ Back: 'pending', Full: 'pending', Own: 'subscribed' });
    await endPlan(db, owner.customerId);
    const over = await choose(address, await openPage(address), ['Back']);
    expect([over.said, over.text.includes(wordsIn('en').text('choice.closed'))]).toEqual([['Own', 'Back'], true]);
    expect(await statuses()).toMatchObject({ Own: 'unsubscribed' });
  });

  test('for more lists than an address may be asked about in a day', async () => {
    const { list, join, linksOn, statuses, mailsTo, email } = await newWorld();
    const own = await list('Own');
    await join(own);
    for (const name of ['A', 'B', 'C', 'D']) await list(name);
    const address = (await linksOn(own)).updateProfile();
    const done = await choose(address, await openPage(address), ['Own', 'A', 'B', 'C', 'D']);
    expect(done.said).toEqual(['A', 'B', 'C', 'D']);
    expect(done.text).toContain(wordsIn('en').text('choice.later'));
    expect(await statuses()).toEqual({ A: 'pending', B: 'pending', C: 'pending', Own: 'subscribed' });
    await until(async () => ((await mailsTo(email)).length === 3 ? true : undefined));
    await choose(address, await openPage(address), ['Own', 'D']);
    expect(await statuses()).not.toHaveProperty('D');
  });
});
