/** What a flow may have and what not, so that random ones can be published. */
import type { AskedAct, EntryData, FlowData, NodeData, Question } from './flow-data.ts';

/** Without what a flow may not have: questions about mails that are not sent before, goodbyes to nobody who leaves. */
export function sensible(nodes: readonly NodeData[], edges: FlowData['edges'], entry: EntryData): readonly NodeData[] {
  const isBefore = (id: string, is: (node: NodeData) => boolean) =>
    nodes.some((node) => is(node) && follows(edges, node.id, id));
  const isSentBefore = (mail: string, id: string) =>
    isBefore(id, (node) => node.type === 'send_mail' && node.id === mail);
  const withoutMails = (question: Question, id: string): Question => {
    const inner = (all: readonly Question[]) => all.map((one) => withoutMails(one, id));
    if (question.all) return { all: inner(question.all) };
    if (question.any) return { any: inner(question.any) };
    if (question.none) return { none: inner(question.none) };
    const mail = (question.opened ?? question.clicked)?.mail;
    return mail === undefined || isSentBefore(mail, id) ? question : { payload: { path: 'total', isPresent: true } };
  };
  return nodes.map((node): NodeData => {
    if (node.type === 'condition') return { ...node, if: withoutMails(node.if, node.id) };
    if (node.type === 'send_mail' && node.isGoodbye === true) {
      const { isGoodbye: _isGoodbye, ...plain } = node;
      return isBefore(node.id, ({ type }) => type === 'unsubscribe' || type === 'move_to_list') ? node : plain;
    }
    if (node.type !== 'wait_for_event') return node;
    const { event } = node;
    if (event.type === 'event') return { ...node, event: entry.mode === 'per_key' ? event : withoutKey(event) };
    if (event.mail === undefined || isSentBefore(event.mail, node.id)) return node;
    const { mail: _mail, ...any } = event;
    return { ...node, event: any };
  });
}

/** Whether edges lead from the one node to the other. */
export function follows(edges: FlowData['edges'], from: string, to: string): boolean {
  const seen = new Set([from]);
  for (const one of seen) {
    const next = edges.filter((edge) => edge.from === one).map((edge) => edge.to);
    if (next.includes(to)) return true;
    for (const id of next) seen.add(id);
  }
  return false;
}

/** Only entries by keys have one. */
export function withoutKey({ sameKey: _sameKey, ...event }: Extract<AskedAct, { type: 'event' }>): AskedAct {
  return event;
}

/** The ports that lead somewhere in these flows. */
export function portsOf(node: NodeData): readonly string[] {
  switch (node.type) {
    case 'end':
      return [];
    case 'condition':
      return ['yes', 'no'];
    case 'split':
      return node.variants.map(({ name }) => `variant:${name}`);
    case 'wait_until':
      return node.field === undefined ? ['next', 'late'] : ['next', 'late', 'no_date'];
    case 'wait_for_event':
      return ['next', 'timeout'];
    case 'api_call':
      return node.for ? ['next', 'timeout'] : ['next'];
    case 'copy_to_list':
    case 'move_to_list':
    case 'start_flow':
    case 'webhook':
      return ['next', 'error'];
    default:
      return ['next'];
  }
}

/** People stay there until a time, or until something happens. */
export function isWait(type: NodeData['type']): boolean {
  return type.startsWith('wait') || type === 'api_call';
}

/** Only behind such a wait an edge may lead back (D83). */
export function isLongWait(node: NodeData): boolean {
  if (node.type === 'wait_until') return node.weekdays !== undefined;
  return node.type === 'wait' && (node.for.minutes ?? 60) >= 60;
}
