/**
 * A table of answers of a vendor, each with what it has to mean: whom it is about (the recipient, the campaign, the server; or nothing is
 * known) and what becomes of the message. Every answer goes over a real connection.
 */
import { expect, test } from 'vitest';
import { meaningOfError } from '../../src/domain/sending/replies/meaning-of-error.ts';
import { openOutboundPool } from '../../src/lib/outbound-pool.ts';
import { SendingError, type SendingDriver, type SendingDriverRegistration } from '../../src/plugin-api/index.ts';
import { afterFile } from './after-file.ts';
import type { ApiVendor, ScriptedAnswer } from './api-vendor.ts';

/** Whom it is about, what becomes of the message, and for how many seconds the vendor asks to wait. */
export type AnswerMeaning =
  | 'sent'
  | 'unknown'
  | `${'recipient' | 'campaign' | 'server'}: ${'refused' | 'deferred' | 'unavailable'}`
  | `${'recipient' | 'campaign' | 'server'}: ${'refused' | 'deferred' | 'unavailable'} ${number}`;

export type AnswerTable = Readonly<Record<string, readonly [answer: ScriptedAnswer, meaning: AnswerMeaning]>>;

const json = { 'Content-Type': 'application/json' };
const page = { 'Content-Type': 'text/html; charset=utf-8' };
const HTML = '<!doctype html><html><head><style>p{}</style></head><body><h1>Bad gateway</h1><p>nginx</p></body></html>';
const status = (code: number, body: object | string = {}, headers: Record<string, string> = json): ScriptedAnswer => ({
  status: code,
  headers,
  body,
});

/** What every vendor, or something between it and us, may answer. A vendor's own table replaces lines by their names. */
export const COMMON_ANSWERS: AnswerTable = {
  '400 without text': [status(400, ''), 'campaign: refused'],
  '400 with an HTML page': [status(400, HTML, page), 'campaign: refused'],
  '400 with half of a JSON text': [status(400, '{"message": "inv'), 'campaign: refused'],
  '401 without text': [status(401, ''), 'server: unavailable'],
  '401 with an HTML page': [status(401, HTML, page), 'server: unavailable'],
  '402 without text': [status(402, ''), 'server: unavailable 600'],
  '403 without text': [status(403, ''), 'server: unavailable'],
  '403 with an HTML page of a firewall': [status(403, HTML, page), 'server: unavailable'],
  '404 without text': [status(404, ''), 'server: unavailable'],
  '404 with an HTML page': [status(404, HTML, page), 'server: unavailable'],
  '405 without text': [status(405, ''), 'server: unavailable'],
  '406 without text': [status(406, ''), 'server: unavailable'],
  '407 of a proxy': [status(407, ''), 'server: unavailable'],
  '408 without text': [status(408, ''), 'server: unavailable'],
  '409 without text': [status(409, ''), 'server: deferred'],
  '410 without text': [status(410, ''), 'server: unavailable'],
  '413 without text': [status(413, ''), 'campaign: refused'],
  '413 with an HTML page': [status(413, HTML, page), 'campaign: refused'],
  '415 without text': [status(415, ''), 'server: unavailable'],
  '422 without text': [status(422, ''), 'campaign: refused'],
  '429 without text': [status(429, ''), 'server: deferred'],
  '429 with a wait in seconds': [status(429, '', { 'Retry-After': '30' }), 'server: deferred 30'],
  '429 with a wait of a week': [status(429, '', { 'Retry-After': '604800' }), 'server: deferred 21600'],
  '429 with a wait that is over': [
    status(429, '', { 'Retry-After': 'Wed, 21 Oct 2015 07:28:00 GMT' }),
    'server: deferred 1',
  ],
  '429 with a wait that is no number': [status(429, '', { 'Retry-After': 'soon' }), 'server: deferred'],
  '429 with an HTML page': [status(429, HTML, page), 'server: deferred'],
  '451 without text': [status(451, ''), 'server: unavailable'],
  '500 without text': [status(500, ''), 'server: deferred'],
  '500 with an HTML page': [status(500, HTML, page), 'server: deferred'],
  '501 without text': [status(501, ''), 'server: unavailable'],
  '502 with an HTML page': [status(502, HTML, page), 'unknown'],
  '503 without text': [status(503, ''), 'server: unavailable'],
  '503 with a wait': [status(503, '', { 'Retry-After': '120' }), 'server: unavailable 120'],
  '504 with an HTML page': [status(504, HTML, page), 'unknown'],
  '520 of a network in between': [status(520, HTML, page), 'unknown'],
  '524 of a network in between': [status(524, HTML, page), 'unknown'],
  '521 of a network whose vendor is down': [status(521, HTML, page), 'server: unavailable'],
  'a NUL in a text': [status(429, '{"message": "too\\u0000 many"}'), 'server: deferred'],
  'a reset within the text of 429': [{ half: { status: 429, body: 'x'.repeat(5_000) } }, 'server: deferred'],
  'a redirect to another address': [status(301, '', { Location: 'https://elsewhere.test/' }), 'server: unavailable'],
  'a redirect to a login page': [status(302, HTML, { ...page, Location: '/login' }), 'server: unavailable'],
  'a redirect with the method kept': [status(307, '', { Location: 'https://elsewhere.test/' }), 'server: unavailable'],
  '304 without text': [status(304, ''), 'server: unavailable'],
  '200 with a login page': [status(200, HTML, page), 'unknown'],
  '200 with half of a JSON text': [status(200, '{"id": "'), 'unknown'],
  '200 with a list': [status(200, []), 'unknown'],
  '200 with a number': [status(200, '42'), 'unknown'],
  '200 with null': [status(200, 'null'), 'unknown'],
  'a connection that is cut': ['cut', 'unknown'],
  'a message that is taken, and a connection that is cut': ['taken and cut', 'unknown'],
  'half of an error': [{ half: { status: 400, body: { message: 'x'.repeat(50) } } }, 'campaign: refused'],
  'half of 503': [{ half: { status: 503, body: 'away for maintenance' } }, 'server: unavailable'],
};

