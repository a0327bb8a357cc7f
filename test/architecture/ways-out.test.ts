/**
 * C10: connections to hosts that somebody else chose are opened in one place. Whoever needs another module of the
 * network has to be listed here, with why that is no way around the guard.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { isProduct, readProject } from './project-files.ts';

const root = path.resolve(import.meta.dirname, '../..');
const NETWORK =
  /^(?:node:)?(?:http|https|http2|net|tls|dns|dns\/promises|dgram|undici|axios|got|node-fetch|ws|imapflow)$/;

/** File to why. Type imports need no entry. */
const ALLOWED: Readonly<Record<string, string>> = {
  'src/lib/outbound-request.ts': 'the one way out',
  'src/lib/outbound-pool.ts': 'the same way out over kept-open connections, with the guard it is given',
  'src/lib/public-address.ts': 'the guard itself: it resolves names',
  'src/lib/dns-records.ts': 'asks name servers that the operator chose, and connects to nobody',
  'src/http/http-server.ts': 'listens',
  'src/http/client-address.ts': 'compares addresses',
  'src/domain/tracking/machine-request.ts': 'compares addresses',
  'src/db/free-port.ts': 'listens for a moment',
  'src/app/listening.ts': 'listens for a moment',
  'src/domain/bounces/imap-mailbox.ts': 'connects to the address that the guard has judged',
  'src/domain/bounces/pop3-connection.ts': 'connects with the look-up of the guard, which it is given',
  'plugins/mailwright/address-check/domain-check.ts':
    'asks name servers that the operator chose, and connects to nobody',
  'plugins/mailwright/smtp/dial.ts': 'connects with the look-up of the guard, which it is given',
};
/** Files that hold a script for browsers, which connects to this installation only: the policy of its page says so. */
const FOR_BROWSERS = ['src/rest-facade/try-request.ts'];
/** It runs in the tests of plugins, and never in the product: nothing may import it. */
const FOR_TESTS = 'src/plugin-testing/';
/** Files that make sockets of connections that came in. */
const SOCKETS = /^src\/schema\//;

const product = readProject(root).filter((file) => isProduct(file) && !file.path.startsWith(FOR_TESTS));

test('modules of the network are used in listed files only', () => {
  const found = product.flatMap((file) =>
    file.imports
      .filter(({ specifier, typeOnly }) => !typeOnly && NETWORK.test(specifier))
      .filter(({ specifier }) => !(specifier === 'ws' && SOCKETS.test(file.path)))
      .map(() => file.path),
  );
  expect([...new Set(found)].filter((file) => !(file in ALLOWED))).toEqual([]);
  // A list that outlives its reasons protects nothing.
  expect(Object.keys(ALLOWED).filter((file) => !found.includes(file))).toEqual([]);
});

test('nothing calls what the platform has of its own: fetch, WebSocket, EventSource', () => {
  const calls = product
    .filter((file) => !file.path.includes('/generated/') && !FOR_BROWSERS.includes(file.path))
    .filter((file) => {
      const code = readFileSync(path.join(root, file.path), 'utf8').replace(/\/\*[^]*?\*\/|\/\/.*|'[^'\n]*'/g, '');
      return /(?<![.\w])(?:globalThis\.)?fetch\(|new (?:WebSocket|EventSource)\(/.test(code);
    })
    .map((file) => file.path);
  expect(calls).toEqual([]);
});
