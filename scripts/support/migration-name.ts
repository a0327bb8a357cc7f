/** Names of migrations: they are applied in the order of their names, so a new one must sort after all others. */

/** `20261216123000_name`: the time, or one second after the latest migration when that has a later time. */
export function migrationName(name: string, { existing, now }: { existing: readonly string[]; now: Date }): string {
  const latest = existing.reduce((most, folder) => Math.max(most, Number(/^\d{14}(?=_)/.exec(folder)?.[0] ?? 0)), 0);
  const stamp = Number(now.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14));
  // A number, not a time: only the order matters, and 14 digits are exact.
  return `${Math.max(stamp, latest + 1)}_${name}`;
}
