/**
 * Signs messages with DKIM (RFC 6376, RFC 8463) as they are handed over. Here the finished fields are put before a message; the
 * expensive signatures are made in threads.
 */
import { takeBlock } from '../../../lib/blocks.ts';
import type { DkimIdentity } from './dkim-identity.ts';
import { signatureFields } from './signature-fields.ts';
import { signInThread } from './signing-thread.ts';

/** The message with its signatures: a copy. The given bytes must not change until then. */
export async function signMessage(content: Buffer, identity: DkimIdentity): Promise<Buffer> {
  const fields = await (isForPool(identity)
    ? signatureFields(content, identity, new Date())
    : signInThread(content, identity));
  const length = fields.length + content.byteLength;
  const signed = takeBlock(length);
  signed.write(fields, 0, 'latin1');
  signed.set(content, fields.length);
  return signed.subarray(0, length);
}

/** RSA uses libuv's pool, which has all cores; an extra thread before it would cost a tenth of the rate. */
function isForPool({ keys }: DkimIdentity): boolean {
  return keys.every(({ algorithm }) => algorithm === 'rsa-sha256');
}