/** Waits that a person would see in the ledger; those that are no more than "soon" are left out. */
const SOON_SECONDS = 0;

/** A test for each answer. */
export function testAnswers(
  registration: SendingDriverRegistration,
  { startVendor, table }: { startVendor: () => Promise<ApiVendor>; table: AnswerTable },
): void {
  const lines = Object.entries({ ...COMMON_ANSWERS, ...table });
  let world: Promise<{ vendor: ApiVendor; driver: SendingDriver }> | undefined;
  const opened = () => (world ??= open(registration, startVendor));
  afterFile(async () => {
    if (!world) return;
    const { vendor, driver } = await world;
    await driver.close();
    await vendor.close();
  });
  test.each(lines)('%s', async (_name, [answer, meaning]) => {
    const { vendor, driver } = await opened();
    vendor.script([answer]);
    expect(await meaningOf(driver)).toBe(meaning);
  });
  test('the table has at least 60 answers', () => expect(lines.length).toBeGreaterThanOrEqual(60));
  test('after all of them a message is sent', async () =>
    expect(await meaningOf((await opened()).driver)).toBe('sent'));
}

async function open(registration: SendingDriverRegistration, startVendor: () => Promise<ApiVendor>) {
  const vendor = await startVendor();
  const checked = registration.validate(vendor.settings);
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const driver = registration.connect(checked.settings, {
    ...{ connectionsMax: 1, clientName: 'client.test', replyTimeoutMs: 60_000 },
    openHttp: openOutboundPool,
  });
  return { vendor, driver };
}

let sent = 0;

async function meaningOf(driver: SendingDriver): Promise<AnswerMeaning> {
  const key = `key.${++sent}`;
  try {
    await driver.send({
      envelope: { from: 'bounce@house.test', to: `p${sent}@there.test` },
      content: Buffer.from(
        `From: House <news@house.test>\r\nTo: <p${sent}@there.test>\r\nSubject: Hello\r\nMessage-ID: <${key}@house.test>\r\n\r\nHello\r\n`,
      ),
      messageId: `<${key}@house.test>`,
      idempotencyKey: key,
      needsSmtpUtf8: false,
    });
    return 'sent';
  } catch (error) {
    if (!(error instanceof SendingError)) throw error;
    return meaningOfFailure(error);
  }
}

function meaningOfFailure(error: SendingError): AnswerMeaning {
  if (error.kind === 'unknown') return 'unknown';
  const { scope, waitSeconds = SOON_SECONDS } = meaningOfError(error);
  const whose = scope === 'recipient' ? 'recipient' : scope === 'message' || scope === 'sender' ? 'campaign' : 'server';
  return waitSeconds === SOON_SECONDS ? `${whose}: ${error.kind}` : `${whose}: ${error.kind} ${waitSeconds}`;
}
