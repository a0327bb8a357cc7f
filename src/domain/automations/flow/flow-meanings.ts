/** Faults of what the parts of a flow mean together: mails that are asked about, goodbye mails, keys of entries. */
import type { AwaitedEvent } from './flow-parts.ts';
import { questionsOf, type FlowQuestion } from './flow-condition.ts';
import { flowFault, type FlowFault } from './flow-fault.ts';
import type { Flow, FlowGraph } from './flow.ts';
import type { FlowNode } from './flow-nodes.ts';

/** Nodes that ask about a mail of this run name one that was sent before; goodbye mails are for who has left. */
export function* mailFaults({ nodes, triggers, goals, exits }: Flow, graph: FlowGraph): Generator<FlowFault> {
  for (const node of nodes) {
    for (const mail of mailsAskedBy(node)) {
      const named = graph.nodes.get(mail);
      if (named?.type !== 'send_mail')
        yield flowFault('not_a_mail', `“${mail}” is no mail of this flow.`, node.id, 'mail');
      else if (!graph.reaches(mail, node.id))
        yield flowFault('mail_not_before', `The mail “${mail}” is never sent before this node.`, node.id, 'mail');
    }
  }
  for (const { id, event } of [...goals, ...exits]) {
    const mail = event && mailOf(event);
    if (mail !== undefined && graph.nodes.get(mail)?.type !== 'send_mail')
      yield flowFault('not_a_mail', `“${mail}” is no mail of this flow.`, id, 'event.mail');
  }
  const leavers = nodes.filter(({ type }) => type === 'unsubscribe' || type === 'move_to_list').map(({ id }) => id);
  const beginsGone = triggers.some(({ type }) => type === 'unsubscribed');
  for (const node of nodes) {
    if (node.type !== 'send_mail' || node.isGoodbye !== true || beginsGone) continue;
    if (leavers.some((leaver) => graph.reaches(leaver, node.id))) continue;
    const message = 'A goodbye mail must come after the node or the trigger by which the person leaves the list.';
    yield flowFault('goodbye_without_leaving', message, node.id, 'isGoodbye');
  }
}

function mailsAskedBy(node: FlowNode): readonly string[] {
  if (node.type === 'condition') return questionsOf(node.if).flatMap((question) => mailOfQuestion(question) ?? []);
  if (node.type !== 'wait_for_event') return [];
  const mail = mailOf(node.event);
  return mail === undefined ? [] : [mail];
}

function mailOfQuestion(question: FlowQuestion): string | undefined {
  if ('opened' in question) return question.opened.mail;
  return 'clicked' in question ? question.clicked.mail : undefined;
}

function mailOf(event: AwaitedEvent): string | undefined {
  return event.type === 'opened' || event.type === 'clicked' ? event.mail : undefined;
}

/** A key comes from the payload of an event (D70, D77). */
export function* keyFaults({ triggers, entry, nodes, goals, exits }: Flow): Generator<FlowFault> {
  const hasKey = entry.mode === 'per_key';
  if (hasKey && triggers.some(({ type }) => type !== 'event' && type !== 'execute' && type !== 'plugin_event')) {
    const message = 'Entries by a key need triggers with a payload: event, plugin_event or execute.';
    yield flowFault('key_without_payload', message, null, 'entry');
  }
  if (hasKey) return;
  const askers = [...goals, ...exits, ...nodes.filter((one) => one.type === 'wait_for_event')];
  for (const { id, event } of askers) {
    if (!event || !('sameKey' in event) || event.sameKey !== true) continue;
    yield flowFault(
      'key_without_entry',
      'The same key needs entries by a key (`entry.mode` is `per_key`).',
      id,
      'event.sameKey',
    );
  }
}
