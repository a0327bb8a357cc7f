/** A certificate that its own key has signed, made here: tests must not depend on a program for it, nor have a private key in a file. */
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';

export interface TestCertificate {
  readonly privateKey: KeyObject;
  readonly pem: string;
}

/** Valid between the two days, `YYMMDD`. */
export function testCertificate({ from = '200101', to = '490101' } = {}): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  // sha256WithRSAEncryption
  const algorithm = der(0x30, Buffer.from('06092a864886f70d01010b0500', 'hex'));
  const commonName = der(0x30, der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from('sns.amazonaws.com')));
  const name = der(0x30, der(0x31, commonName));
  const time = (day: string) => der(0x17, Buffer.from(`${day}000000Z`));
  const content = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    der(0x30, time(from), time(to)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', content, privateKey)]));
  const base64 = der(0x30, content, algorithm, signature).toString('base64');
  const lines = base64.match(/.{1,64}/g) ?? [];
  return {
    privateKey,
    pem: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
  };
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
