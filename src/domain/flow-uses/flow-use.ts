/**
 * Which published flows use a list, a segment, a field, a template or a sender: whoever deletes one of these asks here, and refuses (decision
 * D86). A plugin is deactivated all the same, and the flows that use it are named. The flows themselves are in `automations`, above; this module
 * only reads them.
 */
export interface FlowUse {
  readonly automation: string;
  /** Ids of nodes, goals and exits, and `trigger 1`, in the order of the flow. */
  readonly places: readonly string[];
}

/** Automations named in an error message. */
const FLOWS_NAMED_MAX = 5;
/** One more says that there are others. */
export const FLOWS_READ_MAX = FLOWS_NAMED_MAX + 1;
/** Of one automation. */
const PLACES_NAMED_MAX = 10;

/** A regular expression of PostgreSQL for texts that name a field, as merge tags and Liquid do: {TAG}, {SUBSCRIBER_TAG}, subscriber.tag. */
export function namesField(tag: string): string {
  return `(\\{\\s*(subscriber_)?|subscriber\\.)${tag}(?![A-Z0-9_])`;
}

/** Those that an error names, and whether there are others. */
export function firstNamed(names: readonly string[]): readonly string[] {
  return names.length > FLOWS_NAMED_MAX ? [...names.slice(0, FLOWS_NAMED_MAX), 'and others'] : names;
}

/** `automation “Welcome” (hello, trigger 1)` for each. */
export function flowsNamed(uses: readonly FlowUse[]): readonly string[] {
  const all = uses.map(({ automation, places }) => {
    const named = places.slice(0, PLACES_NAMED_MAX).join(', ');
    const more = places.length > PLACES_NAMED_MAX ? ` and ${places.length - PLACES_NAMED_MAX} more` : '';
    return `automation “${automation}”${named ? ` (${named}${more})` : ''}`;
  });
  return firstNamed(all);
}

/** A sentence for an error: what cannot be deleted, where it is used, and what to do. */
export function usedByFlows(what: string, uses: readonly FlowUse[]): string {
  const advice = 'Publish a version without it and let people finish the earlier one, or delete the automation';
  return `The ${what} cannot be deleted while a published flow uses it: ${flowsNamed(uses).join('; ')}. ${advice}.`;
}

/** The same of a sender. */
export function sentByFlows(what: string, uses: readonly FlowUse[]): string {
  const advice = 'Give the list another sender, or pause the automation';
  return `The ${what} cannot be deleted while an active automation sends mails from it: ${flowsNamed(uses).join('; ')}. ${advice}.`;
}
