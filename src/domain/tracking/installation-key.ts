/** Keys that are derived from an installation's secret, kept for hot paths: to derive one costs as much as a thousand MACs. */
import { createSecretKey, type KeyObject } from 'node:crypto';
import { deriveKey } from '../../lib/crypto.ts';
import type { Installation } from '../context.ts';

/** Answers an installation's key for this purpose. */
export function installationKey(purpose: string): (installation: Installation) => KeyObject {
  const keys = new WeakMap<Installation, KeyObject>();
  return (installation) => {
    const known = keys.get(installation);
    if (known) return known;
    const key = createSecretKey(deriveKey(installation.secret, purpose));
    keys.set(installation, key);
    return key;
  };
}
