/**
 * The drivers of vendors with a web interface, and vendors that do all that vendors and networks do (test/support/api-faults.ts), judged by the
 * vendor's own list: what the driver calls sent is there once, what it calls not sent is not there, and only where nobody can know it says so.
 * Whoever tries again gets every message through, and no socket is left.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import tls from 'node:tls';
import { describe, expect, test } from 'vitest';
import { openOutboundPool } from '../../src/lib/outbound-pool.ts';
import {
  SendingError,
  type OutgoingMessage,
  type SendingDriver,
  type SendingDriverRegistration,
} from '../../src/plugin-api/index.ts';
import { API_FAULTS, LATE_SECOND_ANSWER, type ApiFault } from '../support/api-faults.ts';
import { afterFile } from '../support/after-file.ts';
import type { ApiVendor } from '../support/api-vendor.ts';
import { copiesByRecipient } from '../support/campaign-world.ts';
import { driverOf } from '../support/drivers-of-plugin.ts';
import { startFaultyFront } from '../support/faulty-front.ts';
import { testCertificate } from '../support/test-certificate.ts';
import { VENDORS } from '../support/vendors.ts';

const MESSAGES = 8;
/** At least. */
const PLAYS = 2;
const ROUNDS_MAX = 10;
const CONNECTIONS = 2;
/** Slow answers end here; the others need a few milliseconds. */
const REPLY_TIMEOUT_MS = 1_500;
/** Where nothing is slow. */
const LONG_REPLY_TIMEOUT_MS = 30_000;
/** No two sockets of this machine hold as much in their buffers. */
const LARGE_BYTES = 7 * 1_048_576;

function open(
  driver: SendingDriverRegistration,
  vendor: Pick<ApiVendor, 'settings'>,
  { endpoint, replyTimeoutMs = REPLY_TIMEOUT_MS }: { readonly endpoint: string; readonly replyTimeoutMs?: number },
): SendingDriver {
  const checked = driver.validate({ ...vendor.settings, endpoint });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  return driver.connect(checked.settings, {
    ...{ connectionsMax: CONNECTIONS, clientName: 'client.test', replyTimeoutMs },
    openHttp: openOutboundPool,
  });
}

function messageTo(number: number, bytes = 0): OutgoingMessage {
  const lines = `${'x'.repeat(76)}\r\n`.repeat(Math.ceil(bytes / 78));
  return {
    envelope: { from: 'bounce@house.test', to: `p${number}@there.test` },
    content: Buffer.from(
      `From: House <news@house.test>\r\nTo: <p${number}@there.test>\r\nSubject: ${number}\r\n` +
        `Message-ID: <mail.k${number}@house.test>\r\n\r\nHello\r\n${lines}`,
    ),
    messageId: `<mail.k${number}@house.test>`,
    idempotencyKey: `mail.k${number}`,
    needsSmtpUtf8: false,
  };
}

/** `sent`, or the kind of the error; anything that is no SendingError is a broken contract. */
function fate(driver: SendingDriver, message: OutgoingMessage): Promise<string> {
  return driver.send(message).then(
    () => 'sent',
    (error: unknown) => {
      if (error instanceof SendingError) return error.kind;
      throw error;
    },
  );
}

/** Plays the fault at every third request, and sends as the ledger does: only what was certainly not taken is sent again. */
async function play(
  type: string,
  driver: SendingDriverRegistration,
  vendor: ApiVendor,
  fault: ApiFault,
): Promise<string[]> {
  const front = await startFaultyFront(vendor.origin);
  const live = open(driver, vendor, { endpoint: front.origin });
  const first = vendor.taken().length;
  let [requests, played] = [0, 0];
  front.playBy(() => (++requests % 3 === 0 ? (played++, fault.deed) : undefined));
  const ends = new Map(Array.from({ length: MESSAGES }, (_, number) => [number, 'unavailable']));
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const left = [...ends].filter(([, end]) => end === 'unavailable' || end === 'deferred').map(([number]) => number);
    if (left.length === 0) break;
    if (round > 0) await sleep(100);
    const bytes = fault.isForLarge && round === 0 ? LARGE_BYTES : 0;
    await Promise.all(left.map(async (number) => ends.set(number, await fate(live, messageTo(number, bytes)))));
    if (played >= PLAYS) front.playBy(undefined);
  }
  await live.close();
  const faults = contradictions(copiesByRecipient(vendor.taken().slice(first)), ends);
  if (played < PLAYS) faults.push(`it was played ${played} times`);
  const stuck = [...ends.values()].filter((end) => end !== 'sent' && end !== 'unknown');
  if (stuck.length > 0) faults.push(`${stuck.join(', ')} in the end`);
  for (let waits = 0; waits < 6_000 && front.openSockets() > 0; waits++) await sleep(20);
  if (front.openSockets() > 0) faults.push(`${front.openSockets()} sockets are left`);
  await front.close();
  return faults.map((text) => `${type}, a vendor that ${fault.name}: ${text}`);
}

