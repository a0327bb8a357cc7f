/** What a plugin answers about subscriptions and plans of its vendor: nobody has looked at it before. */
import { z } from 'zod';
import { PluginFailedError } from '../../../lib/errors.ts';
import type {
  RemotePeriodPage,
  RemotePlan,
  RemoteSubscription,
  RemoteSubscriptionPage,
} from '../../../plugin-api/index.ts';
import type { Context } from '../../context.ts';
import type { OpenGateway } from '../gateways/open-gateway.ts';
import { frequencyUnits } from '../subscriptions/period.ts';

/** Longer ids of vendors do not exist. */
export const REMOTE_ID_LENGTH_MAX = 255;
/** Vendors have fewer plans, and send smaller pages. */
const PLANS_MAX = 10_000;
const PAGE_MAX = 1_000;
const CURSOR_LENGTH_MAX = 10_000;

const text = z.string().min(1).max(REMOTE_ID_LENGTH_MAX);
const currencyCode = z.string().regex(/^[A-Z]{3}$/);

const planShape = z.object({
  id: text,
  name: z.string().transform((name) => name.slice(0, REMOTE_ID_LENGTH_MAX)),
  amountMinor: z.bigint(),
  currencyCode,
  frequencyAmount: z.int().min(1),
  frequencyUnit: z.enum(frequencyUnits),
});

const periodPaymentShape = z
  .object({ amountMinor: z.bigint(), currencyCode, refundedMinor: z.bigint().min(0n).optional() })
  .nullable();

const subscriptionShape = z
  .object({
    id: text,
    intentUid: z.string().max(REMOTE_ID_LENGTH_MAX).nullable(),
    status: z.string().transform((status) => status.slice(0, REMOTE_ID_LENGTH_MAX)),
    isActive: z.boolean(),
    isEnded: z.boolean().optional(),
    planId: text.nullable(),
    currentPeriodEndsAt: z.date().nullable(),
    startedAt: z.date().optional(),
    periodPayment: periodPaymentShape.optional(),
  })
  .transform((read) => ({ ...read, isEnded: read.isEnded ?? !read.isActive }));
/** As it is used here. */
export type ReadRemote = z.infer<typeof subscriptionShape>;

const periodPageShape = z.object({
  data: z.array(z.object({ endsAt: z.date(), payment: periodPaymentShape })).max(PAGE_MAX),
  hasMore: z.boolean(),
  nextCursor: z.string().max(CURSOR_LENGTH_MAX).nullable(),
});

const pageShape = z.object({
  data: z.array(subscriptionShape).max(PAGE_MAX),
  hasMore: z.boolean(),
  nextCursor: z.string().max(CURSOR_LENGTH_MAX).nullable(),
});

/** The functions below throw PluginFailedError for an answer of another form, and log what is wrong. */
type Answering = readonly [ctx: Pick<Context, 'log'>, open: OpenGateway];

export function readRemotePlans(answering: Answering, answered: readonly RemotePlan[] | undefined) {
  return read(answering, z.array(planShape).max(PLANS_MAX), answered);
}

export function readRemote(answering: Answering, answered: RemoteSubscription | undefined): ReadRemote {
  return read(answering, subscriptionShape, answered);
}

export function readRemotePage(answering: Answering, answered: RemoteSubscriptionPage | undefined) {
  const { data, has_more: hasMore, next_cursor: nextCursor } = answered ?? {};
  return read(answering, pageShape, { data, hasMore, nextCursor });
}

export function readPeriodPage(answering: Answering, answered: RemotePeriodPage | undefined) {
  const { data, has_more: hasMore, next_cursor: nextCursor } = answered ?? {};
  return read(answering, periodPageShape, { data, hasMore, nextCursor });
}

function read<Schema extends z.ZodType>([{ log }, { plugin }]: Answering, shape: Schema, answered: unknown) {
  const { success, data, error } = shape.safeParse(answered);
  if (success) return data;
  const [issue] = error.issues;
  const message = `The plugin answered what the contract does not allow: "${issue?.path.join('.')}": ${issue?.message}.`;
  log.error('billing.remote_answer_invalid', { plugin: String(plugin), message });
  throw new PluginFailedError(String(plugin));
}
