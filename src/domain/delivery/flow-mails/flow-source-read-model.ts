/** The sources of a flow's mails: the automation, its list, its template, the customer's plan, and their version. */
import { sql, row, typed, type Queryable, type RowOf } from '../../../db/database.ts';
import type { TemplateKind } from '../../content/templates/template.ts';
import { identityVersion } from '../../sending/domains/sending-domain-read-model.ts';

export interface FlowSource {
  readonly customerId: bigint;
  readonly automationId: bigint;
  readonly listId: bigint;
  readonly templateUid: string;
}

const HEAD_ROW = row({
  uid: 'text',
  name: 'text',
  /** Null: the template is gone. */
  kind: typed<TemplateKind>('text?'),
  version: 'text',
});
export type FlowHead = RowOf<typeof HEAD_ROW>;

/** Undefined: the automation or its list is gone, or the customer is disabled. */
export async function readFlowHead(db: Queryable, source: FlowSource): Promise<FlowHead | undefined> {
  const { customerId, automationId, listId, templateUid } = source;
  const [head] = await db.query(
    HEAD_ROW,
    sql`SELECT a.uid, a.name, t.kind,
               concat_ws('|', t.version, a.name, l.updated_at, (
                 SELECT concat_ws('|', s.id, s.updated_at, p.updated_at) FROM subscription s JOIN plan p ON p.id = s.plan_id
                  WHERE s.customer_id = a.customer_id AND s.status <> 'pending' ORDER BY (s.status = 'ended'), s.id DESC LIMIT 1),
                 ${identityVersion(sql`a.customer_id`)}) AS version
          FROM automation a
          JOIN mail_list l ON l.customer_id = a.customer_id AND l.id = ${listId}
          JOIN customer u ON u.id = a.customer_id AND u.status = 'active'
          LEFT JOIN template t ON t.customer_id = a.customer_id AND t.uid = ${templateUid}
         WHERE a.customer_id = ${customerId} AND a.id = ${automationId}`,
    'delivery.flow_head',
  );
  return head;
}

/** The content of a flow's mail that was sent, for its page; undefined: there is none, or it was erased. */
export async function readFlowContent(
  db: Queryable,
  { customerId, automationId, messageId }: { customerId: bigint; automationId: bigint; messageId: bigint },
): Promise<unknown> {
  const [found] = await db.query(
    { content: 'json?' },
    sql`SELECT content FROM hot.message
         WHERE customer_id = ${customerId} AND id = ${messageId} AND source_id = ${automationId} AND purpose = 'flow'`,
    'delivery.flow_content',
  );
  return found?.content ?? undefined;
}
