/**
 * The reasons for unsubscribing on the page: codes, as they are stored, and their texts in logs. Nothing else is stored. The page
 * has its own texts, in the reader's language.
 */
const unsubscribeReasons = {
  too_many: 'I get too many messages',
  not_relevant: 'They are not relevant to me',
  never_signed_up: 'I never signed up',
  other: 'Another reason',
} as const;

export type UnsubscribeReason = keyof typeof unsubscribeReasons;

/** In the order of the page. */
export const UNSUBSCRIBE_REASONS: readonly UnsubscribeReason[] = [
  'too_many',
  'not_relevant',
  'never_signed_up',
  'other',
];

const TEXTS: ReadonlyMap<string, string> = new Map(Object.entries(unsubscribeReasons));

export function isUnsubscribeReason(code: string): code is UnsubscribeReason {
  return TEXTS.has(code);
}

/** The text of a stored reason; the reason itself if only another version of the program knows it. */
export function unsubscribeReasonText(code: string): string {
  return TEXTS.get(code) ?? code;
}
