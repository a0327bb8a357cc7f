/** Rates as in decision D23. */

/** `part` of `whole` as a fraction 0..1, rounded to four places; 0 of nothing is 0. */
export function rate(part: number, whole: number): number {
  if (whole <= 0) return 0;
  // More openers than deliveries are possible for a moment (a message with an unknown outcome was read): the rate is limited to
  // 1.
  return Math.min(Math.round((part / whole) * 10_000) / 10_000, 1);
}
