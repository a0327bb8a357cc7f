/** One step of a live test of a flow: the engine's own work where it only reads, a mail as a test, and of all that changes something nothing. */
import { RateLimitedError } from '../../../lib/errors.ts';
import { mailData } from '../../content/mail-data.ts';
import { findTemplate } from '../../content/templates/template-store.ts';
import { refuseTooManyTests } from '../../campaigns/test-addresses.ts';
import { isSuppressed } from '../../audience/suppression-store.ts';
import type { AnswersByQuestion } from '../../audience/segments/segment.ts';
import { enqueueTemplateTests } from '../../delivery/flow-mails/test-template.ts';
import { emailKey } from '../../../lib/text.ts';
import type { TransactionContext } from '../../context.ts';
import { leavingByRules } from '../dry-run/dry-run-walk.ts';
import type { FlowNode } from '../flow/flow-nodes.ts';
import { personOf, runOf, stateAt, type FlowTestState } from './flow-test-state.ts';
import type { FlowTestFault, FlowTestStep } from './flow-test.ts';
import type { FlowTestKey } from './flow-test-read-model.ts';
import type { FlowTestWork } from './flow-test-store.ts';
import type { LiveFlow } from '../runs/live-flow.ts';
import { moveOf, personAfter } from '../runs/move-of.ts';
import { failed, type NodeWork, type Outcome, type PresentRun } from '../work/node-work.ts';
import { isReading, workThatReads } from '../work/work-of-node.ts';
import type { Zones } from '../runs/zones.ts';

export interface Stepping {
  readonly key: FlowTestKey;
  readonly work: FlowTestWork;
  readonly live: LiveFlow;
  readonly zones: Zones;
  /** Of plugins, to all rules of the flow. */
  readonly answers: AnswersByQuestion;
  readonly happenedAt: Date;
}

export type Stepped =
  | { readonly fault: FlowTestFault }
  /** `state` null: it has come to its end. `waits`: the virtual clock jumps. */
  | { readonly step: FlowTestStep | null; readonly state: FlowTestState | null; readonly waits: boolean };

/** The stay at this node ends, at the virtual time of its wait. */
export async function stepOfTest(ctx: TransactionContext, stepping: Stepping, state: FlowTestState): Promise<Stepped> {
  const { key, work, live, zones, happenedAt } = stepping;
  const node = live.graph.nodes.get(state.node);
  if (!node) throw new Error('The node of a test is not in its flow.');
  const now = new Date(state.wakeAt ?? state.since);
  const shown = { node: node.id, at: now.toISOString(), happenedAt: happenedAt.toISOString(), messageId: null };
  const person = personOf(state);
  const run: PresentRun = { ...runOf(key.id, work.subscriberId, state), wakeAt: now, person, payload: work.payload };
  const chosen = Object.hasOwn(work.ports, node.id) ? work.ports[node.id] : undefined;
  if (state.wakeAt === null && chosen === undefined)
    return { step: { ...shown, what: 'waits', port: null, reason: null }, state: null, waits: false };
  const ended = await outcomeOf(ctx, stepping, { node, run, now, chosen });
  if ('fault' in ended) return ended;
  const { outcome, messageId } = ended;
  const move = moveOf(node, run, outcome, { live, zones, person, now });
  const step =
    move.what === 'stays' ? null : { ...shown, what: move.what, port: move.port, reason: move.reason, messageId };
  if (!move.to) return { step, state: null, waits: false };
  const next = {
    ...state,
    ...stateAt(move.to),
    ...(move.what === 'passed' ? { since: now.toISOString(), ...changedBy(node, state, outcome) } : {}),
    ...{ passes: move.run.passes, hasLeft: move.run.hasLeft },
  };
  return { step, state: next, waits: move.to.state === 'waiting' };
}

/** The test's own picture of the person: conditions of the flow about the person read the real one. */
function changedBy(node: FlowNode, state: FlowTestState, outcome: Outcome): Pick<FlowTestState, 'status' | 'fields'> {
  if (!('go' in outcome) || outcome.go !== 'next') return { status: state.status, fields: state.fields };
  const { status, fields } = personAfter(node, { person: personOf(state), reason: outcome.reason ?? null });
  return { status, fields };
}

interface AtNode {
  readonly node: FlowNode;
  readonly run: PresentRun;
  readonly now: Date;
  readonly chosen: string | undefined;
}

interface Ended {
  readonly outcome: Outcome;
  readonly messageId: string | null;
}

async function outcomeOf(
  ctx: TransactionContext,
  stepping: Stepping,
  { node, run, now, chosen }: AtNode,
): Promise<Ended | { readonly fault: FlowTestFault }> {
  const { live, zones, answers } = stepping;
  const work = { ctx, live, zones, answers, runs: [run], now };
  if (node.type === 'send_mail') return mailOf(stepping, { ...work, node }, chosen);
  const still = { messageId: null };
  if (chosen !== undefined) return { ...still, outcome: { go: chosen, reason: 'chosen' } };
  if (!isReading(node)) return { ...still, outcome: { go: 'next', reason: 'not_done' } };
  const [outcome] = await workThatReads({ ...work, node });
  if (!outcome) throw new Error(`The work of ${node.type} has no outcome for a test.`);
  return { ...still, outcome };
}

/** Also when its port was chosen: whoever tests wants to see it. Quiet hours, caps and earlier mails hold no test back. */
async function mailOf(
  { work: { email, listUid, subscriberId, payload, isMarked } }: Stepping,
  work: NodeWork<'send_mail'>,
  chosen: string | undefined,
): Promise<Ended | { readonly fault: FlowTestFault }> {
  const { ctx, live, node } = work;
  const { customerId } = live.key;
  const none = { messageId: null };
  const reasons = await leavingByRules(work);
  const [leave] = [...reasons.values()];
  if (leave !== undefined && chosen === undefined) return { ...none, outcome: { leave } };
  const template = await findTemplate(ctx.db, { customerId, uid: node.templateUid });
  if (!template) return { ...none, outcome: failed(work, 'template_deleted') };
  const read = payload === null ? null : mailData.safeParse(payload);
  if (read && !read.success) return { ...none, outcome: failed(work, 'payload_unusable') };
  if (await isSuppressed(ctx.db, { customerId, emailKey: emailKey(email) })) return { fault: 'suppressed' };
  try {
    await refuseTooManyTests(ctx, { customerId, mails: 1 });
  } catch (error) {
    if (error instanceof RateLimitedError) return { fault: 'too_many_tests' };
    throw error;
  }
  const [sent] = await enqueueTemplateTests(ctx.db, {
    ...{ template, listUid, isMarked, subject: node.subject ?? null, readers: [{ email, subscriberId }] },
    ...{ data: null, payload: read?.data ?? null },
  });
  if (!sent) throw new Error('A test has no message.');
  const outcome = chosen === undefined ? { go: 'next' } : { go: chosen, reason: 'chosen' };
  return { outcome, messageId: String(sent.id) };
}