/** What the driver said against what the vendor has. */
function contradictions(copies: ReadonlyMap<string, number>, ends: ReadonlyMap<number, string>): string[] {
  return [...ends].flatMap(([number, end]) => {
    const count = copies.get(`p${number}@there.test`) ?? 0;
    const isTrue = end === 'sent' ? count === 1 : end === 'unknown' ? count <= 1 : count === 0;
    return isTrue ? [] : [`${number} is ${end} and there ${count} times`];
  });
}

/** Those that only wait are played at once. Large messages are the matter of the connections, which all drivers have from the host: one is enough. */
function together(type: string): readonly (readonly ApiFault[])[] {
  const large = API_FAULTS.filter(({ isForLarge }) => isForLarge).map((fault) => [fault]);
  return [
    API_FAULTS.filter(({ isSlow }) => isSlow),
    ...(type === VENDORS[0]?.type ? large : []),
    ...inTens(API_FAULTS.filter(({ isSlow, isForLarge }) => !isSlow && !isForLarge)),
  ];
}

function inTens<T>(list: readonly T[]): readonly (readonly T[])[] {
  return list.length === 0 ? [] : [list.slice(0, 10), ...inTens(list.slice(10))];
}

const vendors = await Promise.all(
  VENDORS.map(async ({ type, plugin, start }) => ({
    type,
    driver: driverOf(plugin, type),
    start,
    vendor: await start(),
  })),
);
afterFile(async () => {
  for (const { vendor } of vendors) await vendor.close();
});

test('the table has at least 25 faults, besides those of names and TLS', () =>
  expect(new Set(API_FAULTS.map(({ name }) => name)).size).toBeGreaterThanOrEqual(25));

describe.each(vendors)('$type', ({ type, driver, start, vendor }) => {
  test('tells the truth about every message, loses none and leaves no socket, whatever the vendor does', async () => {
    // A vendor for each fault: their lists are compared.
    const playAll = (faults: readonly ApiFault[]) =>
      Promise.all(
        faults.map(async (fault) => {
          const own = await start();
          const found = await play(type, driver, own, fault);
          await own.close();
          return found;
        }),
      );
    const found: string[][] = [];
    for (const faults of together(type)) found.push(...(await playAll(faults)));
    expect(found.flat()).toEqual([]);
  });

  test('does not take a second answer for that to the next message', async () => {
    const front = await startFaultyFront(vendor.origin);
    let requests = 0;
    front.playBy(() => (requests++ === 0 ? LATE_SECOND_ANSWER : undefined));
    const live = open(driver, vendor, { endpoint: front.origin, replyTimeoutMs: LONG_REPLY_TIMEOUT_MS });
    expect(await fate(live, messageTo(100))).toBe('sent');
    await sleep(150);
    const end = await fate(live, messageTo(101));
    const copies = copiesByRecipient(vendor.taken()).get('p101@there.test') ?? 0;
    expect({ end, copies }).not.toEqual({ end: 'sent', copies: 0 });
    await live.close();
    await front.close();
  });
});

test('a name that nobody knows, a wrong certificate and a handshake that hangs are told as never sent', async () => {
  const { pem, privateKey } = testCertificate();
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
  const sockets = new Set<Socket>();
  const wrong = tls.createServer({ cert: pem, key }).on('tlsClientError', () => undefined);
  // Without reading it would not see that the connection ends.
  const silent = createServer((socket) => socket.resume());
  for (const server of [wrong, silent])
    server.on('connection', (socket) => sockets.add(socket.on('close', () => sockets.delete(socket))));
  const portOf = async (server: typeof silent): Promise<number> => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' && address ? address.port : 0;
  };
  const endpoints = [
    'http://nobody.invalid',
    `https://127.0.0.1:${await portOf(wrong)}`,
    `https://127.0.0.1:${await portOf(silent)}`,
  ];
  const ends = await Promise.all(
    vendors.flatMap(({ driver, vendor }) =>
      endpoints.map(async (endpoint) => {
        const live = open(driver, vendor, { endpoint });
        const end = await fate(live, messageTo(200));
        await live.close();
        return end;
      }),
    ),
  );
  expect(ends).toEqual(ends.map(() => 'unavailable'));
  await expect.poll(() => sockets.size).toBe(0);
  wrong.close();
  silent.close();
});
