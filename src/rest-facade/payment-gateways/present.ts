/** How REST shows payment gateways. */
import type { RestPaymentGatewayFragment, RestPaymentGatewayTypeFragment } from '../../generated/operations.ts';
import { restTime } from '../timestamps.ts';

export function presentGateway(gateway: RestPaymentGatewayFragment) {
  return {
    uid: gateway.uid,
    name: gateway.name,
    type: gateway.type,
    status: gateway.status,
    fault: gateway.fault ?? null,
    deleting_at: restTime(gateway.deletingAt),
    settings: gateway.settings,
    created_at: restTime(gateway.createdAt),
    updated_at: restTime(gateway.updatedAt),
  };
}

export function presentGatewayType(type: RestPaymentGatewayTypeFragment) {
  return {
    type: type.type,
    name: type.name,
    description: type.description,
    icon: type.icon,
    plugin: type.plugin ?? null,
    is_remote_subscription: type.isRemoteSubscription,
    form_url: type.formUrl ?? null,
    config_keys: type.configKeys,
    secret_keys: type.secretKeys,
    currencies: type.currencies,
  };
}
