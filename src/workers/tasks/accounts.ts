/** Jobs of customers: erasing deleted ones, pausing campaigns of disabled ones, deleting expired data. */
import { eraseAllDeleted } from '../../domain/accounts/erase-deleted.ts';
import { sweepAccounts, sweepRequests } from '../../domain/accounts/sweep-accounts.ts';
import { pauseCustomerCampaigns } from '../../domain/campaigns/pause-customer-campaigns.ts';
import { removeCustomer } from '../../domain/campaigns/remove-customer.ts';
import {
  eraseCustomerJob,
  eraseDeletedJob,
  pauseCustomerCampaignsJob,
  sweepAccountsJob,
  sweepRequestsJob,
} from '../../jobs/account-jobs.ts';
import { defineTask } from '../task.ts';

export const accountTasks = [
  defineTask(eraseCustomerJob, (ctx, { customerId }, { abortSignal, attempt, attemptsMax }) =>
    removeCustomer(ctx, { customerId, abortSignal, isLastTry: attempt >= attemptsMax }),
  ),
  defineTask(eraseDeletedJob, (ctx, _payload, { abortSignal }) => eraseAllDeleted(ctx, abortSignal)),
  defineTask(pauseCustomerCampaignsJob, (ctx, { customerId }) => pauseCustomerCampaigns(ctx, { customerId })),
  defineTask(sweepAccountsJob, sweepAccounts),
  defineTask(sweepRequestsJob, sweepRequests),
];
