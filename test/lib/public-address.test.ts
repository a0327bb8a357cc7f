/** The guard on outbound addresses: every notation of a private address is refused, public ones pass. */
import { createServer, connect } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { addressGuard, isPublicAddress } from '../../src/lib/public-address.ts';

test.each(['8.8.8.8', '93.184.216.34', '2606:4700:4700::1111', '::ffff:8.8.8.8'])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  '127.0.0.1',
  '127.8.8.8',
  '0.0.0.0',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '192.0.2.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '168.63.129.16',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:10.0.0.1',
  'fe80::1',
  'fc00::1',
  'fd00:ec2::254',
  'ff02::1',
  '2001:db8::1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::7f00:1',
  '::7f00:1',
  '::127.0.0.1',
  '::2',
  '::ffff:0:7f00:1',
  '1000::1',
  '4000::1',
  'fe00::1',
  '100:0:0:1::1',
  '3fff::1',
  '5f00::1',
  '192.0.0.8',
  '192.88.99.1',
  '2002:7f00:1::',
  '2001::1',
  'fec0::1',
  '100::1',
  'not an address',
  '',
])('%s is not public', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each([
  'localhost',
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '[::1]',
  '::1',
  '169.254.169.254',
  'no-such-host.invalid',
])('the host %s is refused with a sentence', async (host) => {
  expect(await addressGuard().refusal(host)).toMatch(/^The host .+\.$/);
});

test('what the operator allows passes: a name, an address, a network', async () => {
  expect(await addressGuard(['localhost']).refusal('LOCALHOST')).toBeUndefined();
  expect(await addressGuard(['127.0.0.1']).refusal('127.0.0.1')).toBeUndefined();
  expect(await addressGuard(['10.0.0.0/8', 'fd00::/8']).refusal('10.9.8.7')).toBeUndefined();
  expect(await addressGuard(['10.0.0.0/8']).refusal('127.0.0.1')).toMatch('not a public address');
});

test('a connection by name fails before it is opened', async () => {
  let connections = 0;
  const server = createServer(() => (connections += 1)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const refused = connect({ host: 'localhost', port, lookup: addressGuard().lookup });
  await expect(once(refused, 'connect')).rejects.toThrow('not a public address');
  const allowed = connect({ host: 'localhost', port, family: 4, lookup: addressGuard(['localhost']).lookup });
  await once(allowed, 'connect');
  allowed.destroy();
  expect(connections).toBeLessThanOrEqual(1);
  server.close();
});
