/** The headers by which a receiver knows that a request is ours: decision D42, and Standard Webhooks beside them. */
import { mac } from '../../lib/crypto.ts';
import { standardKey } from './webhook-secret.ts';

const DIGEST_BYTES = 32;

export interface Signing {
  /** The same for each attempt. */
  readonly deliveryUid: string;
  readonly event: string;
  /** Seconds since 1970, new for each attempt. */
  readonly timestamp: number;
  readonly body: Uint8Array;
  /** While a secret is being replaced, the new one and the one before. */
  readonly secrets: readonly string[];
}

/** The headers; with two secrets each signature stands twice: one of them fits. */
export function signedHeaders({ deliveryUid, event, timestamp, body, secrets }: Signing): Record<string, string> {
  const service = Buffer.concat([Buffer.from(`${timestamp}.`), body]);
  const standard = Buffer.concat([Buffer.from(`${deliveryUid}.`), service]);
  return {
    'X-Service-Event': event,
    'X-Service-Delivery': deliveryUid,
    'X-Service-Timestamp': String(timestamp),
    'X-Service-Signature': secrets
      .map((secret) => `sha256=${mac(Buffer.from(secret), service, DIGEST_BYTES).toString('hex')}`)
      .join(','),
    'webhook-id': deliveryUid,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets
      .map((secret) => `v1,${mac(standardKey(secret), standard, DIGEST_BYTES).toString('base64')}`)
      .join(' '),
  };
}
