/**
 * Tests of a template as messages of the queue: composed and signed like a mail of a flow to a list, with links of subscriber 0. They count for
 * no credit, and each is handed over at most once.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Queryable } from '../../../db/database.ts';
import { asciiDomainOf } from '../../../lib/mail-domain.ts';
import { findList } from '../../audience/list-store.ts';
import { mailData, type MailData } from '../../content/mail-data.ts';
import { SUBJECT_LENGTH_MAX } from '../../content/message.ts';
import type { Template } from '../../content/templates/template-fields.ts';
import { findTemplate } from '../../content/templates/template-store.ts';
import type { Context } from '../../context.ts';
import { enqueueWithIds } from '../../messages/enqueue-messages.ts';
import { PRIORITIES } from '../../messages/message.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import { deliveryMessageId } from '../../tracking/delivery-message-id.ts';
import { withReturnPath } from '../messages/compose-transactional.ts';
import { compileFlowMail, type EditionContext, type FlowEdition } from './flow-edition.ts';
import type { Composition } from '../messages/message-composition.ts';
import { sampleLinks, sampleValues } from '../campaigns/sample-recipient.ts';
import { TEST_MARK, type TestToCompose } from '../campaigns/test-message.ts';

/** Neither a campaign nor an automation: its links lead nowhere that counts. */
const NONE = 0n;

const templateTestContent = z.object({
  templateUid: z.string(),
  listUid: z.string(),
  subscriberId: z.coerce.bigint().nullable(),
  isMarked: z.boolean(),
  /** Of the node of a flow; absent or null: the template's. */
  subject: z.string().nullish(),
  data: mailData.nullable(),
  payload: mailData.nullable(),
});

/** Whether the content of a test is one of a template. */
export function isTemplateTest(content: Readonly<Record<string, unknown>> | null): boolean {
  return content?.['templateUid'] !== undefined;
}

interface TestOfTemplate {
  readonly template: Template;
  readonly listId: bigint;
  readonly isMarked: boolean;
  /** Instead of the template's. */
  readonly subject?: string | null | undefined;
}

/** The message that all addresses of a test get. Throws ValidationError as compiling does, and Error for an unusable sender. */
export function compileTemplateTest(
  ctx: EditionContext,
  { template, listId, isMarked, subject: given }: TestOfTemplate,
): Promise<FlowEdition> {
  const { customerId, uid: templateUid, name } = template;
  const subject = `${isMarked ? TEST_MARK : ''}${given ?? template.subject}`.slice(0, SUBJECT_LENGTH_MAX);
  return compileFlowMail(ctx, { customerId, automationId: NONE, listId, templateUid, subject }, { uid: '', name });
}

export interface NewTemplateTests extends Omit<TestOfTemplate, 'listId'> {
  readonly listUid: string;
  /** The recipients, and whose values are used; null: sample values. */
  readonly readers: readonly { readonly email: string; readonly subscriberId: bigint | null }[];
  readonly data: MailData | null;
  readonly payload: MailData | null;
}

export interface TemplateTest {
  readonly email: string;
  /** Of the message. */
  readonly id: bigint;
}

/** Enqueues a test to each reader, and answers them in their order. */
export async function enqueueTemplateTests(
  db: Queryable,
  { template, listUid, isMarked, subject = null, readers, data, payload }: NewTemplateTests,
): Promise<readonly TemplateTest[]> {
  const { customerId, uid: templateUid } = template;
  const source = { customerId, sourceKind: SOURCE_KINDS.test, sourceId: NONE };
  const tests = readers.map((reader) => ({ ...reader, cause: `template test ${randomUUID()}` }));
  const written = await enqueueWithIds(
    db,
    tests.map(({ email, subscriberId, cause }) => ({
      ...{ source, to: { email }, kind: 'optional', purpose: 'test', priority: PRIORITIES.test, cause },
      content: {
        ...{ templateUid, listUid, isMarked, subject, data, payload },
        subscriberId: subscriberId === null ? null : String(subscriberId),
      },
    })),
  );
  const ids = new Map(written.map(({ id, cause }) => [cause, id]));
  return tests.map(({ email, cause }) => ({ email, id: ids.get(cause) ?? NONE }));
}

/** The test, or why there is none. Throws what composing throws. */
export async function composeTemplateTest(ctx: Context, { key, email, content }: TestToCompose): Promise<Composition> {
  const { customerId } = key;
  const { templateUid, listUid, subscriberId, isMarked, subject, ...values } = templateTestContent.parse(content);
  const template = await findTemplate(ctx.db, { customerId, uid: templateUid });
  if (!template) return { skip: 'template_deleted' };
  const list = await findList(ctx.db, { customerId, uid: listUid });
  if (!list) return { skip: 'source_deleted' };
  const { id: listId } = list;
  const { message, identity, fromEmail } = await compileTemplateTest(ctx, { template, listId, isMarked, subject });
  const sample = { customerId, listId, campaignId: NONE };
  const { uid, fields, pluginValues } = await sampleValues(ctx, { sample, message }, subscriberId);
  const filled = await message.fill({
    ...{ email, uid, fields, pluginValues, data: values.data ?? undefined, payload: values.payload ?? undefined },
    messageId: deliveryMessageId(ctx.installation, key, asciiDomainOf(fromEmail)),
    links: sampleLinks(ctx.installation, sample, identity.trackingBaseUrl ?? undefined),
  });
  return { filled: withReturnPath(ctx, { filled, identity, key }), identity, fromEmail, email };
}
