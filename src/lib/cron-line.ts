/** Lines of a timetable as cron writes them: minute, hour, day of the month, month, day of the week. Times are UTC. */

export interface CronTimes {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly dates: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** Both days are given: either is enough, as in cron. */
  readonly isEitherDay: boolean;
}

const FIELDS = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of the month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12 },
  // 7 is Sunday, too.
  { name: 'day of the week', min: 0, max: 7 },
] as const;
/** More than any timetable needs. */
const LENGTH_MAX = 200;
const PART = /^(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/;
const MINUTE_MS = 60_000;
/** The longest look back: beyond the rarest lines, of one day a year. */
const LOOK_BACK_MS = 400 * 86_400_000;

/** Throws an Error with a sentence. */
export function parseCronLine(line: string): CronTimes {
  const texts = line.trim().split(/\s+/);
  if (line.length > LENGTH_MAX || texts.length !== FIELDS.length)
    throw new Error('A line has five fields: minute, hour, day of the month, month, day of the week.');
  const [minutes, hours, dates, months, weekdays] = FIELDS.map((field, at) => valuesOf(texts[at] ?? '', field));
  if (!minutes || !hours || !dates || !months || !weekdays) throw new Error('A field is missing.');
  if (weekdays.has(7)) weekdays.add(0);
  const isEitherDay = !texts[2]?.startsWith('*') && !texts[4]?.startsWith('*');
  return { minutes, hours, dates, months, weekdays, isEitherDay };
}

function valuesOf(text: string, { name, min, max }: (typeof FIELDS)[number]): Set<number> {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const found = PART.exec(part);
    const [from, to, step] = [found?.[1], found?.[2], found?.[3]].map((it) =>
      it === undefined ? undefined : Number(it),
    );
    const first = from ?? min;
    const last = to ?? (from === undefined || step !== undefined ? max : first);
    if (!found || first < min || last > max || first > last || step === 0)
      throw new Error(`"${part}" is no ${name}: use * or numbers from ${min} to ${max}, such as 5, 1-5, */10 or 0,30.`);
    for (let value = first; value <= last; value += step ?? 1) values.add(value);
  }
  return values;
}

/** The latest time of the line after `after` and not after `upTo`; undefined: there is none. */
export function latestSlot(
  times: CronTimes,
  { after, upTo }: { readonly after: Date; readonly upTo: Date },
): Date | undefined {
  const first = Math.max(after.getTime(), upTo.getTime() - LOOK_BACK_MS);
  let at = Math.floor(upTo.getTime() / MINUTE_MS) * MINUTE_MS;
  while (at > first) {
    const time = new Date(at);
    if (!isOnDay(times, time)) at = Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate()) - MINUTE_MS;
    else if (times.hours.has(time.getUTCHours()) && times.minutes.has(time.getUTCMinutes())) return time;
    else at -= MINUTE_MS;
  }
  return undefined;
}

function isOnDay({ dates, months, weekdays, isEitherDay }: CronTimes, time: Date): boolean {
  if (!months.has(time.getUTCMonth() + 1)) return false;
  const [isDate, isWeekday] = [dates.has(time.getUTCDate()), weekdays.has(time.getUTCDay())];
  return isEitherDay ? isDate || isWeekday : isDate && isWeekday;
}
