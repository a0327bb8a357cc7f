/** Faults of a flow's mails and notices: templates that exist and make a message of this list, users who exist. Checked on publishing (D91). */
import { ValidationError } from '../../../lib/errors.ts';
import { peopleOfCustomer } from '../../billing/saved-methods/payment-mail-read-model.ts';
import { checkFlowMail } from '../../delivery/flow-mails/check-flow-mail.ts';
import type { Context } from '../../context.ts';
import { flowFault, type FlowFault } from './flow-fault.ts';
import type { FlowNode } from './flow-nodes.ts';
import type { Flow } from './flow.ts';
import { usersNamed, USERS_MAX } from '../work/notify-work.ts';

interface FlowOfList {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly automationId: bigint;
}

/** The faults of all its mails and notices. */
export async function mailReferenceFaults(ctx: Context, of: FlowOfList, { nodes }: Flow): Promise<FlowFault[]> {
  const faults: FlowFault[] = [];
  for (const node of nodes) {
    if (node.type === 'send_mail') faults.push(...(await mailFaultsOf(ctx, of, node)));
    if (node.type === 'notify') faults.push(...(await noticeFaultsOf(ctx, of, node)));
  }
  return faults;
}

async function mailFaultsOf(
  ctx: Context,
  of: FlowOfList,
  node: Extract<FlowNode, { type: 'send_mail' }>,
): Promise<FlowFault[]> {
  const { id, templateUid } = node;
  const subject = node.subject ?? null;
  try {
    const fault = await checkFlowMail(ctx, { ...of, templateUid, subject });
    if (fault === undefined) return [];
    return [flowFault(fault.code, fault.message, id, fault.code === 'unknown_template' ? 'templateUid' : null)];
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    return Object.entries(error.fields).flatMap(([field, sentences]) =>
      sentences.map((sentence) => {
        const isOwn = field === 'subject' && subject !== null;
        const place = isOwn ? 'subject' : 'templateUid';
        return flowFault('template_fault', isOwn ? sentence : `The template’s ${field}: ${sentence}`, id, place);
      }),
    );
  }
}

async function noticeFaultsOf(
  ctx: Context,
  { customerId }: FlowOfList,
  { id, to = [] }: Extract<FlowNode, { type: 'notify' }>,
): Promise<FlowFault[]> {
  const users = await peopleOfCustomer(ctx.db, customerId, USERS_MAX);
  const strangers = to.filter((one) => usersNamed(users, [one]).length === 0);
  return strangers.map((one) => flowFault('unknown_user', `${one} is no user of this account.`, id, 'to'));
}
