/**
 * Opens and clicks as flows read them: each is one thing that happened to a person, beside the events of people. They have no row among
 * those: they are read from the tables of tracking (flow-activity-store.ts).
 */
import type { PersonEvent, PersonEventKind } from '../../../events/person-event.ts';

export interface OpenOrClick extends Omit<PersonEvent, 'kind'> {
  readonly kind: 'opened' | 'clicked';
  /** A program did it. */
  readonly isMachine: boolean;
  /** Of a click. */
  readonly url: string | null;
  /** Of a campaign's message. */
  readonly campaignUid: string | null;
  /** Of a flow's mail: which run and node sent it. */
  readonly mail: { readonly runId: bigint; readonly node: string } | null;
}

/** Whatever happens to people and flows ask for. */
export type FlowEvent = PersonEvent | OpenOrClick;
export type FlowEventKind = PersonEventKind | OpenOrClick['kind'];

export function isOpenOrClick(event: FlowEvent): event is OpenOrClick {
  return event.kind === 'opened' || event.kind === 'clicked';
}
