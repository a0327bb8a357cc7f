/** Mails of flows: what a flow enqueues, and what is read when one is sent. Its text is the template's of that moment (decision D100). */
import { z } from 'zod';
import type { Queryable } from '../../../db/database.ts';
import { mailData, type MailData } from '../../content/mail-data.ts';
import { enqueueMessages } from '../../messages/enqueue-messages.ts';
import { messageIdsOf } from '../../messages/message-store.ts';
import { PRIORITIES, type MessageKind } from '../../messages/message.ts';
import { SOURCE_KINDS } from '../../source-key.ts';

export const flowMailContent = z.object({
  templateUid: z.string(),
  /** Null: the template's. */
  subject: z.string().nullable(),
  /** What the run began with. */
  payload: mailData.nullable(),
});

export interface FlowMail {
  readonly runId: bigint;
  readonly node: string;
  /** How often the run came to the node by now. */
  readonly pass: number;
  readonly personId: bigint;
  /** The only one in which the person gets it. */
  readonly status: string;
  readonly payload: MailData | null;
}

export interface FlowMails {
  readonly customerId: bigint;
  readonly automationId: bigint;
  readonly listId: bigint;
  readonly templateUid: string;
  readonly subject: string | null;
  readonly kind: MessageKind;
  readonly mails: readonly FlowMail[];
}

/** Unique for each run, node and pass, so that a step that is repeated sends nothing again (decision D81). */
export function causeOfMail({ runId, node, pass }: Pick<FlowMail, 'runId' | 'node' | 'pass'>): string {
  return `flow ${runId} ${node} ${pass}`;
}

/** With what the causes of a run's mails begin, of one node or of all. */
export function causesOfRun(runId: bigint, node?: string): string {
  return node === undefined ? `flow ${runId} ` : `flow ${runId} ${node} `;
}

/** The run and the node that sent the mail; null: its person was erased. */
export function mailOfCause(cause: string): { readonly runId: bigint; readonly node: string } | null {
  const [purpose, runId, node] = cause.split(' ');
  return purpose === 'flow' && runId !== undefined && node !== undefined ? { runId: BigInt(runId), node } : null;
}

/** Enqueues the mails in the caller's transaction; returns the ids of their messages, in their order. */
export async function enqueueFlowMails(
  db: Queryable,
  { customerId, automationId, listId, templateUid, subject, kind, mails }: FlowMails,
): Promise<readonly bigint[]> {
  const source = { customerId, sourceKind: SOURCE_KINDS.automation, sourceId: automationId };
  const causes = mails.map(causeOfMail);
  await enqueueMessages(
    db,
    mails.map((mail, no) => ({
      ...{ source, kind, purpose: 'flow', priority: PRIORITIES.flow, cause: causes[no] ?? '' },
      to: { subscriberId: mail.personId, listId, status: mail.status },
      content: { templateUid, subject, payload: mail.payload },
    })),
  );
  const ids = await messageIdsOf(db, customerId, causes);
  return causes.map((cause) => {
    const id = ids.get(cause);
    if (id === undefined) throw new Error('An enqueued message is not there.');
    return id;
  });
}
