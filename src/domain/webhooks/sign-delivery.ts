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
  readonly secret: string;
  /** While a secret is being replaced, the one before. */
  readonly previousSecret?: string | undefined;
}

/**
 * The headers. While a secret is being replaced, receivers that know only the one before verify `X-Service-Signature` as always, those
 * with the new one `X-Service-Signature-Next`. The header of Standard Webhooks has both.
 */
export function signedHeaders(signing: Signing): Record<string, string> {
  const { deliveryUid, event, timestamp, body, secret, previousSecret } = signing;
  const service = Buffer.concat([Buffer.from(`${timestamp}.`), body]);
  const standard = Buffer.concat([Buffer.from(`${deliveryUid}.`), service]);
  return {
    'X-Service-Event': event,
    'X-Service-Delivery': deliveryUid,
    'X-Service-Timestamp': String(timestamp),
    'X-Service-Signature': hexSignature(previousSecret ?? secret, service),
    ...(previousSecret !== undefined && { 'X-Service-Signature-Next': hexSignature(secret, service) }),
    'webhook-id': deliveryUid,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': [secret, previousSecret]
      .filter((one) => one !== undefined)
      .map((one) => `v1,${mac(standardKey(one), standard, DIGEST_BYTES).toString('base64')}`)
      .join(' '),
  };
}

function hexSignature(secret: string, bytes: Uint8Array): string {
  return `sha256=${mac(Buffer.from(secret), bytes, DIGEST_BYTES).toString('hex')}`;
}
