/** When a saved payment method that was declined for a renewal is charged again. Pure. */

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;
/** Days after the invoice was written. Most declines are for lack of money, which comes within days; card networks charge for more tries. */
const RETRY_DAYS = [1, 3, 5] as const;
/** Sooner, the bank says the same again. */
const RETRY_GAP_HOURS_MIN = 12;
/** After the last try the customer has time to read the mail and to pay on the page. */
const HOURS_BEFORE_END = 12;

/** The next try after one that was declined now; null: there is none before the days of grace end. */
export function nextChargeTime(
  { createdAt, dueAt }: { readonly createdAt: Date; readonly dueAt: Date | null },
  now: Date,
): Date | null {
  if (dueAt === null) return null;
  const earliest = now.getTime() + RETRY_GAP_HOURS_MIN * HOUR_MS;
  const latest = dueAt.getTime() - HOURS_BEFORE_END * HOUR_MS;
  const wanted = RETRY_DAYS.map((days) => createdAt.getTime() + days * DAY_MS).find((time) => time >= earliest);
  if (wanted === undefined || latest < earliest) return null;
  return new Date(Math.min(wanted, latest));
}
