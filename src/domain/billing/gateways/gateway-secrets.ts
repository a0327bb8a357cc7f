/** Stored credentials of gateways and of saved payment methods: encrypted with the installation's secret, bound to their own row. */
import { z } from 'zod';
import { deriveKey, seal, unseal } from '../../../lib/crypto.ts';
import type { GatewayData, PaymentMethodData } from '../../../plugin-api/index.ts';
import type { StoredGateway } from './payment-gateway.ts';

const GATEWAY_PURPOSE = 'payment-gateway';
const METHOD_PURPOSE = 'payment-method';
const dataSchema = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));
/** What a plugin may have saved. */
export const methodData = z.record(z.string().max(100), z.string().max(1_000));

export function sealGatewaySecrets(installationSecret: string, uid: string, secrets: GatewayData): Buffer {
  return seal(deriveKey(installationSecret, GATEWAY_PURPOSE), JSON.stringify(secrets), uid);
}

/** All settings of the record; throws when the installation's secret is another one. */
export function gatewayData(installationSecret: string, gateway: StoredGateway): GatewayData {
  const { uid, settings, sealedSettings } = gateway;
  if (sealedSettings === null) return dataSchema.parse(settings);
  const secrets = unseal(deriveKey(installationSecret, GATEWAY_PURPOSE), sealedSettings, uid);
  return { ...dataSchema.parse(settings), ...dataSchema.parse(JSON.parse(secrets)) };
}

/** Throws when a plugin has given something else than texts. */
export function sealMethod(installationSecret: string, uid: string, data: PaymentMethodData): Buffer {
  return seal(deriveKey(installationSecret, METHOD_PURPOSE), JSON.stringify(methodData.parse(data)), uid);
}

export function unsealMethod(installationSecret: string, uid: string, sealed: Uint8Array): PaymentMethodData {
  return methodData.parse(JSON.parse(unseal(deriveKey(installationSecret, METHOD_PURPOSE), sealed, uid)));
}
