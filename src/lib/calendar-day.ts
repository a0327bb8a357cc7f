/** Days of the calendar as texts. */

/** `YYYY-MM-DD`, a day that the calendar has. */
export function isDay(given: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(given) || given.startsWith('0000')) return false;
  const date = new Date(`${given}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(given);
}
