/**
 * Signs messages with DKIM (RFC 6376, RFC 8463) as they are handed over. Here only the finished fields are put before
 * a message; the signatures, which are what costs, are made in threads.
 */
import { takeBlock } from '../../../lib/blocks.ts';
import type { DkimIdentity } from './dkim-identity.ts';
import { signatureFields } from './signature-fields.ts';
import { signInThread } from './signing-thread.ts';

/** The message with its signatures: a copy. Until it is there, the bytes that are given must stay as they are. */
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

/** RSA is at home in libuv's pool, which has all cores; the way through a thread there costs a tenth of the rate. */
function isForPool({ keys }: DkimIdentity): boolean {
  return keys.every(({ algorithm }) => algorithm === 'rsa-sha256');
}
