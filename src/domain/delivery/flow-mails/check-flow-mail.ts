/** Whether a flow could send this mail: it is compiled as it will be, and its sender is checked. Sends nothing. */
import type { Context } from '../../context.ts';
import { senderFault } from '../../sending/addresses/usable-sender.ts';
import { readListSource } from '../campaigns/campaign-source-read-model.ts';
import { compileFlowMail, type FlowText } from './flow-edition.ts';
import { readFlowHead } from './flow-source-read-model.ts';

export interface FlowMailFault {
  readonly code: 'unknown_template' | 'sender_not_usable';
  readonly message: string;
}

/** Throws ValidationError on the field of the template that has a fault. */
export async function checkFlowMail(ctx: Context, text: FlowText): Promise<FlowMailFault | undefined> {
  const head = await readFlowHead(ctx.db, text);
  if (!head || head.kind === null)
    return { code: 'unknown_template', message: `There is no template ${text.templateUid}.` };
  const { customerId, listId } = text;
  const list = await readListSource(ctx.db, { customerId, listId });
  if (!list) return undefined;
  const fault = await senderFault(ctx.db, ctx.installation, { customerId, email: list.from_email });
  if (fault !== undefined) return { code: 'sender_not_usable', message: `The list’s sender cannot be used. ${fault}` };
  await compileFlowMail(ctx, text, head);
  return undefined;
}
