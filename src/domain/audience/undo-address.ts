/** Whose subscription a click ended: a token of the undo names the address by a keyed digest only. */
import { deriveKey, mac } from '../../lib/crypto.ts';
import { emailKey } from '../../lib/text.ts';
import type { Installation } from '../context.ts';

const PURPOSE = 'undo-unsubscribe-address';

/** 22 letters of base64url. */
export function undoAddress({ secret }: Installation, email: string): string {
  return mac(deriveKey(secret, PURPOSE), emailKey(email)).toString('base64url');
}
