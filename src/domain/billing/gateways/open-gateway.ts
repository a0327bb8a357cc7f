/**
 * A gateway ready for use: its record, the registration of its type, and calls of its functions, each contained as code of its plugin. What
 * a vendor refuses is a GatewayError and no fault of the plugin.
 */
import { PluginFailedError } from '../../../lib/errors.ts';
import {
  GatewayError,
  type PaymentGatewayRegistration,
  type PaymentGatewayService,
} from '../../../plugin-api/index.ts';
import type { Context } from '../../context.ts';
import { gatewayData } from './gateway-secrets.ts';
import { offlineGateway } from './offline-gateway.ts';
import { unknownGatewayType } from './payment-gateway-errors.ts';
import type { StoredGateway } from './payment-gateway.ts';

const HOOK = 'register_payment_gateway';
/** Vendors answer within a few seconds; the customer waits in a browser. */
export const GATEWAY_TIMEOUT_MS = 30_000;

/** A type, with the plugin that provides it; null: Mailwright itself. */
export interface GatewayType {
  readonly plugin: string | null;
  readonly registration: PaymentGatewayRegistration;
}

export interface OpenGateway extends GatewayType {
  readonly gateway: StoredGateway;
  /** Whether the service has this function. */
  can(name: keyof PaymentGatewayService): boolean;
  /** For functions that answer at once. Throws PluginFailedError. */
  ask<T>(act: (service: PaymentGatewayService) => T): T;
  /** For functions that call the vendor. Rejects with GatewayError, or with PluginFailedError when the plugin failed or is late. */
  call<T>(act: (service: PaymentGatewayService) => Promise<T>, timeoutMs?: number): Promise<T>;
}

/** All types: Mailwright's own first. If two plugins provide one, the first by name does. */
export function gatewayTypes(ctx: Pick<Context, 'hooks'>): readonly GatewayType[] {
  const ofPlugins = ctx.hooks.owned(HOOK).map(({ plugin, value }) => ({ plugin, registration: value }));
  return [{ plugin: null, registration: offlineGateway }, ...ofPlugins];
}

/** Undefined: no active plugin provides it. */
export function findGatewayType(ctx: Pick<Context, 'hooks'>, type: string): GatewayType | undefined {
  return gatewayTypes(ctx).find(({ registration }) => registration.type === type);
}

/** Throws ValidationError on `type`. */
export function gatewayTypeOf(ctx: Pick<Context, 'hooks'>, type: string): GatewayType {
  const found = findGatewayType(ctx, type);
  if (!found) throw unknownGatewayType(gatewayTypes(ctx).map(({ registration }) => registration.type));
  return found;
}

/** Why nothing can be paid through gateways of this type now; null: it can. */
export function missingGatewayType(ctx: Pick<Context, 'hooks'>, type: string): string | null {
  if (findGatewayType(ctx, type)) return null;
  return `No active plugin provides payment gateways of type "${type}": activate the plugin, or put its folder back.`;
}

/** Undefined: no active plugin provides its type. Throws PluginFailedError when the plugin cannot make the service. */
export function openGateway(ctx: Context, gateway: StoredGateway): OpenGateway | undefined {
  const type = findGatewayType(ctx, gateway.type);
  return type && openWith(ctx, type, gateway);
}

/** The same for a record that is not stored yet. */
export function openWith(ctx: Context, type: GatewayType, gateway: StoredGateway): OpenGateway {
  const { plugin, registration } = type;
  const ask = <T>(act: () => T): T => {
    if (plugin === null) return act();
    try {
      return ctx.hooks.contained.callOrThrow({ plugin, hook: HOOK }, act);
    } catch (error) {
      throw new PluginFailedError(plugin, { cause: error });
    }
  };
  const { uid, name } = gateway;
  const data = gatewayData(ctx.installation.secret, gateway);
  const service = ask(() => registration.serviceFactory({ uid, type: gateway.type, name, data }));
  return {
    ...type,
    gateway,
    can: (member) => typeof service[member] === 'function',
    ask: (act) => ask(() => act(service)),
    async call(act, timeoutMs = GATEWAY_TIMEOUT_MS) {
      if (plugin === null) return act(service);
      const answer = await ctx.hooks.contained
        .run({ plugin, hook: HOOK }, () => answered(() => act(service)), { timeoutMs })
        .catch((error: unknown) => {
          throw new PluginFailedError(plugin, { cause: error });
        });
      if ('error' in answer) throw answer.error;
      return answer.value;
    },
  };
}

type Answered<T> = { readonly value: T } | { readonly error: GatewayError };

/** What a vendor refuses must not be counted as a fault of the plugin. */
async function answered<T>(act: () => Promise<T>): Promise<Answered<T>> {
  try {
    return { value: await act() };
  } catch (error) {
    if (error instanceof GatewayError) return { error };
    throw error;
  }
}
