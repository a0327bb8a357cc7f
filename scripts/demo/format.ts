/** Figures as people read them. */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** `12,345` */
export function count(value: number): string {
  return whole.format(value);
}

/** `1 line`, `12,345 lines` */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** A share from 0 to 1: `12.3 %` */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** `0.4 s`, `2 min 5 s` */
export function duration(ms: number): string {
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}
