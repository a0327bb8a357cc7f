/**
 * Signs messages with DKIM (RFC 6376, RFC 8463) as they are handed over. Here only the finished fields are put before
 * a message; making them is what costs, and happens in threads (signing-thread.ts).
 */
import { takeBlock } from '../../../lib/blocks.ts';
import type { DkimIdentity } from './dkim-identity.ts';
import { signInThread } from './signing-thread.ts';

/** The message with its signatures: a copy. Until it is there, the bytes that are given must stay as they are. */
export async function signMessage(content: Uint8Array, identity: DkimIdentity): Promise<Buffer> {
  const fields = await signInThread(content, identity);
  const length = fields.length + content.byteLength;
  const signed = takeBlock(length);
  signed.write(fields, 0, 'latin1');
  signed.set(content, fields.length);
  return signed.subarray(0, length);
}
