/** A process of the program that dies at a step: a statement, a commit, or a call of a vendor. What it does after that has no effect. */
import type { Queryable } from '../../src/db/database.ts';
import type { Context } from '../../src/domain/context.ts';
import { PayVendor } from './pay-gateway.ts';

const DIED = 'The process died here.';

export interface MortalProcess {
  readonly ctx: Context;
  isDead(): boolean;
  /** One more step: rejects when it is the last one, or when the process is dead. */
  step(): void;
}

/** Its steps are counted from 1; with 0 it does not die. */
export function mortalProcess(ctx: Context, diesAt: number): MortalProcess {
  let [steps, dead] = [0, false];
  const step = (): void => {
    steps += 1;
    if (steps === diesAt) dead = true;
    if (dead) throw new Error(DIED);
  };
  const mortal = <Of extends Queryable>(db: Of): Of => ({
    ...db,
    query: (columns, statement, name) => (step(), db.query(columns, statement, name)),
    execute: (statement, name) => (step(), db.execute(statement, name)),
  });
  const database: Context['database'] = {
    ...mortal(ctx.database),
    async transaction(work) {
      step();
      // Dead before the commit: nothing of it is written.
      const result = await ctx.database.transaction(async (tx) => {
        const done = await work(mortal(tx));
        step();
        return done;
      });
      // Dead after the commit: it is written, and nobody goes on.
      step();
      return result;
    },
  };
  return { ctx: { ...ctx, viewer: null, db: database, database }, isDead: () => dead, step };
}

/** A vendor whose calls are steps of the process: before it has acted, and after. */
export class WatchedVendor extends PayVendor {
  step: () => void = () => undefined;

  override note(call: string): void {
    this.step();
    super.note(call);
  }

  override create(...given: Parameters<PayVendor['create']>) {
    const made = super.create(...given);
    this.step();
    return made;
  }

  override charge(id: string) {
    const charged = super.charge(id);
    this.step();
    return charged;
  }
}
