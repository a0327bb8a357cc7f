/** The jobs of payments through gateways. */
import { cancelIntent } from '../../domain/billing/payments/cancel-intent.ts';
import { chargeIntent } from '../../domain/billing/saved-methods/charge-intent.ts';
import { cancelRemote } from '../../domain/billing/remote/cancel-remote.ts';
import { changeRemotePlan } from '../../domain/billing/remote/change-remote-plan.ts';
import { createRemote } from '../../domain/billing/remote/create-remote.ts';
import { closeGateway } from '../../domain/billing/payments/close-gateway.ts';
import { withdrawRemotesOf } from '../../domain/billing/remote/withdraw-remotes.ts';
import { removeMethodLater } from '../../domain/billing/saved-methods/remove-method.ts';
import { retryCharges } from '../../domain/billing/saved-methods/retry-charges.ts';
import { syncPayments } from '../../domain/billing/payments/sync-payments.ts';
import {
  cancelIntentJob,
  cancelRemoteJob,
  changeRemotePlanJob,
  chargeIntentJob,
  closeGatewayJob,
  createRemoteJob,
  removeMethodJob,
  retryChargesJob,
  syncPaymentsJob,
  withdrawRemotesJob,
} from '../../jobs/billing-jobs.ts';
import { defineTask } from '../task.ts';

export const paymentTasks = [
  defineTask(syncPaymentsJob, syncPayments),
  defineTask(cancelIntentJob, cancelIntent),
  defineTask(chargeIntentJob, chargeIntent),
  defineTask(retryChargesJob, retryCharges),
  defineTask(createRemoteJob, createRemote),
  defineTask(cancelRemoteJob, (ctx, payload) => cancelRemote(ctx, remoteKey(payload))),
  defineTask(changeRemotePlanJob, (ctx, payload) => changeRemotePlan(ctx, remoteKey(payload))),
  defineTask(withdrawRemotesJob, (ctx, { customerId }) => withdrawRemotesOf(ctx, { customerId: BigInt(customerId) })),
  defineTask(removeMethodJob, (ctx, { customerId, methodUid }, { attempt, attemptsMax }) =>
    removeMethodLater(ctx, { customerId: BigInt(customerId), methodUid, isLastTry: attempt >= attemptsMax }),
  ),
  defineTask(closeGatewayJob, (ctx, { gatewayUid }, { attempt, attemptsMax }) =>
    closeGateway(ctx, { gatewayUid, isLastTry: attempt >= attemptsMax }),
  ),
];

function remoteKey({ customerId, remoteId }: { customerId: string; remoteId: string }) {
  return { customerId: BigInt(customerId), id: BigInt(remoteId) };
}
