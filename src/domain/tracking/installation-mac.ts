/** MACs with keys derived from an installation's secret, cached for hot paths: deriving one costs as much as ten MACs. */
import { createMac, deriveKey, type Mac } from '../../lib/crypto.ts';
import type { Installation } from '../context.ts';

/** Returns HMAC-SHA-256 with an installation's key for this purpose. */
export function installationMac(purpose: string): (installation: Installation) => Mac {
  const macs = new WeakMap<Installation, Mac>();
  return (installation) => {
    const known = macs.get(installation);
    if (known) return known;
    const made = createMac('sha256', deriveKey(installation.secret, purpose));
    macs.set(installation, made);
    return made;
  };
}
