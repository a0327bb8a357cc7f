/** Until when frequency caps forbid messages to people of a list. Only a look: the place is taken when the message is handed over. */
import { sql, type Queryable } from '../../db/database.ts';
import { withId } from '../audience/subscriber-store.ts';
import { capNumbers, holdHours, type FrequencyCaps } from '../audience/frequency-cap.ts';

interface AskedPeople {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly ids: readonly bigint[];
  readonly caps: FrequencyCaps;
  /** The moment that is asked about. */
  readonly at: Date;
}

export interface CappedTime {
  /** When the caps allow the next message. */
  readonly until: Date;
  /** A message waits for at most so many hours. */
  readonly holdHours: number;
}

/** Those of the people who may get no message now. */
export async function cappedPeople(
  db: Queryable,
  { customerId, listId, ids, caps, at }: AskedPeople,
): Promise<ReadonlyMap<bigint, CappedTime>> {
  const rows = await db.query(
    { id: 'bigint', customer: 'timestamptz?', list: 'timestamptz?' },
    sql`SELECT s.id, hot.capped_until(s.customer_id, NULL, s.email_key, 0::smallint, 0, 0, ${capNumbers(caps.customer)}::int[], ${at}) AS customer,
               hot.capped_until(s.customer_id, s.list_id, s.email_key, 0::smallint, 0, 0, ${capNumbers(caps.list)}::int[], ${at}) AS list
          FROM unnest(${[...ids]}::bigint[]) AS k (id)
         CROSS JOIN LATERAL (SELECT s.* FROM subscriber s WHERE ${withId({ customerId, listId, id: sql`k.id` })}) s`,
    'delivery.capped_people',
  );
  return new Map(
    rows.flatMap(({ id, customer, list }): [bigint, CappedTime][] => {
      const reached = [
        ...(customer && caps.customer ? [{ until: customer, holdHours: holdHours(caps.customer) }] : []),
        ...(list && caps.list ? [{ until: list, holdHours: holdHours(caps.list) }] : []),
      ];
      if (reached.length === 0) return [];
      const until = new Date(Math.max(...reached.map((one) => one.until.getTime())));
      return [[id, { until, holdHours: Math.min(...reached.map((one) => one.holdHours)) }]];
    }),
  );
}
