/** What people outside do in a day: they open, click, read on the web, confirm, change their details, leave, sign up; mails come back. */
import { createTransport } from 'nodemailer';
import { page, type DayWorld } from './day-world.ts';

/** Opens and clicks of one round, so many at a time. */
const REQUESTS = 150;
const AT_A_TIME = 8;
const UNSUBSCRIBES = 3;

export async function readersRound(world: DayWorld, round: number): Promise<void> {
  for (let asked = 0; asked < REQUESTS; asked += AT_A_TIME)
    await Promise.all(Array.from({ length: AT_A_TIME }, () => trackingEvent(world)));
  const reader = world.nextReader();
  await page(reader.view);
  await page(reader.profile);
  await page(reader.profile, { FIRST_NAME: `Reader ${round}`, CITY: 'Springfield' });
  for (let left = 0; left < UNSUBSCRIBES; left++) await leave(world);
  const confirmation = world.confirmations[round];
  if (confirmation !== undefined) {
    await page(confirmation);
    await page(confirmation, {});
  }
  const signUp = `${world.product.url}/signup/${world.lists.large.uid}`;
  await page(signUp);
  await page(signUp, { EMAIL: `stranger${round}@visitor.example`, FIRST_NAME: 'Stranger' });
}

async function trackingEvent(world: DayWorld): Promise<void> {
  const { open, click } = world.nextReader();
  await page(open);
  await page(click);
}

async function leave(world: DayWorld): Promise<void> {
  const { unsubscribe } = world.nextReader();
  await page(unsubscribe);
  await page(unsubscribe, { 'List-Unsubscribe': 'One-Click' });
}

/** A bounce by SMTP; a bounce and a complaint by the notifications of REST. */
export async function reportsRound(world: DayWorld, bouncePort: number): Promise<void> {
  const transport = createTransport({ host: '127.0.0.1', port: bouncePort, secure: false, ignoreTLS: true });
  await transport.sendMail({
    envelope: { from: '', to: world.nextReader().returnPath },
    raw: bounceMail('mailbox full', '4.2.2'),
  });
  await transport.sendMail({
    envelope: { from: '', to: world.nextReader().returnPath },
    raw: bounceMail('user unknown', '5.1.1'),
  });
  transport.close();
  const bounced = { message_id: world.nextReader().messageId, type: 'bounced', bounced_type: 'soft' };
  await world.product.rest('POST', '/notification/bounce', bounced);
  const complaint = { message_id: world.nextReader().messageId, type: 'reported', report_type: 'abuse' };
  await world.product.rest('POST', '/notification/feedback', complaint);
}

function bounceMail(reason: string, status: string): string {
  const report = [
    ...['Reporting-MTA: dns; mx.example', '', 'Final-Recipient: rfc822; reader@mail.example', 'Action: failed'],
    ...[`Status: ${status}`, `Diagnostic-Code: smtp; 550 ${status} ${reason}`],
  ];
  return [
    ...['From: MAILER-DAEMON@mx.example', 'Subject: Undelivered Mail Returned to Sender', 'MIME-Version: 1.0'],
    'Content-Type: multipart/report; report-type=delivery-status; boundary=part',
    ...['', '--part', 'Content-Type: text/plain', '', `The mail could not be delivered: ${reason}`],
    ...['--part', 'Content-Type: message/delivery-status', '', ...report, '', '--part--', ''],
  ].join('\r\n');
}
